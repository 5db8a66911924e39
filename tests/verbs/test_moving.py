"""Places that move from one allocation to another: free ones only, in one step, written down on both sides."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.places import Verbs, code, lapse, school
from tests.support.races import beside, wait_until_blocked

from counterfoil import audit, catalogue, errors, verbs
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code, Shop
from counterfoil.moving import move_places
from counterfoil.periods import Calendar, next_key

#: Long enough for a race to be arranged.
PATIENT = Shop(clocks=Clocks(lock_timeout=timedelta(seconds=30)), livemode=False)


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Verbs:
    """The verbs, and a school with two codes of three places each."""
    northfold = school(host)
    code(host, "NORTH", cap=3, of=northfold)
    code(host, "SOUTH", cap=3, of=northfold)
    return Verbs(host, shop)


def named(host: Psycopg, typed: str) -> Code:
    return host.run(catalogue.code(typed))


def move(
    host: Psycopg,
    shop: Shop,
    places: int,
    *,
    of: str = "NORTH",
    to: str = "SOUTH",
    to_period: str | None = None,
    note: str | None = None,
) -> None:
    source, target = named(host, of), named(host, to)
    host.run(
        move_places(
            code=source,
            period=source.period,
            to=target,
            to_period=to_period or target.period,
            places=places,
            note=note,
            shop=shop,
        )
    )


def caps(host: Psycopg) -> list[tuple[Any, ...]]:
    """Every allocation there is."""
    rows: list[tuple[Any, ...]] = host._source.execute(
        "SELECT c.code, a.period, a.cap, a.used, a.excess, a.note FROM counterfoil.allocation AS a "
        "JOIN counterfoil.code AS c ON c.id = a.code_id ORDER BY c.code, a.period"
    ).fetchall()
    return rows


def test_so_many_fewer_here_and_so_many_more_there(do: Verbs, shop: Shop) -> None:
    """The target's allocation is made; each side has the note, and says with which other the places were moved."""
    move(do.host, shop, 2, note="agreed with Ms Okafor")
    period = named(do.host, "NORTH").period
    assert caps(do.host) == [
        ("NORTH", period, 1, 0, 0, "agreed with Ms Okafor"),
        ("SOUTH", period, 5, 0, 0, "agreed with Ms Okafor"),
    ]
    here, there = (
        do.host.run(audit.entries(action="cap.set", subject=f"{one} {period}"))[0] for one in ("NORTH", "SOUTH")
    )
    assert here.before == {"cap": 3, "note": None}
    assert here.after == {"cap": 1, "note": "agreed with Ms Okafor", "moved": -2, "with": f"SOUTH {period}"}
    assert there.after == {"cap": 5, "note": "agreed with Ms Okafor", "moved": 2, "with": f"NORTH {period}"}


def test_to_the_next_year(do: Verbs, shop: Shop) -> None:
    following = str(next_key(Calendar.ACADEMIC_YEAR, named(do.host, "NORTH").period))
    move(do.host, shop, 1, to="NORTH", to_period=following)
    assert (do.usage().cap, do.host.run(verbs.usage(code="NORTH", period=following)).cap) == (2, 4)


def test_the_days_of_what_was_made_are_kept(do: Verbs, shop: Shop) -> None:
    move(do.host, shop, 1)
    usage = do.usage("SOUTH")
    assert usage.starts_on is not None
    assert (usage.starts_on.month, usage.starts_on.day) == (9, 1)
    rows = do.host._source.execute("SELECT DISTINCT starts_on, ends_on FROM counterfoil.allocation").fetchall()
    assert rows == [(usage.starts_on, usage.ends_on)]


def test_only_what_is_free(do: Verbs, shop: Shop) -> None:
    """What is held or spent stays where it is; what lapsed is free. A refusal leaves everything as it was."""
    do.reserve("a")
    gone = do.reserve("b")
    before = caps(do.host)
    with pytest.raises(errors.NotSoManyFree) as refused:
        move(do.host, shop, 2)
    assert (refused.value.code, refused.value.fields) == ("cap-below-used", {"used": 2, "free": 1})
    assert caps(do.host) == before
    lapse(do.host._source, gone)
    move(do.host, shop, 2)
    assert (do.usage().cap, do.usage().held, do.usage().remaining, do.usage("SOUTH").cap) == (1, 1, 0, 5)
    with pytest.raises(errors.AllocationHeld):
        do.reserve("c")


