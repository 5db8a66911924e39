"""Reserve, create, attach; release if anything threw: the procedure against a real database and the simulator."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from tests.conftest import Clock
from tests.support.places import Verbs, code, lapse

from counterfoil import catalogue, checkout, ending, errors, verbs
from counterfoil.calls import CreateSession, ExpireSession, Pause, StripeCall
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import (
    Checkout,
    CheckoutStatus,
    Order,
    RedemptionStatus,
    ReleaseReason,
    Session,
    Shop,
    StripeEvent,
)
from counterfoil.pricing import PercentOff
from counterfoil.procedure import Procedure, drive, perform
from counterfoil.settlement import settle_event
from counterfoil.simulator import Fault, Running
from counterfoil.statement import Statement
from counterfoil.stripe.drivers import SyncStripe

QUICK = Shop(clocks=Clocks(stripe_timeout=timedelta(seconds=1), stripe_attempts=1), livemode=False)


class Recording:
    """The real driver, and what it was asked for."""

    def __init__(self, inner: SyncStripe) -> None:
        self.inner = inner
        self.calls: list[StripeCall] = []

    def carry_out(self, call: StripeCall) -> Session:
        self.calls.append(call)
        return self.inner.carry_out(call)

    def created(self) -> list[CreateSession]:
        return [call for call in self.calls if isinstance(call, CreateSession)]


class Till:
    """A shop that opens checkouts, as short as a story is told."""

    def __init__(self, host: Psycopg, stripe: Recording, shop: Shop) -> None:
        self.host, self.stripe, self.shop = host, stripe, shop
        self.do = Verbs(host, shop)

    def order(self, buyer: str = "a", code: str | None = "NORTH", product: str = "hub") -> Order:
        urls = {"success_url": "http://127.0.0.1/ok", "cancel_url": "http://127.0.0.1/no"}
        return Order(buyer=buyer, product=product, code=code, **urls)

    def run(self, procedure: Procedure[Any]) -> Any:
        return drive(procedure, self.host, self.stripe)

    def perform(self, step: Any) -> Any:
        """One step of a procedure that is run by hand."""
        return perform(step, self.host, self.stripe)

    def open(self, buyer: str = "a", code: str | None = "NORTH", product: str = "hub", **more: Any) -> checkout.Opened:
        opened: checkout.Opened = self.run(checkout.open_checkout(self.order(buyer, code, product), self.shop, **more))
        return opened

    def read(self, sale: Checkout) -> Checkout:
        found = self.host.run(verbs.checkout(id=sale.id))
        assert found
        return found

    def sales(self) -> list[Checkout]:
        return self.host.run(verbs.checkouts())


@pytest.fixture
def till(host: Psycopg, simulator: Running) -> Iterator[Till]:
    for id, amount in (("hub", 2000), ("day", 4000)):
        host.run(catalogue.add_product(id=id, name=id, amount=amount, currency="gbp", unlocks=[id]))
    code(host, cap=1)
    inner = SyncStripe("sk_test_life", QUICK.clocks, simulator.base_url)
    yield Till(host, Recording(inner), QUICK)
    inner.close()


def test_the_ids_travel_in_three_places(till: Till, simulator: Running) -> None:
    sale = till.open().checkout
    claim = sale.redemption
    assert claim
    session = simulator.session(str(sale.session_id))
    assert session["client_reference_id"] == str(claim.id)
    assert session["metadata"] == session["_intent_metadata"]
    assert session["metadata"] == {
        "counterfoil_checkout": str(sale.id),
        "counterfoil_redemption": str(claim.id),
        "counterfoil_counts_with": str(claim.counts_with),
        "counterfoil_attempt": "1",
    }


def test_the_expiry_is_the_hold_s_less_the_margin(till: Till, connection: psycopg.Connection[Any]) -> None:
    """Place two of the five: derived from the row, in whole seconds, whatever this machine's clock says."""
    sale = till.open().checkout
    claim = sale.redemption
    assert claim
    sent = till.stripe.created()[0].parameters["expires_at"]
    assert sent == int((claim.expires_at - till.shop.clocks.margin).timestamp())
    assert claim.session_expires_at == datetime.fromtimestamp(sent, claim.expires_at.tzinfo)
    assert claim.session_expires_at < claim.expires_at
    assert sale.session_expires_at == claim.session_expires_at


def test_a_full_price_session_has_no_expiry_and_holds_no_place(till: Till) -> None:
    sale = till.open(code=None).checkout
    assert sale.redemption is None
    assert "expires_at" not in till.stripe.created()[0].parameters
    assert till.do.usage().held == 0


