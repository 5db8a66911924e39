"""Cancel, release by hand, another product, another code: each ends with exactly one payable session, or none."""

from typing import Any

import psycopg
import pytest
from tests.life.test_opening import Till, till
from tests.support.places import code, lapse

from counterfoil import catalogue, checkout, ending, errors, verbs
from counterfoil.calls import Pause
from counterfoil.model import Checkout, CheckoutStatus, ReleaseReason
from counterfoil.settlement import settle_event
from counterfoil.simulator import Fault, Running
from counterfoil.statement import Statement
from counterfoil.stripe.events import read_document

__all__ = ["till"]


def payable(simulator: Running) -> list[str]:
    """The sessions that somebody could pay now."""
    return [session["id"] for session in simulator.sessions() if session["status"] == "open"]


@pytest.fixture
def two_codes(till: Till) -> Till:
    """SOUTH beside NORTH, of the same school, with an allocation of its own."""
    northfold = till.host.run(catalogue.institution("northfold"))
    code(till.host, "SOUTH", cap=1, of=northfold)
    return till


@pytest.fixture
def paid_unheard(simulator: Running) -> Any:
    """Pay, and let nobody hear of it."""

    def pay(session_id: str | None, *, delayed: bool = False) -> None:
        simulator.drop_events(1000)
        assert session_id
        simulator.pay_delayed(session_id) if delayed else simulator.pay(session_id)

    return pay