@pytest.mark.parametrize("uncapped", ["NORTH", "SOUTH"])
def test_no_cap_on_either_side(host: Psycopg, shop: Shop, uncapped: str) -> None:
    """None is no number: nothing is taken of it and nothing added to it, and none becomes 0."""
    northfold = school(host)
    for one in ("NORTH", "SOUTH"):
        code(host, one, cap=None if one == uncapped else 3, of=northfold)
    with pytest.raises(errors.NoCap, match=uncapped):
        move(host, shop, 1)
    assert caps(host) == []
    assert [Verbs(host, shop).usage(one).cap for one in ("NORTH", "SOUTH")].count(None) == 1


def test_to_itself_and_to_too_many(do: Verbs, shop: Shop) -> None:
    pooled = code(do.host, "EAST", of=do.host.run(catalogue.institution("northfold")), counts_with="NORTH")
    assert pooled.counts_with == "NORTH"
    for to in ("NORTH", "EAST"):
        with pytest.raises(errors.CannotMove, match="the same places"):
            move(do.host, shop, 1, to=to)
    full = named(do.host, "SOUTH")
    do.host.run(catalogue.set_cap(code=full, period=full.period, cap=10**9, note=None, confirmed=False, shop=shop))
    before = caps(do.host)
    with pytest.raises(errors.CannotMove, match="more than 1,000,000,000"):
        move(do.host, shop, 1)
    assert caps(do.host) == before


def test_the_institutions_hear_that_it_is_full(do: Verbs, shop: Shop) -> None:
    """As they do when the cap was lowered to what is used."""
    do.reserve("a")
    move(do.host, shop, 2)
    told = do.host._source.execute("SELECT type, data ->> 'cap' FROM counterfoil.event ORDER BY seq DESC").fetchall()
    assert told[0] == ("allocation.full", "1")


def test_two_who_move_against_each_other(do: Verbs, database: str) -> None:
    """The second waits for the first instead of holding what the first needs."""
    move(do.host, PATIENT, 1)
    move(do.host, PATIENT, 1, of="SOUTH", to="NORTH")
    north, south = named(do.host, "NORTH"), named(do.host, "SOUTH")
    with (
        psycopg.connect(database) as first,
        psycopg.connect(database, autocommit=True) as second,
        psycopg.connect(database, autocommit=True) as watcher,
    ):
        # The first has what comes first in the order of keys, and wants the other one next.
        first.execute("SELECT counterfoil.allocation_lock(%s, %s, '30 s')", (north.id, north.period))
        with beside(lambda: move(Psycopg(second), PATIENT, 1, of="SOUTH", to="NORTH")) as answer:
            wait_until_blocked(watcher, second.info.backend_pid, first.info.backend_pid)
            first.execute("SELECT counterfoil.allocation_lock(%s, %s, '1 s')", (south.id, south.period))
            first.commit()
            answer.result(30)
    assert (do.usage("NORTH").cap, do.usage("SOUTH").cap) == (4, 2)


def test_a_place_taken_meanwhile_does_not_move(do: Verbs, database: str) -> None:
    """Whoever waits for a buyer sees the place that the buyer took."""
    move(do.host, PATIENT, 2)
    with (
        psycopg.connect(database) as first,
        psycopg.connect(database, autocommit=True) as second,
        psycopg.connect(database, autocommit=True) as watcher,
    ):
        outcome = first.execute(
            "SELECT outcome FROM counterfoil.reserve(gen_random_uuid(), 'n0rth', NULL, NULL, 'a', 'a', '40 min', "
            "'30 s', NULL)"
        ).fetchone()
        assert outcome == ("held",)
        with beside(lambda: move(Psycopg(second), PATIENT, 1)) as answer:
            wait_until_blocked(watcher, second.info.backend_pid, first.info.backend_pid)
            first.commit()
            with pytest.raises(errors.NotSoManyFree):
                answer.result(30)
    assert (do.usage("NORTH").cap, do.usage("NORTH").remaining) == (1, 0)