@pytest.mark.parametrize("minutes", [1, 5, 45])
def test_a_step_that_takes_minutes_renews_the_hold_first(
    till: Till, simulator: Running, clock: Any, minutes: int
) -> None:
    """Between reserve and create: no create call carries an expiry below the floor, and the hold outlives it."""
    readings = iter([0.0])

    def steady() -> float:
        # The second reading finds that minutes have passed, and so they have.
        first = next(readings, None)
        if first is None and not moved:
            moved.append(minutes)
            clock.advance(minutes=minutes)
        return 60.0 * sum(moved)

    moved: list[int] = []
    sale = till.open(steady=steady).checkout
    claim = sale.redemption
    assert claim
    assert claim.attempt == 2
    assert len(till.stripe.created()) == 1
    session = simulator.session(str(sale.session_id))
    assert session["expires_at"] - session["created"] >= 30 * 60
    assert claim.session_expires_at
    assert claim.session_expires_at < claim.expires_at
    assert till.do.recount() == []


def test_a_floor_that_was_missed_all_the_same_is_another_attempt(till: Till, clock: Any, simulator: Running) -> None:
    """Stripe's clock is ahead of what we know: its 400 renews the hold, and nothing is lost."""
    began = []

    def perform(procedure: Procedure[Any]) -> Any:
        step = next(procedure)
        while True:
            try:
                if isinstance(step, CreateSession) and not began:
                    began.append(step)
                    clock.advance(minutes=2)
                answer = till.perform(step)
            except BaseException as failure:  # noqa: BLE001
                step = procedure.throw(failure)
            else:
                try:
                    step = procedure.send(answer)
                except StopIteration as end:
                    return end.value

    opened = perform(checkout.open_checkout(till.order(), till.shop, steady=lambda: 0.0))
    assert opened.checkout.redemption.attempt == 2
    assert len({call.idempotency_key for call in till.stripe.created()}) == 2
    assert opened.checkout.status is CheckoutStatus.OPEN


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        (Fault("refuse", method="POST", status=500), True),
        (Fault("error_after", method="POST"), True),
        (Fault("reset", method="POST"), False),
        (Fault("lost_before", method="POST"), False),
        (Fault("lost_after", method="POST"), False),
    ],
    ids=lambda value: value.kind + str(value.status) if isinstance(value, Fault) else "",
)
def test_whatever_the_create_call_runs_into_gives_the_place_back_at_once(
    till: Till, simulator: Running, fault: Fault, answered: bool
) -> None:
    """Nobody has the URL, so nobody can pay it: the next buyer gets the place."""
    simulator.fail_next(replace(fault))
    with pytest.raises(errors.StripeUnavailable) as refused:
        till.open("a")
    assert refused.value.answered is answered
    failed = till.sales()[0]
    assert failed.status is CheckoutStatus.FAILED
    assert failed.redemption
    assert failed.redemption.release_reason is ReleaseReason.CREATION_FAILED
    assert till.open("b").checkout.status is CheckoutStatus.OPEN
    assert till.do.recount() == []


def test_a_full_price_checkout_that_failed_says_so(till: Till, simulator: Running) -> None:
    simulator.fail_next(Fault("refuse", method="POST", status=500))
    with pytest.raises(errors.StripeUnavailable):
        till.open("a", code=None)
    assert till.sales()[0].status is CheckoutStatus.FAILED


def test_a_session_that_outlives_its_hold_is_refused_by_the_column_and_ended(till: Till, simulator: Running) -> None:
    """A server that answers with another expiry than it was asked for: no URL leaves, and the place is free."""
    inner = till.stripe.carry_out

    def later(call: StripeCall) -> Session:
        session = inner(call)
        return (
            replace(session, expires_at=session.expires_at + timedelta(hours=1))
            if isinstance(call, CreateSession)
            else session
        )

    till.stripe.carry_out = later
    with pytest.raises(errors.SessionOutlivesHold):
        till.open("a")
    assert simulator.sessions()[0]["status"] == "expired"
    assert till.do.usage().held == 0


def test_a_place_released_while_the_page_was_made_lets_no_url_leave(till: Till, simulator: Running) -> None:
    """Attach finds the row gone: the new session is ended and the buyer refused."""
    inner = till.stripe.carry_out

    def releasing(call: StripeCall) -> Session:
        session = inner(call)
        if isinstance(call, CreateSession):
            claim = till.host.run(verbs.redemptions(most=1))[0]
            till.do.release(claim)
        return session

    till.stripe.carry_out = releasing
    with pytest.raises(errors.Busy):
        till.open("a")
    assert simulator.sessions()[0]["status"] == "expired"
    assert till.do.usage().held == 0


