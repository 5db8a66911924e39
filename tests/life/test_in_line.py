"""A rush: places are held at once, and sessions are made in order, no faster than Stripe takes them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.conftest import Clock
from tests.life.test_opening import Till, till
from tests.support.places import code

from counterfoil import catalogue, checkout, errors
from counterfoil.calls import CreateSession, Pause, Together
from counterfoil.model import CheckoutStatus
from counterfoil.pace import Pace
from counterfoil.simulator import Fault, Running
from counterfoil.statement import Statement

__all__ = ["till"]


class Rush:
    """Buyers who come at once, each carried out by hand; where one waits, time passes."""

    def __init__(self, till: Till, clock: Clock, rate: float = 1.0, longest: float = 20.0) -> None:
        self.till, self.clock, self.seconds = till, clock, 0.0
        self.pace = Pace(rate, timedelta(seconds=longest), clock=lambda: self.seconds)
        self.made_at: list[tuple[str, float]] = []
        code(till.host, "RUSH", cap=50, of=till.host.run(catalogue.institution("northfold")))

    def arrive(self, buyer: str, typed: str = "RUSH") -> "Buyer":
        """A buyer comes, and goes on until there is something to wait for."""
        return Buyer(self, buyer, typed)

    def pass_time(self, seconds: float) -> None:
        """For everybody."""
        self.seconds += seconds
        self.clock.advance(seconds=seconds)


class Buyer:
    """One request, step by step."""

    def __init__(self, rush: Rush, name: str, typed: str) -> None:
        self.rush, self.name = rush, name
        order = rush.till.order(name, typed)
        self.procedure = checkout.open_checkout(order, rush.till.shop, steady=lambda: rush.seconds, pace=rush.pace)
        self.step: Any = next(self.procedure)
        self.opened: checkout.Opened | None = None
        self.go_on(lambda step: isinstance(step, Pause))

    def go_on(self, until: Callable[[Any], bool]) -> None:
        """Take steps until the next is such a one, or all are done."""
        try:
            while not until(self.step):
                if isinstance(self.step, CreateSession):
                    self.rush.made_at.append((self.name, self.rush.seconds))
                try:
                    answer = self.rush.till.perform(self.step)
                except Exception as failure:  # noqa: BLE001 (whatever it is, the procedure is told)
                    self.step = self.procedure.throw(failure)
                else:
                    self.step = self.procedure.send(answer)
        except StopIteration as end:
            self.opened = end.value

    def waited(self) -> None:
        """The pause is over: go on to the next, or to the end."""
        try:
            self.step = self.procedure.send(None)
        except StopIteration as end:
            self.opened = end.value
        else:
            self.go_on(lambda step: isinstance(step, Pause))


def all_served(rush: Rush, buyers: list[Buyer]) -> None:
    """Time passes until nobody waits any more."""
    for _ in range(400):
        waiting = [buyer for buyer in buyers if buyer.opened is None]
        if not waiting:
            return
        rush.pass_time(min(buyer.step.seconds for buyer in waiting))
        for buyer in waiting:
            buyer.waited()
    raise AssertionError("somebody waits for ever")


@pytest.fixture
def rush(till: Till, clock: Clock) -> Rush:
    return Rush(till, clock)


def test_places_at_once_and_pages_in_order(rush: Rush) -> None:
    """All are held before the second page is made, and no two pages are made within a second."""
    buyers = [rush.arrive(f"buyer {number}") for number in range(10)]
    assert rush.till.do.usage("RUSH").held == 10
    assert [name for name, _ in rush.made_at] == ["buyer 0"]
    all_served(rush, buyers)
    assert [name for name, _ in rush.made_at] == [f"buyer {number}" for number in range(10)]
    moments = [at for _, at in rush.made_at]
    assert all(later - earlier > 0.999 for earlier, later in pairwise(moments))
    assert all(buyer.opened and buyer.opened.checkout.session_url for buyer in buyers)


def test_a_full_line_says_so_before_it_takes_a_place(till: Till, clock: Clock) -> None:
    rush = Rush(till, clock, longest=4)
    buyers = [rush.arrive(f"buyer {number}") for number in range(5)]
    with pytest.raises(errors.Busy) as refused:
        rush.arrive("one too many")
    assert 1 <= refused.value.retry_after <= 10
    assert till.do.usage("RUSH").held == 5
    all_served(rush, buyers)
    rush.pass_time(refused.value.retry_after)
    all_served(rush, [rush.arrive("one too many")])


def test_in_a_full_line_spent_is_still_spent(till: Till, clock: Clock) -> None:
    """Never *busy* for what no waiting would change."""
    rush = Rush(till, clock, longest=4)
    code(till.host, "NONE", cap=0, of=till.host.run(catalogue.institution("northfold")))
    for number in range(6):
        try:
            rush.arrive(f"buyer {number}")
        except errors.Busy:
            break
    with pytest.raises(errors.AllocationSpent):
        rush.arrive("x", "NONE")


def test_a_hold_that_grew_too_old_in_line_is_renewed_in_its_place(till: Till, clock: Clock, simulator: Running) -> None:
    """At one page in thirty seconds the third buyer waits a minute: too long for the session that was meant."""
    rush = Rush(till, clock, rate=1 / 30, longest=600)
    buyers = [rush.arrive(f"buyer {number}") for number in range(4)]
    all_served(rush, buyers)
    attempts = []
    for buyer in buyers:
        assert buyer.opened
        claim = buyer.opened.checkout.redemption
        assert claim
        assert claim.session_expires_at
        assert claim.session_expires_at < claim.expires_at
        session = simulator.session(str(claim.session_id))
        assert session["expires_at"] - session["created"] >= 30 * 60
        attempts.append(claim.attempt)
    assert attempts[0] == 1
    assert attempts[-1] == 2
    assert till.do.usage("RUSH").held == 4


def test_who_is_told_to_stop_in_line_gives_the_place_back(rush: Rush) -> None:
    rush.arrive("first")
    second = rush.arrive("second")
    with pytest.raises(asyncio.CancelledError):
        second.step = second.procedure.throw(asyncio.CancelledError())
        second.go_on(lambda _: False)
    assert rush.till.do.usage("RUSH").held == 1


def test_a_429_is_waited_out_with_the_same_key(rush: Rush, simulator: Running) -> None:
    simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=2, status=429, code="rate_limit"))
    buyer = rush.arrive("a")
    all_served(rush, [buyer])
    assert buyer.opened
    assert buyer.opened.checkout.status is CheckoutStatus.OPEN
    assert len(rush.made_at) == 3
    assert len({call.idempotency_key for call in rush.till.stripe.created()}) == 1
    assert rush.pace.rate < 1.0 or rush.pace.rate == rush.pace.most


def test_if_stripe_refuses_for_too_long_the_place_is_given_back(till: Till, clock: Clock, simulator: Running) -> None:
    rush = Rush(till, clock, longest=5)
    simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=1000, status=429, code="rate_limit"))
    buyer = rush.arrive("a")
    with pytest.raises(errors.StripeUnavailable) as refused:
        all_served(rush, [buyer])
    assert refused.value.fields["stripe_code"] == "rate_limit"
    assert till.do.usage("RUSH").held == 0


def test_asking_again_in_line_takes_no_second_number(rush: Rush) -> None:
    """However often its buyer asks: the line is as long as before, and they are told when to come again."""
    rush.arrive("first")
    buyer = rush.arrive("impatient")
    for _ in range(3):
        again = rush.arrive("impatient")
        with pytest.raises(errors.Busy) as told:
            while True:
                rush.seconds += again.step.seconds / 100
                again.waited()
                rush.seconds += till_patience_ends(rush)
        assert told.value.retry_after >= 1
        assert rush.pace.waiting <= 1
    assert rush.till.do.usage("RUSH").held == 2
    all_served(rush, [buyer])


def till_patience_ends(rush: Rush) -> float:
    """Less than the line's next step, so that nobody is served meanwhile."""
    return rush.till.shop.lock_timeout.total_seconds() / 100


