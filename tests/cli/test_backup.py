"""backup and restore: everything in a file, and back, whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.support.commands import Said

from counterfoil import schema

Run = Callable[..., Said]


def rows(url: str) -> dict[str, list[Any]]:
    """Every row of every table."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'counterfoil'::regnamespace AND c.relkind = 'r'"
        ).fetchall()
        return {
            name: connection.execute(f"SELECT to_jsonb(t) FROM counterfoil.{name} AS t ORDER BY 1".encode()).fetchall()
            for (name,) in tables
        }


@pytest.fixture
def shop(run: Run, scratch_database: str) -> str:
    """A database with an institution, a code and what a change of its cap leaves behind."""
    for words in (
        ["migrate"],
        ["institution", "add", "Northfold College", "--zone", "Europe/London"],
        ["code", "add", "NORTHFOLD-26", "--institution", "northfold-college", "--cap", "3", "--percent", "50"],
        ["cap", "set", "NORTHFOLD-26", "2026-27", "5", "--note", "agreed"],
    ):
        assert run(*words, COUNTERFOIL_DATABASE_URL=scratch_database).code == 0
    return scratch_database


class TestBackup:
    def test_back_as_it_was_and_what_came_after_is_kept_aside(self, run: Run, shop: str) -> None:
        before = rows(shop)
        said = run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, said.out.startswith("kept in kept.dump: ")) == (0, True)
        run("code", "pause", "NORTHFOLD-26", COUNTERFOIL_DATABASE_URL=shop)
        assert rows(shop) != before

        refused = run("restore", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        assert (refused.code, "--replace" in refused.err) == (1, True)
        said = run("restore", "kept.dump", "--replace", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, "counterfoil reconcile --apply" in said.out) == (0, True)
        assert rows(shop) == before

        aside = said.out.split('DROP SCHEMA "')[1].split('"')[0]
        with psycopg.connect(shop, autocommit=True) as connection:
            paused = connection.execute(f"SELECT paused_at IS NOT NULL FROM {aside}.code".encode()).fetchone()
            assert paused == (True,)
            assert schema.version(connection).behind is None
            # What only grows still does.
            with pytest.raises(psycopg.Error):
                connection.execute("DELETE FROM counterfoil.audit")

    def test_into_an_empty_database_and_work_goes_on(self, run: Run, shop: str, server: Any) -> None:
        run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("DROP SCHEMA counterfoil CASCADE")
        assert run("restore", "kept.dump", COUNTERFOIL_DATABASE_URL=shop).code == 0
        usage = run("usage", "northfold 26", "--period", "2026-27", "--json", COUNTERFOIL_DATABASE_URL=shop)
        assert (usage.data["cap"], usage.data["note"]) == (5, "agreed")
        # New rows get new numbers.
        added = run("institution", "add", "Southmoor", "--zone", "Europe/London", COUNTERFOIL_DATABASE_URL=shop)
        assert added.code == 0

    def test_only_its_owner_may_read_it(self, run: Run, shop: str) -> None:
        run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        assert Path("kept.dump").stat().st_mode & 0o777 == 0o600

    def test_a_file_that_is_there_stays(self, run: Run, shop: str) -> None:
        Path("kept.dump").write_text("last year's")
        said = run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, Path("kept.dump").read_text()) == (2, "last year's")
        assert run("backup", "kept.dump", "--force", COUNTERFOIL_DATABASE_URL=shop).code == 0
        assert Path("kept.dump").read_bytes().startswith(b"PGDMP")

    def test_one_that_fails_leaves_no_file(self, run: Run, shop: str, scratch_database: str) -> None:
        Path("kept.dump").write_text("last year's")
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("CREATE ROLE nobody_much LOGIN PASSWORD 'nothing'")
            try:
                parts = urlsplit(shop)
                poor = urlunsplit(parts._replace(netloc="nobody_much:nothing@" + parts.netloc.rpartition("@")[2]))
                connection.execute("GRANT USAGE ON SCHEMA counterfoil TO nobody_much")
                connection.execute("GRANT SELECT ON counterfoil.migration TO nobody_much")
                said = run("backup", "kept.dump", "--force", COUNTERFOIL_DATABASE_URL=poor)
            finally:
                connection.execute("DROP OWNED BY nobody_much")
                connection.execute("DROP ROLE nobody_much")
        assert (said.code, "permission denied" in said.err, len(said.err.splitlines())) == (1, True, 1)
        assert [path.name for path in Path().iterdir()] == ["kept.dump"]
        assert Path("kept.dump").read_text() == "last year's"

    def test_nothing_to_keep(self, run: Run, scratch_database: str) -> None:
        said = run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert (said.code, "there is nothing to keep" in said.err) == (1, True)

    def test_a_folder_that_is_not(self, run: Run, shop: str) -> None:
        said = run("backup", "nowhere/kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, "cannot be written" in said.err) == (1, True)


class TestRestore:
    @pytest.mark.parametrize("half", [0, 100, 5000])
    def test_a_broken_file_changes_nothing(self, run: Run, shop: str, half: int) -> None:
        run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        before = rows(shop)
        kept = Path("kept.dump").read_bytes()
        Path("broken.dump").write_bytes(kept[: len(kept) - half] if half == 5000 else kept[:half])
        said = run("restore", "broken.dump", "--replace", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, "pg_restore" in said.err, len(said.err.splitlines())) == (1, True, 1)
        assert rows(shop) == before

    def test_another_schemas_backup(self, run: Run, shop: str) -> None:
        run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        said = run("restore", "kept.dump", COUNTERFOIL_DATABASE_URL=shop, COUNTERFOIL_DATABASE_SCHEMA="another")
        assert (said.code, "it holds counterfoil" in said.err) == (1, True)

    def test_an_older_ones_backup_says_to_migrate(self, run: Run, shop: str) -> None:
        with psycopg.connect(shop, autocommit=True) as connection:
            connection.execute("UPDATE counterfoil.migration SET name = 'older' WHERE number = 0")
        run("backup", "kept.dump", COUNTERFOIL_DATABASE_URL=shop)
        said = run("restore", "kept.dump", "--replace", COUNTERFOIL_DATABASE_URL=shop)
        assert (said.code, "run `counterfoil migrate`" in said.out) == (0, True)