@pytest.mark.parametrize("failing", ["CreateSession", "attach"])
def test_a_process_that_is_told_to_stop_gives_the_place_back(till: Till, failing: str) -> None:
    """Not only errors: an interruption too."""

    def steps(procedure: Procedure[Any]) -> None:
        step = next(procedure)
        while True:
            name = (
                "attach"
                if isinstance(step, Statement) and "counterfoil.attach" in step.sql.text
                else type(step).__name__
            )
            if name == failing and not stopped:
                stopped.append(name)
                step = procedure.throw(KeyboardInterrupt())
                continue
            answer = till.perform(step)
            step = procedure.send(answer)

    stopped: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        steps(checkout.open_checkout(till.order(), till.shop))
    assert till.do.usage().held == 0


def test_the_same_buyer_gets_the_same_page_without_a_call(till: Till) -> None:
    first = till.open("a")
    again = till.open("A ".lower())
    assert again.resumed
    assert (again.checkout.id, again.checkout.session_url) == (first.checkout.id, first.checkout.session_url)
    assert len(till.stripe.calls) == 1


def test_with_little_time_left_the_page_is_a_fresh_one_in_the_same_place(
    till: Till, simulator: Running, clock: Any
) -> None:
    """The old session is ended before the new one is made; never are there two to pay."""
    first = till.open("a").checkout
    clock.advance(minutes=27)
    again = till.open("a")
    assert again.resumed
    assert again.checkout.id == first.id
    assert again.checkout.session_id != first.session_id
    assert simulator.session(str(first.session_id))["status"] == "expired"
    assert isinstance(till.stripe.calls[-2], ExpireSession)
    assert till.do.usage().held == 1
    assert till.do.recount() == []


def test_a_lapsed_hold_that_nobody_took_is_the_buyers_again(till: Till, clock: Any, simulator: Running) -> None:
    first = till.open("a").checkout
    simulator.drop_events(1000)
    clock.advance(minutes=45)
    again = till.open("a").checkout
    assert (again.id, again.status) == (first.id, CheckoutStatus.OPEN)


def test_a_place_cannot_be_kept_for_ever(till: Till, clock: Any, simulator: Running) -> None:
    """Renewed as often as it may be, it is good until its time is over; then its buyer asks like everybody else."""
    simulator.drop_events(1_000_000)
    first = till.open("a").checkout
    for _ in range(checkout.MOST_ATTEMPTS):
        clock.advance(minutes=28)
        last = till.open("a").checkout
        assert last.id == first.id
    clock.advance(minutes=28)
    assert till.open("a").checkout.session_id == last.session_id
    clock.advance(minutes=5)
    with pytest.raises(errors.AllocationHeld):
        till.open("a")
    clock.advance(minutes=8)
    assert till.open("b").checkout.status is CheckoutStatus.OPEN
    with pytest.raises(errors.AllocationHeld):
        till.open("a")


def test_a_payment_that_came_first_is_the_answer(till: Till, simulator: Running, clock: Any) -> None:
    """The returning buyer paid, and the event is lost: ending the session finds it out."""
    sale = till.open("a").checkout
    simulator.drop_events(1000)
    simulator.pay(str(sale.session_id))
    clock.advance(minutes=28)
    again = till.open("a").checkout
    assert (again.id, again.status) == (sale.id, CheckoutStatus.PAID)
    assert again.redemption
    assert again.redemption.status is RedemptionStatus.COMPLETED


def test_another_product_moves_the_place(till: Till, simulator: Running) -> None:
    """One live session, one held place; the older checkout is superseded."""
    first = till.open("a").checkout
    moved = till.open("a", product="day")
    assert not moved.resumed
    assert moved.checkout.id != first.id
    old = till.read(first)
    assert (old.status, old.redemption and old.redemption.release_reason) == (
        CheckoutStatus.CANCELLED,
        ReleaseReason.SUPERSEDED,
    )
    assert [session["status"] for session in simulator.sessions()] == ["open", "expired"]
    assert till.do.usage().held == 1
    assert till.do.recount() == []


def test_and_if_it_was_paid_it_is_used(till: Till, simulator: Running) -> None:
    sale = till.open("a").checkout
    simulator.drop_events(1000)
    simulator.pay(str(sale.session_id))
    with pytest.raises(errors.BuyerLimitReached) as refused:
        till.open("a", product="day")
    assert refused.value.fields["checkout"] == str(sale.id)
    assert till.read(sale).status is CheckoutStatus.PAID


