"""Many wrong codes at once are as many as one by one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.support.places import code, school
from tests.support.races import beside, wait_until_blocked

from counterfoil import catalogue, guessing
from counterfoil.guessing import Limits, Tried
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.statement import Statement

ONE_MORE = Limits(per_address=1)


def a_try(typed: str, limits: Limits = ONE_MORE, origin: str | None = "one") -> Statement[Tried]:
    return guessing.try_code(
        code=typed,
        product="hub",
        digest=typed,
        origin=origin,
        limits=limits,
        mail=None,
        lock_timeout=timedelta(seconds=20),
    )


def test_the_second_of_two_at_once_waits_for_the_first_and_is_counted_after_it(
    host: Psycopg, database: str, connection: psycopg.Connection[Any], clock: Clock
) -> None:
    """One wrong code is left to the address, and two come at once: the second began before the first was counted."""
    statement = a_try("FIRST")
    with psycopg.connect(database) as first, psycopg.connect(database, autocommit=True) as other:
        first.execute(statement.sql.for_psycopg(), statement.parameters)
        with beside(lambda: Psycopg(other).run(a_try("SECOND"))) as second:
            wait_until_blocked(connection, other.info.backend_pid, first.info.backend_pid)
            first.commit()
            assert second.result(20).reason == "guessing"
    assert connection.execute("SELECT code FROM counterfoil.guess").fetchall() == [("FIRST",)]


def test_of_a_burst_that_two_see_one_tells_the_seller(
    host: Psycopg, database: str, connection: psycopg.Connection[Any], clock: Clock
) -> None:
    limits = Limits(per_address=9, alert=1)
    statement = a_try("FIRST", limits)
    with psycopg.connect(database) as first, psycopg.connect(database, autocommit=True) as other:
        first.execute(statement.sql.for_psycopg(), statement.parameters)
        with beside(lambda: Psycopg(other).run(a_try("SECOND", limits, "two"))) as second:
            wait_until_blocked(connection, other.info.backend_pid, first.info.backend_pid)
            first.commit()
            assert second.result(20).reason == "unknown"
    assert connection.execute("SELECT kind, detail ->> 'wrong' FROM counterfoil.attention").fetchall() == [
        ("guessing", "1")
    ]


@pytest.mark.parametrize("paused", [False, True])
def test_what_is_recognised(host: Psycopg, clock: Clock, paused: bool) -> None:
    """A right code does not count; a paused one counts like an unknown one, and its name is for the log alone."""
    made = code(host, "NORTH", of=school(host))
    if paused:
        terms = catalogue.terms_of(made)
        host.run(catalogue.change_code(code=made, terms=replace(terms, paused=True)))
    tried = host.run(a_try("north"))
    assert (tried.code is None, tried.known_as, tried.reason) == (paused, "NORTH", "paused" if paused else None)
    assert (host.run(a_try("OTHER")).reason == "guessing") is paused


def test_who_has_no_address_is_not_limited(host: Psycopg, clock: Clock) -> None:
    assert [host.run(a_try(f"W{number}", origin=None)).reason for number in range(3)] == ["unknown"] * 3
