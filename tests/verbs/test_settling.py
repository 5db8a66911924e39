"""What Stripe says of a session, carried into the rows."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import psycopg
import pytest
from tests.support.places import Verbs, code, lapse

from counterfoil import catalogue, errors, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import RedemptionStatus, ReleaseReason, Shop


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Verbs:
    return Verbs(host, shop)


def test_paid_twice_is_paid_once(do: Verbs) -> None:
    """A second delivery changes nothing and says so: an answer, not an error."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    assert do.settle(claim, "cs_1", "paid").outcome == "completed"
    first = do.read(claim)
    assert do.settle(claim, "cs_1", "paid").outcome == "already_settled"
    assert do.read(claim).completed_at == first.completed_at
    assert do.usage().completed == 1


def test_releasing_a_completed_one_changes_nothing(do: Verbs) -> None:
    """A sale cannot be un-sold."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    do.settle(claim, "cs_1", "paid")
    assert do.release(claim) == "already_settled"
    assert do.settle(claim, "cs_1", "expired").outcome == "already_settled"
    assert do.read(claim).status is RedemptionStatus.COMPLETED
    assert do.recount() == []


def test_a_lapsed_hold_that_was_paid_completes(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    lapse(connection, claim)
    assert do.settle(claim, "cs_1", "paid").outcome == "completed"
    assert not do.read(claim).over_cap
    assert (do.usage().completed, do.usage().over) == (1, 0)


def test_a_released_one_that_was_paid_completes_over_the_cap_and_is_marked(do: Verbs) -> None:
    """Money that arrived is honoured; nobody is refunded silently, and nobody new gets in for it."""
    code(do.host)
    late = do.reserve("a")
    do.attach(late, "cs_1")
    assert do.release(late, ReleaseReason.CANCELLED, session_id="cs_1") == "released"
    other = do.reserve("b")
    do.attach(other, "cs_2")
    do.settle(other, "cs_2", "paid")
    assert do.settle(late, "cs_1", "paid").outcome == "completed_late"
    assert do.read(late).over_cap
    assert not do.read(other).over_cap
    usage = do.usage()
    assert (usage.completed, usage.over, usage.remaining) == (2, 1, 0)
    with pytest.raises(errors.AllocationSpent):
        do.reserve("c")
    assert do.recount() == []


def test_a_late_one_that_fits_is_not_over(do: Verbs) -> None:
    code(do.host, cap=2)
    late = do.reserve("a")
    do.attach(late, "cs_1")
    do.release(late)
    assert do.settle(late, "cs_1", "paid").outcome == "completed_late"
    assert not do.read(late).over_cap
    assert do.recount() == []


def test_a_delayed_payment_keeps_its_place(do: Verbs, shop: Shop) -> None:
    """Complete and unpaid: pending, with its own deadline; then paid, or failed and free at once."""
    code(do.host, cap=2)
    paid, failed = do.reserve("a"), do.reserve("b")
    for claim, session in ((paid, "cs_1"), (failed, "cs_2")):
        do.attach(claim, session)
        assert do.settle(claim, session, "pending").outcome == "pending"
    pending = do.read(paid)
    assert pending.status is RedemptionStatus.PENDING
    assert pending.expires_at - pending.read_at > shop.clocks.pending_ttl - timedelta(minutes=1)
    assert (do.usage().pending, do.usage().remaining) == (2, 0)
    with pytest.raises(errors.AllocationSpent):
        do.reserve("c")
    assert do.settle(paid, "cs_1", "paid").outcome == "completed"
    assert do.settle(failed, "cs_2", "payment_failed").outcome == "released"
    assert do.read(failed).release_reason is ReleaseReason.PAYMENT_FAILED
    assert do.settle(failed, "cs_2", "pending").outcome == "already_settled"
    assert do.read(failed).status is RedemptionStatus.RELEASED
    assert do.reserve("c")


def test_the_end_of_a_former_session_releases_nothing(do: Verbs) -> None:
    """The row is using a newer one."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    assert do.renew(claim) == "renewed"
    renewed = do.read(claim)
    assert (renewed.attempt, renewed.session_id, renewed.former_sessions) == (2, None, ("cs_1",))
    assert do.settle(claim, "cs_1", "expired").outcome == "superseded"
    do.attach(renewed, "cs_2")
    assert do.settle(claim, "cs_1", "expired").outcome == "superseded"
    assert do.settle(claim, "cs_1", "payment_failed").outcome == "superseded"
    assert do.read(claim).status is RedemptionStatus.RESERVED
    assert do.settle(renewed, "cs_2", "expired").outcome == "released"