def test_a_hold_without_a_session_is_driven_on(till: Till) -> None:
    """The process died between reserve and create: the same place, and the same attempt if there is time."""
    procedure = checkout.open_checkout(till.order(), till.shop)
    step = next(procedure)
    while not isinstance(step, CreateSession):
        step = procedure.send(till.perform(step))
    crashed = till.sales()[0]
    impatient = replace(till.shop, clocks=replace(till.shop.clocks, lock_timeout=timedelta(seconds=1)))
    opened = till.run(checkout.open_checkout(till.order(), impatient))
    assert (opened.checkout.id, opened.resumed) == (crashed.id, True)
    assert opened.checkout.session_url
    assert till.do.usage().held == 1


def test_a_session_whose_attach_was_lost_is_the_same_session_again(till: Till, simulator: Running) -> None:
    """It died between create and attach: the same key makes no second session."""
    procedure = checkout.open_checkout(till.order(), till.shop)
    step = next(procedure)
    while not (isinstance(step, Statement) and "counterfoil.attach" in step.sql.text):
        step = procedure.send(till.perform(step))
    impatient = replace(till.shop, clocks=replace(till.shop.clocks, lock_timeout=timedelta(seconds=1)))
    opened = till.run(checkout.open_checkout(till.order(), impatient))
    assert [session["id"] for session in simulator.sessions()] == [opened.checkout.session_id]


def test_while_the_first_is_at_work_the_second_is_busy(till: Till, simulator: Running) -> None:
    """It waits for the page as long as for a lock; then Stripe says that the first call is in progress."""
    first = checkout.open_checkout(till.order(), till.shop)
    step = next(first)
    while not isinstance(step, CreateSession):
        step = first.send(till.perform(step))
    simulator.call(lambda: simulator.account.keys.begin(step.idempotency_key, _fingerprint(step), "req_first"))
    waited = []

    def perform(procedure: Procedure[Any]) -> None:
        step = next(procedure)
        while True:
            try:
                if isinstance(step, Pause):
                    waited.append(step.seconds)
                    answer = None
                else:
                    answer = till.perform(step)
            except Exception as failure:  # noqa: BLE001
                step = procedure.throw(failure)
            else:
                step = procedure.send(answer)

    ticks = iter(range(10_000))
    with pytest.raises(errors.Busy):
        perform(checkout.open_checkout(till.order(), till.shop, steady=lambda: next(ticks) * 0.1))
    assert waited
    assert till.do.usage().held == 1


