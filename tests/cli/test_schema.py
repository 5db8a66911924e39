"""migrate and doctor: the schema forward, under a lock; and what is wrong, with the mend."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from tests.support.commands import SETTINGS, Said
from tests.support.serving import Service

from counterfoil import movable_clock, schema
from counterfoil.cli.serve import check_database
from counterfoil.cli.trouble import NotFine
from counterfoil.service.settings import load
from counterfoil.simulator import Running

Run = Callable[..., Said]


SHAPES = (
    """SELECT table_name, column_name, data_type, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = 'counterfoil' ORDER BY 1, 2""",
    """SELECT conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'counterfoil'::regnamespace ORDER BY 1, 2""",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'counterfoil' ORDER BY 1",
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'counterfoil'::regnamespace ORDER BY 1",
    "SELECT number, name FROM counterfoil.migration ORDER BY 1",
)


def shape(url: str) -> list[Any]:
    """All that a schema is: columns, constraints, indexes and functions."""
    with psycopg.connect(url) as connection:
        return [connection.execute(query.encode()).fetchall() for query in SHAPES]


class TestMigrate:
    def test_from_nothing_and_again(self, run: Run, scratch_database: str) -> None:
        said = run("migrate", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert (said.code, said.out.startswith("the schema went from 0 to ")) == (0, True)
        before = shape(scratch_database)
        again = run("migrate", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert (again.code, again.out.startswith("the schema is up to date")) == (0, True)
        assert shape(scratch_database) == before

    def test_two_at_once_do_it_once(self, scratch_database: str) -> None:
        def migrate(_: int) -> int:
            with psycopg.connect(scratch_database, autocommit=True) as connection:
                before, _after = schema.migrate(connection)
                return before.number

        with ThreadPoolExecutor(4) as pool:
            began = sorted(pool.map(migrate, range(4)))
        assert began == [0] + [schema.migrations()[-1].number] * 3

    def test_the_script_makes_the_same(self, run: Run, scratch_database: str, database: str) -> None:
        said = run("migrate", "--sql", COUNTERFOIL_DATABASE_URL="")
        assert said.code == 0
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            connection.execute(said.out.encode())
            assert schema.version(connection).behind is None
            movable_clock.install(connection)
        assert shape(scratch_database) == shape(database)

    def test_one_that_fails_leaves_nothing_behind(self, scratch_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = (*schema.migrations(), schema.Migration(9, "0009_broken", "CREATE TABLE counterfoil.x (a nonsense);"))
        with monkeypatch.context() as patch:
            patch.setattr(schema, "migrations", lambda: broken)
            with psycopg.connect(scratch_database, autocommit=True) as connection, pytest.raises(psycopg.Error):
                schema.migrate(connection)
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            assert schema.version(connection).number == 0
            assert connection.execute("SELECT to_regnamespace('counterfoil')").fetchone() == (None,)

    def test_a_later_program_was_here(self, run: Run, scratch_database: str) -> None:
        run("migrate", COUNTERFOIL_DATABASE_URL=scratch_database)
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            connection.execute("INSERT INTO counterfoil.migration (number, name) VALUES (99, 'later')")
        said = run("migrate", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert said.code == 1
        assert "99" in said.err


class TestServeChecks:
    @pytest.fixture
    def settings(self, scratch_database: str) -> Callable[..., Any]:
        return lambda **more: load(**SETTINGS | {"COUNTERFOIL_DATABASE_URL": scratch_database} | more)

    def test_never_migrates(self, settings: Callable[..., Any], scratch_database: str) -> None:
        with pytest.raises(NotFine, match="counterfoil migrate"):
            check_database(settings())
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            assert schema.version(connection).number == 0

    def test_runs_on_its_own_schema_and_the_next(self, settings: Callable[..., Any], scratch_database: str) -> None:
        """So that a database can be migrated while the program before still runs."""
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            schema.migrate(connection)
            check_database(settings())
            newest = schema.migrations()[-1].number
            connection.execute("INSERT INTO counterfoil.migration (number, name) VALUES (%s, 'next')", (newest + 1,))
            connection.execute("UPDATE counterfoil.migration SET name = 'of the next' WHERE number = 0")
            check_database(settings())
            connection.execute("INSERT INTO counterfoil.migration (number, name) VALUES (%s, 'x')", (newest + 2,))
            with pytest.raises(NotFine, match="use a newer one"):
                check_database(settings())

    def test_one_database_one_mode(self, settings: Callable[..., Any], scratch_database: str) -> None:
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            schema.migrate(connection)
        check_database(settings())
        with pytest.raises(NotFine, match=r"test mode.*live mode"):
            check_database(settings(STRIPE_SECRET_KEY="sk_live_x"))
        check_database(settings())

    def test_readyz_names_what_is_behind(self, service: Service, connection: psycopg.Connection[Any]) -> None:
        assert service.get("/readyz") == {"status": "ready", "behind": None}
        with connection.transaction(force_rollback=False):
            kept = connection.execute("SELECT name FROM counterfoil.migration WHERE number = 0").fetchone()
        assert kept
        connection.execute("UPDATE counterfoil.migration SET name = 'older' WHERE number = 0")
        try:
            said = service.get("/readyz", status=503)
            assert "counterfoil migrate" in said["behind"]
        finally:
            connection.execute("UPDATE counterfoil.migration SET name = %s WHERE number = 0", kept)
        service.get("/readyz")


class TestDoctor:
    @pytest.fixture
    def doctor(self, run: Run, database: str, simulator: Running) -> Callable[..., dict[str, Any]]:
        def doctor(code: int, **more: str) -> dict[str, Any]:
            said = run("doctor", "--json", **SETTINGS | {"STRIPE_API_BASE": simulator.base_url} | more)
            assert said.code == code, said
            return {finding["about"]: finding for finding in said.data}

        return doctor

    def test_all_is_well(self, doctor: Callable[..., Any], run: Run, simulator: Running) -> None:
        found = doctor(0)
        assert "30m 50.5s <= 31m" in [finding["found"] for finding in found.values()]
        for about in (
            "call budget", "rounding of percentages", "PostgreSQL", "isolation", "schema", "webhook secrets",
            "clock of the database against this machine's", "recount of every allocation", "API version",
            "Stripe mode of this database",
        ):  # fmt: skip
            assert found[about]["fine"], about
        said = run("doctor", **SETTINGS | {"STRIPE_API_BASE": simulator.base_url})
        assert (said.code, "no" in said.out.split()) == (0, False)

    def test_a_counter_that_is_off(
        self, doctor: Callable[..., Any], service: Service, connection: psycopg.Connection[Any]
    ) -> None:
        """It names the allocation."""
        service.code()
        service.open("a@school.test")
        connection.execute("UPDATE counterfoil.allocation SET used = used + 1")
        finding = doctor(1)["recount of every allocation"]
        assert not finding["fine"]
        assert "NORTH-26" in finding["found"]
        assert finding["mend"]

    def test_the_other_mode(self, doctor: Callable[..., Any], connection: psycopg.Connection[Any]) -> None:
        connection.execute("INSERT INTO counterfoil.seller (livemode) VALUES (true)")
        assert not doctor(1)["Stripe mode of this database"]["fine"]

    def test_stripe_is_down(self, doctor: Callable[..., Any]) -> None:
        finding = doctor(1, STRIPE_API_BASE="http://127.0.0.1:9", COUNTERFOIL_STRIPE_TIMEOUT="1s")["Stripe"]
        assert not finding["fine"]
        assert "STRIPE_API_BASE" in finding["mend"]

    def test_the_database_is_down(self, doctor: Callable[..., Any]) -> None:
        """What can be looked at all the same is looked at."""
        found = doctor(1, COUNTERFOIL_DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
        assert "COUNTERFOIL_DATABASE_URL" in found["PostgreSQL"]["mend"]
        assert found["Stripe"]["fine"]

    def test_no_schema(self, doctor: Callable[..., Any], scratch_database: str) -> None:
        assert "migrate" in doctor(1, COUNTERFOIL_DATABASE_URL=scratch_database)["schema"]["mend"]

    def test_another_isolation(self, doctor: Callable[..., Any], database: str) -> None:
        url = f"{database}{'&' if '?' in database else '?'}options=-c%20default_transaction_isolation%3Dserializable"
        assert not doctor(1, COUNTERFOIL_DATABASE_URL=url)["isolation"]["fine"]