class TestAnotherCode:
    def test_the_older_page_ends_and_its_place_is_free(self, two_codes: Till, simulator: Running) -> None:
        older = two_codes.open("a", "NORTH").checkout
        newer = two_codes.open("a", "SOUTH").checkout
        assert payable(simulator) == [newer.session_id]
        ended = two_codes.read(older)
        assert (ended.status, ended.redemption and ended.redemption.release_reason) == (
            CheckoutStatus.CANCELLED, ReleaseReason.SUPERSEDED,
        )  # fmt: skip
        assert (two_codes.do.usage("NORTH").held, two_codes.do.usage("SOUTH").held) == (0, 1)

    def test_a_full_new_code_leaves_the_older_page_as_it_was(self, two_codes: Till, simulator: Running) -> None:
        two_codes.open("b", "SOUTH")
        older = two_codes.open("a", "NORTH").checkout
        with pytest.raises(errors.AllocationHeld):
            two_codes.open("a", "SOUTH")
        assert older.session_id in payable(simulator)
        assert two_codes.open("a", "NORTH").checkout.session_url == older.session_url

    @pytest.mark.parametrize("delayed", [False, True], ids=["paid", "paying"])
    def test_if_the_older_proves_paid_it_is_the_answer(
        self, two_codes: Till, simulator: Running, paid_unheard: Any, delayed: bool
    ) -> None:
        older = two_codes.open("a", "NORTH").checkout
        paid_unheard(older.session_id, delayed=delayed)
        with pytest.raises(errors.BuyerLimitReached) as refused:
            two_codes.open("a", "SOUTH")
        assert refused.value.fields["checkout"] == str(older.id)
        assert payable(simulator) == []
        assert two_codes.do.usage("SOUTH").held == 0
        assert two_codes.read(older).status is (CheckoutStatus.PENDING if delayed else CheckoutStatus.PAID)

    def test_if_the_older_cannot_be_ended_no_second_page_is_made(self, two_codes: Till, simulator: Running) -> None:
        older = two_codes.open("a", "NORTH").checkout
        simulator.fail_next(Fault("refuse", path="*/expire", status=500))
        with pytest.raises(errors.StripeUnavailable):
            two_codes.open("a", "SOUTH")
        assert payable(simulator) == [older.session_id]
        assert (two_codes.do.usage("NORTH").held, two_codes.do.usage("SOUTH").held) == (1, 0)

    def test_another_product_at_another_code_is_another_purchase(self, two_codes: Till, simulator: Running) -> None:
        two_codes.open("a", "NORTH", "hub")
        two_codes.open("a", "SOUTH", "day")
        assert len(payable(simulator)) == 2

    def test_typing_somebody_s_address_ends_nothing_of_theirs(
        self, two_codes: Till, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        """On pages a checkout belongs to the browser that began it."""
        older = two_codes.open("a", "NORTH").checkout
        connection.execute("UPDATE counterfoil.checkout SET browser = 'theirs' WHERE id = %s", (older.id,))
        two_codes.open("a", "SOUTH")
        assert older.session_id in payable(simulator)


class TestAtFullPrice:
    """Who presses buy first and remembers the code then, on the pages of one browser."""

    @pytest.mark.parametrize(("first", "then"), [(None, "NORTH"), ("NORTH", None)])
    def test_one_browser_has_one_page(
        self, till: Till, simulator: Running, first: str | None, then: str | None
    ) -> None:
        for wanted in (first, then):
            order = till.order("a", wanted)
            last = till.run(checkout.open_checkout(type(order)(**vars(order) | {"browser": "b"}), till.shop)).checkout
        assert payable(simulator) == [last.session_id]
        assert till.do.usage().held == (1 if then else 0)

    def test_a_caller_with_a_key_may_have_several(self, till: Till, simulator: Running) -> None:
        for wanted in (None, None, "NORTH"):
            till.open("a", wanted)
        assert len(payable(simulator)) == 3


class TestByHand:
    @pytest.mark.parametrize("how", ["cancel", "release"])
    def test_none_is_left(self, till: Till, simulator: Running, how: str) -> None:
        sale = till.open("a").checkout
        assert sale.redemption
        if how == "cancel":
            till.run(ending.cancel(sale, till.shop))
        else:
            till.run(ending.release(sale.redemption, till.shop, ReleaseReason.BY_HAND))
        assert payable(simulator) == []
        assert till.do.usage().held == 0

    def test_a_release_that_came_too_late_is_the_payment(
        self, till: Till, simulator: Running, paid_unheard: Any
    ) -> None:
        sale = till.open("a").checkout
        assert sale.redemption
        paid_unheard(sale.session_id)
        till.run(ending.release(sale.redemption, till.shop, ReleaseReason.BY_HAND))
        assert till.read(sale).status is CheckoutStatus.PAID
        assert till.do.usage().completed == 1


class TestEventsOfOldSessions:
    def test_its_expiry_releases_nothing(self, till: Till, simulator: Running) -> None:
        """The place moved to another product: the event of the old session's end says nothing of the new one."""
        simulator.add_endpoint("http://127.0.0.1:9/nobody")
        simulator.hold_events()
        till.open("a", product="hub")
        moved = till.open("a", product="day").checkout
        assert len(payable(simulator)) == 1
        outcomes = [
            till.run(settle_event(read_document(event), till.shop)).outcome
            for event in simulator.events()
            if event["type"] == "checkout.session.expired"
        ]
        assert len(outcomes) == 1
        now = till.read(moved)
        assert (now.status, now.session_id) == (CheckoutStatus.OPEN, moved.session_id)
        assert till.do.usage().held == 1
        assert till.host.run(verbs.recount()) == []


def test_what_may_be_paid_is_not_given_back(till: Till, simulator: Running, paid_unheard: Any) -> None:
    """A page was let go of, had been paid, and Stripe cannot be asked: who fails then leaves the place as it is."""
    sale = till.open("a").checkout
    paid_unheard(sale.session_id)
    assert till.do.renew(till.read(sale).redemption) == "renewed"
    procedure = checkout.open_checkout(till.order("a"), till.shop)
    step = next(procedure)
    while not (isinstance(step, Statement) and "other open checkouts" in step.sql.text):
        step = procedure.send(None if isinstance(step, Pause) else till.perform(step))
    simulator.fail_next(Fault("refuse", path="*/expire", status=500))
    step = procedure.throw(psycopg.OperationalError("the connection broke"))
    with pytest.raises(psycopg.OperationalError):
        while True:
            try:
                answer = till.perform(step)
            except errors.StripeUnavailable as failure:
                step = procedure.throw(failure)
            else:
                step = procedure.send(answer)
    claim = till.read(sale).redemption
    assert claim
    assert claim.status == "reserved"
    assert till.run(ending.refresh(till.read(sale), till.shop)).status is CheckoutStatus.PAID


class TestAPageThatStripeWouldNotEnd:
    """Refused, and open still: it may be paid, so nothing is given back, moved or let to somebody else."""

    @pytest.fixture
    def stubborn(self, till: Till, simulator: Running) -> Checkout:
        sale = till.open("a").checkout
        simulator.fail_next(Fault("refuse", path="*/expire", status=400, times=0))
        return sale

    def test_it_is_not_cancelled(self, till: Till, simulator: Running, stubborn: Checkout) -> None:
        with pytest.raises(errors.StripeUnavailable) as refused:
            till.run(ending.cancel(stubborn, till.shop))
        assert "open still" in refused.value.said
        assert payable(simulator) == [stubborn.session_id]
        assert till.do.usage().held == 1

    def test_its_place_does_not_move(self, till: Till, simulator: Running, stubborn: Checkout) -> None:
        with pytest.raises(errors.StripeUnavailable):
            till.open("a", product="day")
        assert payable(simulator) == [stubborn.session_id]

    def test_its_place_is_let_to_nobody(
        self, till: Till, simulator: Running, stubborn: Checkout, connection: psycopg.Connection[Any]
    ) -> None:
        assert stubborn.redemption
        lapse(connection, stubborn.redemption)
        with pytest.raises(errors.Busy):
            till.open("b")
        assert payable(simulator) == [stubborn.session_id]