def _fingerprint(step: CreateSession) -> str:
    """What the simulator takes a request for: its line and its form."""

    def flat(prefix: str, value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from flat(f"{prefix}[{key}]" if prefix else key, item)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from flat(f"{prefix}[{index}]", item)
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield f"{prefix}={quote(text, safe='').replace('%20', '+')}"

    return "POST /v1/checkout/sessions " + "&".join(flat("", dict(step.parameters)))


def test_cancelling_ends_the_session_and_gives_the_place_back(till: Till, simulator: Running) -> None:
    sale = till.open("a").checkout
    ended = till.run(ending.cancel(sale, till.shop))
    assert (ended.status, ended.redemption.release_reason) == (CheckoutStatus.CANCELLED, ReleaseReason.CANCELLED)
    assert simulator.session(str(sale.session_id))["status"] == "expired"
    assert till.open("b").checkout.status is CheckoutStatus.OPEN


def test_cancelling_believes_stripe(till: Till, simulator: Running) -> None:
    """It was paid meanwhile: that is what the checkout then is."""
    sale = till.open("a").checkout
    simulator.drop_events(1000)
    simulator.pay(str(sale.session_id))
    assert till.run(ending.cancel(sale, till.shop)).status is CheckoutStatus.PAID


def test_cancelling_gives_nothing_back_if_stripe_cannot_be_reached(till: Till, simulator: Running) -> None:
    sale = till.open("a").checkout
    simulator.fail_next(Fault("refuse", path="*/expire", status=500))
    with pytest.raises(errors.StripeUnavailable):
        till.run(ending.cancel(sale, till.shop))
    assert till.do.usage().held == 1


def test_a_lapsed_place_is_asked_about_and_let_again(till: Till, simulator: Running, clock: Any) -> None:
    """No event of its end arrived: Stripe says expired, so the place is free."""
    simulator.drop_events(1000)
    first = till.open("a").checkout
    clock.advance(minutes=41)
    assert till.open("b").checkout.status is CheckoutStatus.OPEN
    old = till.read(first)
    assert (old.status, old.redemption and old.redemption.release_reason) == (
        CheckoutStatus.EXPIRED,
        ReleaseReason.LAPSED,
    )


def test_a_lapsed_place_that_was_paid_is_not_let_again(till: Till, simulator: Running, clock: Any) -> None:
    """Paid at its last minute, and every event lost: the cap still holds."""
    simulator.drop_events(1000)
    first = till.open("a").checkout
    clock.advance(minutes=30)
    simulator.pay(str(first.session_id))
    clock.advance(minutes=11)
    with pytest.raises(errors.AllocationSpent):
        till.open("b")
    assert till.read(first).status is CheckoutStatus.PAID
    assert till.do.usage().over == 0


def test_if_stripe_cannot_be_asked_the_buyer_is_told_busy(till: Till, simulator: Running, clock: Any) -> None:
    simulator.drop_events(1000)
    till.open("a")
    clock.advance(minutes=41)
    simulator.fail_next(Fault("refuse", path="*/expire", status=500))
    with pytest.raises(errors.Busy):
        till.open("b")
    assert till.open("b").checkout.status is CheckoutStatus.OPEN


def test_a_price_worked_out_from_an_older_code_is_not_charged(till: Till) -> None:
    """The code changes between reading its terms and holding the place: they are read again."""
    procedure = checkout.open_checkout(till.order(), till.shop)
    terms = till.perform(next(procedure))
    made = till.host.run(catalogue.code("NORTH"))
    dearer = replace(catalogue.terms_of(made), discount=PercentOff(Decimal(10)))
    till.host.run(catalogue.change_code(code=made, terms=dearer))
    step = procedure.send(terms)
    with pytest.raises(StopIteration) as end:
        while True:
            step = procedure.send(till.perform(step))
    assert end.value.value.checkout.amount == 1800


def test_the_call_has_its_budget(till: Till, simulator: Running) -> None:
    """Place three of the five: time-out times attempts, and the pauses, fit in what the chain leaves."""
    clocks = Clocks()
    driver = SyncStripe("sk_test_x", clocks, simulator.base_url)
    connect, read = driver._http._timeout
    assert timedelta(seconds=connect + read) == clocks.stripe_timeout
    assert driver.client._requestor._options.max_network_retries == clocks.stripe_attempts - 1
    assert clocks.stripe_floor + clocks.call_budget + clocks.allowed_skew <= clocks.session_ttl
    driver.close()


def test_a_hold_that_lapsed_between_reserve_and_attach_gets_no_page(
    till: Till, connection: psycopg.Connection[Any]
) -> None:
    """Taken back while its page was being made: attach finds it gone."""
    procedure = checkout.open_checkout(till.order(), till.shop)
    step = next(procedure)
    while not isinstance(step, CreateSession):
        step = procedure.send(till.perform(step))
    claim = till.host.run(verbs.redemptions(most=1))[0]
    lapse(connection, claim)
    assert till.open("b").checkout.status is CheckoutStatus.OPEN
    session = till.stripe.carry_out(step)
    step = procedure.send(session)
    with pytest.raises(errors.Busy):
        while True:
            step = procedure.send(till.perform(step))
    assert till.do.recount() == []


def test_at_full_price_paid_twice_is_paid_once(till: Till, simulator: Running) -> None:
    """Asked about again, it says the same to the microsecond, and unlocks once."""
    sale = till.open("a", code=None).checkout
    simulator.pay(str(sale.session_id))
    first = till.run(ending.refresh(sale, till.shop))
    assert first.status is CheckoutStatus.PAID
    assert till.run(ending.refresh(first, till.shop)) == first
    assert len(till.host.run(catalogue.entitlements(buyer="a"))) == 1


def test_at_full_price_what_ended_stays_ended(till: Till, simulator: Running, clock: Clock) -> None:
    """A bank debit that failed: a late 'completed', which still says unpaid, revives nothing. Money would."""
    sale = till.open("a", code=None).checkout
    id = str(sale.session_id)
    simulator.pay_delayed(id, "failed")
    assert till.run(ending.refresh(sale, till.shop)).status is CheckoutStatus.PENDING
    clock.advance(days=5)

    def hear(type: str) -> str:
        event = StripeEvent(id=f"evt_{type}", type=f"checkout.session.{type}", object_id=id, livemode=False)
        outcome: str = till.run(settle_event(event, till.shop)).outcome
        return outcome

    assert hear("async_payment_failed") == "released"
    assert till.read(sale).status is CheckoutStatus.FAILED
    assert hear("completed") == "already_settled"
    assert till.read(sale).status is CheckoutStatus.FAILED
    simulator.call(lambda: simulator.account.engine.sessions[id].update(payment_status="paid"))
    assert hear("async_payment_succeeded") == "completed"
    assert till.read(sale).status is CheckoutStatus.PAID