def test_what_fails_after_the_wait_gives_the_place_back(till: Till, clock: Clock) -> None:
    """The hold has grown too old in line, and cannot be renewed now: its place is not kept for nobody."""
    rush = Rush(till, clock, rate=1 / 30, longest=600)
    rush.arrive("first")
    second, last = rush.arrive("second"), rush.arrive("last")
    rush.pass_time(30)
    second.waited()
    rush.pass_time(31)
    last.step = last.procedure.send(None)
    last.go_on(lambda step: isinstance(step, Statement) and "counterfoil.renew" in step.sql.text)
    with pytest.raises(errors.Busy):
        last.step = last.procedure.throw(errors.Busy())
        last.go_on(lambda _: False)
    assert till.do.usage("RUSH").held == 2


def test_two_who_want_the_same_lapsed_place_ask_about_it_once(till: Till, clock: Clock, simulator: Running) -> None:
    """The second waits for what the first finds out, and is then told the truth."""
    rush = Rush(till, clock)
    simulator.drop_events(99)
    paid = till.open("a").checkout
    simulator.pay(str(paid.session_id))
    clock.advance(minutes=41)
    first, second = (
        checkout.open_checkout(till.order(name), till.shop, steady=lambda: rush.seconds, pace=rush.pace)
        for name in ("b", "c")
    )
    asking, waiting = (to_the_first(till, procedure, (Together, Pause)) for procedure in (first, second))
    assert (type(asking), type(waiting)) == (Together, Pause)
    step: Any = first.send(till.perform(asking))
    with pytest.raises(errors.AllocationSpent):
        to_the_end(till, first, step)
    with pytest.raises(errors.AllocationSpent):
        to_the_end(till, second, second.send(None), never=Together)


def to_the_first(till: Till, procedure: Any, kinds: tuple[type, ...]) -> Any:
    """Take steps until the next is of one of these kinds."""
    step = next(procedure)
    while not isinstance(step, kinds):
        step = procedure.send(till.perform(step))
    return step


def to_the_end(till: Till, procedure: Any, step: Any, never: type | None = None) -> None:
    """Take all steps that are left."""
    while True:
        assert never is None or not isinstance(step, never)
        step = procedure.send(till.perform(step))