def test_a_former_session_that_was_paid_completes_and_names_the_other(do: Verbs) -> None:
    """The newer one may still be payable, and must be ended."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    do.renew(claim)
    do.attach(do.read(claim), "cs_2")
    settled = do.settle(claim, "cs_1", "paid")
    assert (settled.outcome, settled.stray_session) == ("completed", "cs_2")
    after = do.read(claim)
    assert (after.session_id, after.former_sessions) == ("cs_1", ("cs_2",))


def test_a_session_whose_attach_was_lost_finds_its_row(do: Verbs) -> None:
    """By the ids in its metadata: of the attempt that is without a session."""
    code(do.host)
    claim = do.reserve("a")
    assert do.settle(claim, "cs_lost", "paid").outcome == "completed"
    assert do.read(claim).session_id == "cs_lost"


def test_and_its_end_gives_the_place_back(do: Verbs) -> None:
    code(do.host)
    claim = do.reserve("a")
    assert do.settle(claim, "cs_lost", "expired").outcome == "released"


def test_unknown_and_recovered_sessions_complete_nothing(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    """Money for something we do not know is put before the seller, once."""
    code(do.host)
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    assert do.settle(claim, "cs_copy", "paid", recovered_from="cs_1").outcome == "attention"
    assert do.settle(claim, "cs_copy", "paid", recovered_from="cs_1").outcome == "attention"
    assert do.settle(claim, "cs_stranger", "pending").outcome == "attention"
    assert do.settle(claim, "cs_stranger", "expired").outcome == "superseded"
    assert do.read(claim).status is RedemptionStatus.RESERVED
    found = connection.execute("SELECT kind, subject FROM counterfoil.attention ORDER BY id").fetchall()
    assert found == [("unmatched-session", "cs_copy"), ("unmatched-session", "cs_stranger")]


def test_a_session_of_somebody_else_is_foreign(do: Verbs) -> None:
    code(do.host)
    claim = do.reserve("a")
    nothing = {"checkout": None, "redemption": None, "counts_with": None, "attempt": None}
    from tests.support.places import a_session

    settled = do.host.run(
        verbs.settle(session=a_session("cs_x", claim), verdict="paid", reference=nothing, shop=do.shop)
    )
    assert settled.outcome == "foreign"


@pytest.mark.parametrize(
    "order", sorted(set(permutations(["attach", "paid", "paid", "expired", "paid"]))), ids="-".join
)
def test_in_any_order_it_ends_completed_with_one_transition(
    do: Verbs, connection: psycopg.Connection[Any], order: tuple[str, ...]
) -> None:
    """However attach, two completions, an expiry and a late success are delivered."""
    code(do.host)
    claim = do.reserve("a")
    moved = 0
    for step in order:
        if step == "attach":
            do.attach(claim, "cs_1")
        else:
            moved += do.settle(claim, "cs_1", step).outcome.startswith("completed")
    assert do.read(claim).status is RedemptionStatus.COMPLETED
    assert moved == 1
    assert do.usage().completed == 1
    assert do.recount() == []


def test_attach_refuses_what_would_outlive_its_hold(do: Verbs) -> None:
    """Place four of the five: the column compares what Stripe answered with the row's own expiry."""
    code(do.host)
    claim = do.reserve("a")
    for ends in (claim.expires_at, claim.expires_at + timedelta(seconds=1)):
        with pytest.raises(psycopg.errors.CheckViolation) as refused:
            do.attach(claim, "cs_1", ends=ends)
        assert refused.value.diag.constraint_name == "session_dies_before_its_hold"
    assert do.attach(claim, "cs_1", ends=claim.expires_at - timedelta(microseconds=1)) == "attached"


def test_a_hold_has_one_session(do: Verbs) -> None:
    """The same again is fine; another is not, nor one for a place that was given back or renewed."""
    code(do.host, cap=2)
    claim = do.reserve("a")
    assert do.attach(claim, "cs_1") == do.attach(claim, "cs_1") == "attached"
    assert do.attach(claim, "cs_2") == "gone"
    do.renew(claim)
    assert do.attach(claim, "cs_3") == "gone"
    other = do.reserve("b")
    do.release(other)
    assert do.attach(other, "cs_4") == "gone"


def test_only_the_attempt_without_a_session_gives_up_its_place(do: Verbs) -> None:
    """A failed creation releases its own attempt and no other."""
    code(do.host)
    claim = do.reserve("a")
    failed = ReleaseReason.CREATION_FAILED
    assert do.release(claim, failed, attempt=2) == "not_this_session"
    do.attach(claim, "cs_1")
    assert do.release(claim, failed, attempt=1) == "not_this_session"
    assert do.release(claim, failed, session_id="cs_other", attempt=1) == "not_this_session"
    do.renew(claim)
    assert do.release(claim, failed, attempt=1) == "not_this_session"
    assert do.release(claim, failed, attempt=2) == "released"


def test_renewals_are_bounded(do: Verbs, connection: psycopg.Connection[Any]) -> None:
    """So that a place cannot be kept for ever; and each takes the row as it was seen."""
    code(do.host)
    claim = do.reserve("a")
    assert do.renew(claim, most=1) == "renewed"
    assert do.renew(claim, most=1) == "moved_on"
    assert do.renew(do.read(claim), most=1) == "worn_out"
    renewed = do.read(claim)
    assert renewed.expires_at > claim.expires_at


def test_a_cap_is_raised_freely_and_lowered_on_confirmation(do: Verbs) -> None:
    """Below what is used: holds may finish, nobody new is let in."""
    made = code(do.host, cap=2)
    claims = [do.reserve("a"), do.reserve("b")]
    period = claims[0].period

    def cap(places: int | None, *, confirmed: bool = False) -> None:
        do.host.run(
            catalogue.set_cap(code=made, period=period, cap=places, note=None, confirmed=confirmed, shop=do.shop)
        )

    with pytest.raises(errors.CapBelowUsed) as refused:
        cap(1)
    assert refused.value.fields == {"used": 2}
    cap(1, confirmed=True)
    with pytest.raises(errors.AllocationHeld):
        do.reserve("c")
    for number, claim in enumerate(claims):
        do.attach(claim, f"cs_{number}")
        assert do.settle(claim, f"cs_{number}", "paid").outcome == "completed"
    assert do.usage().over == 1
    with pytest.raises(errors.AllocationSpent):
        do.reserve("c")
    cap(3)
    assert do.reserve("c")
    cap(None)
    assert do.usage().remaining is None
    assert do.recount() == []
