"""Nothing is heard from Stripe for hours: places are given away only after asking, and the cap holds."""

import random
from typing import Any

import psycopg
import pytest
from tests.life.test_opening import Till, till
from tests.support.places import code

from counterfoil import catalogue, checkout, ending, errors
from counterfoil.calls import ExpireSession, Together
from counterfoil.model import CheckoutStatus
from counterfoil.procedure import perform
from counterfoil.simulator import Fault, Running
from counterfoil.simulator.engine import Challenged

__all__ = ["till"]


@pytest.fixture
def twelve(till: Till) -> Till:
    """A code with twelve places."""
    code(till.host, "TWELVE", cap=12, of=till.host.run(catalogue.institution("northfold")))
    return till


def let_in(till: Till, buyers: list[str]) -> list[Any]:
    """The checkouts of those who get a place."""
    opened = []
    for buyer in buyers:
        try:
            opened.append(till.open(buyer, "TWELVE").checkout)
        except (errors.AllocationHeld, errors.AllocationSpent, errors.Busy):
            continue
    return opened


@pytest.mark.parametrize("paying", ["all", "half"])
def test_six_hours_without_an_event_and_every_hold_paid_at_its_last_minute(
    twelve: Till, simulator: Running, clock: Any, connection: psycopg.Connection[Any], paying: str
) -> None:
    simulator.drop_events(100_000)
    chance = random.Random(paying)
    paid: list[str] = []
    for hour in range(9):
        opened = let_in(twelve, [f"{hour}-{number}" for number in range(15)])
        clock.advance(minutes=30, seconds=55)
        for sale in opened:
            if paying == "all" or chance.random() < 0.5:
                simulator.pay(sale.session_id)
                paid.append(sale.session_id)
        clock.advance(minutes=10)
        assert len(paid) <= 12
    # Somebody who asks once more finds out what nobody told.
    with pytest.raises(errors.AllocationSpent):
        twelve.open("last", "TWELVE")
    usage = twelve.do.usage("TWELVE")
    assert (usage.completed, usage.held, usage.over) == (12, 0, 0) == (len(paid), 0, 0)
    assert connection.execute("SELECT count(*) FROM counterfoil.redemption WHERE over_cap").fetchone() == (0,)
    assert twelve.do.recount() == []


def test_they_are_asked_about_at_the_same_time_and_not_all_of_them(
    twelve: Till, simulator: Running, clock: Any
) -> None:
    """Ten, the oldest: one buyer's request is no reconciliation."""
    simulator.drop_events(100_000)
    opened = let_in(twelve, [str(number) for number in range(12)])
    clock.advance(minutes=41)
    together: list[list[str]] = []
    procedure = checkout.open_checkout(twelve.order("new", "TWELVE"), twelve.shop)
    step = next(procedure)
    made = None
    while made is None:
        if isinstance(step, Together):
            together.append([call.session_id for call in step.calls if isinstance(call, ExpireSession)])
        try:
            answer = perform(step, twelve.host, twelve.stripe)
        except Exception as failure:  # noqa: BLE001
            step = procedure.throw(failure)
            continue
        try:
            step = procedure.send(answer)
        except StopIteration as end:
            made = end.value.checkout
    assert made.status is CheckoutStatus.OPEN
    assert together[0] == [sale.session_id for sale in opened[:10]]


def test_one_that_cannot_be_asked_is_not_given_away_and_the_others_are_settled(
    twelve: Till, simulator: Running, clock: Any
) -> None:
    """Eleven are paid; Stripe does not say about the last. It may be paid too, so the place is nobody's yet."""
    simulator.drop_events(100_000)
    opened = let_in(twelve, [str(number) for number in range(12)])
    for sale in opened:
        simulator.pay(sale.session_id)
    clock.advance(minutes=41)
    simulator.fail_next(Fault("refuse", path=f"*/{opened[3].session_id}*", status=500, times=100))
    with pytest.raises(errors.Busy) as refused:
        twelve.open("new", "TWELVE")
    assert refused.value.retry_after == 5
    assert twelve.do.usage("TWELVE").completed == 11
    simulator.call(simulator.account.faults.clear)
    with pytest.raises(errors.AllocationSpent):
        twelve.open("new", "TWELVE")


def test_one_that_cannot_be_asked_keeps_nobody_from_the_places_that_are_free(
    twelve: Till, simulator: Running, clock: Any
) -> None:
    simulator.drop_events(100_000)
    opened = let_in(twelve, [str(number) for number in range(12)])
    clock.advance(minutes=41)
    simulator.fail_next(Fault("refuse", path=f"*/{opened[3].session_id}*", status=500, times=100))
    assert len(let_in(twelve, [f"new-{number}" for number in range(11)])) == 11
    with pytest.raises(errors.Busy):
        twelve.open("one more", "TWELVE")


def test_a_payment_that_stripe_let_finish_after_the_session_s_end_is_honoured_and_marked(
    till: Till, simulator: Running, clock: Any, connection: psycopg.Connection[Any]
) -> None:
    """The only way over the cap: the place was asked about, found unpaid and let again, and then the money came."""
    simulator.call(lambda: setattr(simulator.account.engine, "late_challenge_wins", True))
    try:
        simulator.drop_events(100_000)
        first = till.open("a").checkout
        with pytest.raises(Challenged):
            simulator.call(lambda: simulator.account.engine.pay(str(first.session_id), "4000002760003184"))
        clock.advance(minutes=41)
        second = till.open("b").checkout
        simulator.pay(str(second.session_id))
        till.run(ending.refresh(till.read(second), till.shop))
        simulator.answer_challenge(str(first.session_id), approve=True)
        till.run(ending.refresh(till.read(first), till.shop))
    finally:
        simulator.call(lambda: setattr(simulator.account.engine, "late_challenge_wins", False))
    usage = till.do.usage()
    assert (usage.cap, usage.completed, usage.over, usage.remaining) == (1, 2, 1, 0)
    claim = till.read(first).redemption
    assert claim
    assert claim.over_cap
    listed = connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall()
    assert ("over-cap", str(claim.id)) in listed
    assert simulator.call(lambda: dict(simulator.account.engine.refunds)) == {}, "nobody is refunded silently"
    with pytest.raises(errors.AllocationSpent):
        till.open("c")
