"""Hold one place, or say why not."""

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.support.places import HOLD, Verbs, code, lapse, school

from counterfoil import catalogue, errors, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import RedemptionStatus, ReleaseReason, Shop


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Verbs:
    return Verbs(host, shop)


def test_a_hold_expires_by_the_clock_of_the_database(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    code(do.host)
    claim = do.reserve("a")
    assert claim.expires_at - claim.reserved_at == HOLD
    assert claim.status is RedemptionStatus.RESERVED
    assert not claim.lapsed
    lapse(connection, claim)
    assert do.read(claim).lapsed


def test_the_last_place_is_held_and_then_spent(do: Verbs) -> None:
    """Held by others while it is held; spent once it is paid for."""
    code(do.host)
    claim = do.reserve("a")
    with pytest.raises(errors.AllocationHeld) as held:
        do.reserve("b")
    assert held.value.fields == {
        "period": claim.period, "cap": 1, "held": 1, "next_release_at": claim.expires_at
    }  # fmt: skip
    do.attach(claim, "cs_1")
    do.settle(claim, "cs_1", "paid")
    with pytest.raises(errors.AllocationSpent) as spent:
        do.reserve("b")
    assert spent.value.fields == {"period": claim.period, "cap": 1}


def test_no_cap_admits_everybody_and_a_cap_of_0_nobody(do: Verbs) -> None:
    """The two are never confused."""
    northfold = school(do.host)
    code(do.host, "OPEN", cap=None, of=northfold)
    code(do.host, "SHUT", cap=0, of=northfold)
    assert all(do.reserve(f"b{one}", "OPEN") for one in range(5))
    assert do.usage("OPEN").remaining is None
    assert do.usage("OPEN").cap is None
    with pytest.raises(errors.AllocationSpent):
        do.reserve("a", "SHUT")
    assert (do.usage("SHUT").remaining, do.usage("SHUT").cap) == (0, 0)


def test_the_same_buyer_gets_the_same_hold(do: Verbs) -> None:
    """Also in another spelling, also with another id; also lapsed, while nobody else needed it."""
    code(do.host, cap=2)
    claim = do.reserve("A@b.test")
    assert do.reserve("a@B.test").id == claim.id
    assert do.usage().held == 1


def test_sending_the_same_request_twice_is_reserving_once(do: Verbs) -> None:
    code(do.host)
    id = uuid4()
    assert do.reserve("a", id=id).id == do.reserve("a", id=id).id == id


def test_a_buyer_who_used_it_is_told_so(do: Verbs) -> None:
    """Completed and pending count; a limit of two lets a second in; none lets any number in."""
    northfold = school(do.host)
    for text, limit in (("ONE", 1), ("TWO", 2), ("ANY", None)):
        code(do.host, text, cap=9, of=northfold, per_buyer_limit=limit)
    for text, sessions in (("ONE", 1), ("TWO", 2), ("ANY", 3)):
        for number in range(sessions):
            claim = do.reserve("a", text)
            do.attach(claim, f"cs_{text}_{number}")
            do.settle(claim, f"cs_{text}_{number}", "paid" if number else "pending")
    assert do.reserve("a", "ANY")
    for text, limit in (("ONE", 1), ("TWO", 2)):
        with pytest.raises(errors.BuyerLimitReached) as refused:
            do.reserve("a", text)
        assert refused.value.fields["limit"] == limit


def test_a_lapsed_hold_is_free_for_the_next_buyer(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    """By the clock alone; its row says why it ended only when its place is given away."""
    code(do.host)
    claim = do.reserve("a")
    lapse(connection, claim)
    assert (do.usage().held, do.usage().remaining) == (0, 1)
    assert do.read(claim).status is RedemptionStatus.RESERVED
    assert do.reserve("b").buyer == "b"
    assert do.read(claim).release_reason is ReleaseReason.LAPSED
    assert do.recount() == []


def test_a_refusal_leaves_everything_as_it_was(do: Verbs, connection: psycopg.Connection[Any], shop: Shop) -> None:
    """One lapsed hold is not enough when the cap was lowered by two: it is not taken back for nothing."""
    known = code(do.host, cap=3)
    claims = [do.reserve(buyer) for buyer in "abc"]
    lapse(connection, claims[0])
    do.host.run(catalogue.set_cap(code=known, period=claims[0].period, cap=1, note=None, confirmed=True, shop=shop))

    def rows() -> list[Any]:
        return [
            connection.execute(f"SELECT xmin, t.* FROM counterfoil.{table} AS t ORDER BY 2".encode()).fetchall()
            for table in ("allocation", "redemption")
        ]

    before = rows()
    with pytest.raises(errors.AllocationHeld):
        do.reserve("d")
    assert rows() == before


def test_a_live_hold_is_never_taken_back(do: Verbs) -> None:
    code(do.host, cap=2)
    first = do.reserve("a")
    do.reserve("b")
    with pytest.raises(errors.AllocationHeld):
        do.reserve("c")
    assert do.read(first).status is RedemptionStatus.RESERVED


def test_a_lapsed_hold_with_a_session_is_asked_about_first(
    do: Verbs, connection: psycopg.Connection[Any], shop: Shop
) -> None:
    """Its payment may have landed without our having heard: it is not given away from here."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    lapse(connection, claim)
    with pytest.raises(errors.Busy):
        do.reserve("b")
    assert do.read(claim).status is RedemptionStatus.RESERVED


def test_also_one_whose_session_was_detached(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    """Renewed, and no new session made: the former one may have been paid."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    assert do.renew(claim) == "renewed"
    lapse(connection, claim)
    with pytest.raises(errors.Busy):
        do.reserve("b")


def test_unknown_and_paused_codes(do: Verbs) -> None:
    with pytest.raises(errors.CodeUnknown):
        do.reserve("a", "NOWHERE")
    made = code(do.host)
    do.host.run(catalogue.change_code(code=made, terms=catalogue.CodeTerms(1, made.discount, paused=True)))
    with pytest.raises(errors.CodePaused):
        do.reserve("a")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/London"])
def test_windows_are_local_days_the_last_one_whole(do: Verbs, connection: psycopg.Connection[Any], zone: str) -> None:
    """Yesterday, today and tomorrow as the institution has them."""
    row = connection.execute("SELECT (counterfoil.clock() AT TIME ZONE %s)::date", (zone,)).fetchone()
    assert row
    today: date = row[0]
    day = timedelta(days=1)
    there = school(do.host, zone)
    code(do.host, "TODAY", of=there, starts_on=today, ends_on=today)
    code(do.host, "SOON", of=there, starts_on=today + day, ends_on=today + 9 * day)
    code(do.host, "OVER", of=there, starts_on=today - 9 * day, ends_on=today - day)
    assert do.reserve("a", "TODAY")
    with pytest.raises(errors.CodeNotOpen) as early:
        do.reserve("a", "SOON")
    assert early.value.fields["starts_on"] == today + day
    with pytest.raises(errors.CodeEnded) as late:
        do.reserve("a", "OVER")
    assert late.value.fields["ends_on"] == today - day


def test_a_code_for_some_products_is_for_no_other(do: Verbs, shop: Shop) -> None:
    code(do.host, products=("hub",))
    with pytest.raises(errors.CodeNotForProduct):
        do.reserve("a")
    bought = verbs.reserve(
        id=uuid4(), code="NORTH", buyer="a", hold=HOLD, product="hub", lock_timeout=shop.lock_timeout
    )
    assert do.host.run(bought).status is RedemptionStatus.RESERVED


def test_two_codes_may_count_against_one_allocation(do: Verbs) -> None:
    """A pool: the place one took is missing to the other, and a chain of pools is one pool."""
    northfold = school(do.host)
    code(do.host, "POOL", cap=2, of=northfold)
    code(do.host, "EAST", cap=100, of=northfold, counts_with="POOL")
    code(do.host, "WEST", cap=100, of=northfold, counts_with="EAST")
    do.reserve("a", "EAST")
    claim = do.reserve("b", "WEST")
    assert claim.code == "WEST"
    for text in ("POOL", "EAST", "WEST"):
        with pytest.raises(errors.AllocationHeld):
            do.reserve("c", text)
        assert (do.usage(text).cap, do.usage(text).held) == (2, 2)


def test_the_period_of_a_hold_stays_when_the_year_turns(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    """Held before midnight of the year's end and paid after it: it counts in the old year."""
    row = connection.execute("SELECT (counterfoil.clock() AT TIME ZONE 'Europe/London')::date").fetchone()
    assert row
    today: date = row[0]
    code(do.host, of=school(do.host, year_start=f"{today + timedelta(days=1):%m-%d}"))
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    # Midnight: the year that was to start tomorrow started today.
    connection.execute("UPDATE counterfoil.institution SET year_start = %s", (f"{today:%m-%d}",))
    assert do.settle(claim, "cs_1", "paid").outcome == "completed"
    assert do.read(claim).period == claim.period
    assert do.usage().period != claim.period
    assert do.host.run(verbs.usage(code="NORTH", period=claim.period)).completed == 1
    assert do.usage().completed == 0
    assert do.reserve("a").period == do.usage().period
