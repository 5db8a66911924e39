"""The command line in this very process, which is quick: the same `main`, the same environment."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.commands import Said, empty_database, environment

from counterfoil import embedded
from counterfoil.cli import main


@pytest.fixture
def run(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Said]:
    """Run a command on the suite's database, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **settings: str) -> Said:
        with monkeypatch.context() as patch:
            for name in list(os.environ):
                if name not in environment():
                    patch.delenv(name)
            for name, value in {"COUNTERFOIL_DATABASE_URL": database, "COLUMNS": "200", **settings}.items():
                patch.setenv(name, value)
            capsys.readouterr()
            with pytest.raises(SystemExit) as done:
                main(list(arguments))
        out, err = capsys.readouterr()
        return Said(int(done.value.code or 0), out, err)

    return run


@pytest.fixture
def scratch_database(server: embedded.Server) -> Iterator[str]:
    """An empty database: nothing is migrated."""
    with empty_database(server.url) as url:
        yield url
