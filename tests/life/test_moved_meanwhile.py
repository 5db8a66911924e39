"""
Two requests about one place, and each of them in between the other's steps: there is one page to pay at, or none.

The simulation found these; each is told here as it was, with the shortest story.
"""

from __future__ import annotations

import contextlib
from itertools import count
from typing import Any

import psycopg
import pytest
from tests.support.in_process import beside, in_process
from tests.support.places import code, lapse
from tests.support.stepping import ByHand

from counterfoil import catalogue, ending, errors, verbs
from counterfoil.calls import RetrieveSession
from counterfoil.checkout import Opened, open_checkout
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Checkout, Order, RedemptionStatus, Session, Shop, StripeEvent
from counterfoil.procedure import Procedure
from counterfoil.settlement import settle_event, settle_session
from counterfoil.simulator import money_back
from counterfoil.simulator.account import Account
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.faults import Fault


class Counter:
    """A shop with one place, and requests that are carried out by hand."""

    def __init__(self, host: Psycopg, connection: psycopg.Connection[Any], shop: Shop) -> None:
        self.host, self.shop = host, shop
        self.engine = beside(connection)
        self.account = Account(self.engine)
        self.stripe = in_process(self.account, shop.clocks)
        for id in ("hub", "day"):
            host.run(catalogue.add_product(id=id, name=id, amount=2000, currency="gbp", unlocks=[id]))
        code(host)

    def by_hand(self, procedure: Procedure[Any]) -> ByHand:
        return ByHand(procedure, self.host, self.stripe)

    def opening(self, product: str = "hub", buyer: str = "a") -> ByHand:
        """A request for a page. Its clock runs on two seconds whenever it is looked at: it waits for no other long."""
        steady = count(step=2).__next__
        urls = {"success_url": "http://127.0.0.1/ok", "cancel_url": "http://127.0.0.1/no"}
        return self.by_hand(
            open_checkout(Order(buyer=buyer, product=product, code="NORTH", **urls), self.shop, steady=steady)
        )

    def opened(self, product: str = "hub", buyer: str = "a") -> Checkout:
        """A request for a page, and the checkout that it gives."""
        done: Opened = self.opening(product, buyer).finish()
        return done.checkout

    def payable(self) -> list[str]:
        """The sessions that can be paid."""
        return [id for id, session in self.engine.sessions.items() if session["status"] == "open"]

    def claim(self, sale: Checkout) -> Any:
        """Its redemption as it is now."""
        found = self.host.run(verbs.checkout(id=sale.id))
        assert found
        return found.redemption

    def session(self, sale: Checkout) -> Session:
        """What Stripe says of it now."""
        session: Session = self.stripe.carry_out(RetrieveSession(str(sale.session_id)))
        return session

    def settle(self, session: Session) -> None:
        """Settle what was read, be it old."""
        self.by_hand(settle_session(session, self.shop)).finish()

    def failed(self, session_id: str) -> None:
        """Stripe tells that a delayed payment failed."""
        event = StripeEvent("evt_failed", "checkout.session.async_payment_failed", session_id, livemode=False)
        self.by_hand(settle_event(event, self.shop)).finish()


@pytest.fixture
def counter(host: Psycopg, connection: psycopg.Connection[Any], shop: Shop) -> Counter:
    return Counter(host, connection, shop)


def detached(counter: Counter) -> Checkout:
    """A page that a request for another product has detached, and never came to end: its process died."""
    sale = counter.opened()
    moving = counter.opening("day")
    moving.stop_before("ExpireSession")
    return sale


def test_a_place_does_not_move_from_under_a_page(counter: Counter) -> None:
    first = counter.opening("hub")
    first.stop_before("CreateSession")
    second = counter.opening("day")
    second.stop_before("database: checkout")
    second.one()
    first.finish()
    moved = second.finish()
    assert counter.payable() == [moved.checkout.session_id]


def test_a_place_moves_once_the_page_of_a_dead_request_has_ended(counter: Counter) -> None:
    detached(counter)
    moved = counter.opened("day")
    assert counter.payable() == [moved.session_id]


def test_no_checkout_is_given_as_open_without_a_page(counter: Counter) -> None:
    first = counter.opening("hub")
    first.stop_before("attach")
    first.one()
    moving = counter.opening("day")
    moving.stop_before("ExpireSession")
    with pytest.raises(errors.Busy):
        first.finish()
    moved = moving.finish()
    assert counter.payable() == [moved.checkout.session_id]


def test_cancelling_ends_a_page_that_was_detached(counter: Counter) -> None:
    sale = detached(counter)
    counter.by_hand(ending.cancel(sale, counter.shop)).finish()
    assert counter.claim(sale).status is RedemptionStatus.RELEASED
    assert counter.payable() == []


def test_cancelling_ends_a_page_that_was_attached_meanwhile(counter: Counter) -> None:
    first = counter.opening()
    first.stop_before("attach")
    (sale,) = counter.host.run(verbs.checkouts())
    cancelling = counter.by_hand(ending.cancel(sale, counter.shop))
    cancelling.stop_before("release")
    first.finish()
    cancelling.finish()
    assert counter.claim(sale).status is RedemptionStatus.RELEASED
    assert counter.payable() == []


def test_a_detached_page_that_is_being_paid_is_the_page_again(counter: Counter) -> None:
    sale = counter.opened()
    assert sale.session_id
    counter.engine.pay_delayed(sale.session_id, "failed")
    with pytest.raises(errors.BuyerLimitReached):
        counter.opened("day")
    assert counter.claim(sale).status is RedemptionStatus.PENDING
    assert counter.claim(sale).session_id == sale.session_id
    counter.engine.end_delayed(sale.session_id, "failed")
    counter.failed(sale.session_id)
    assert counter.claim(sale).status is RedemptionStatus.RELEASED
    assert counter.opened("day").session_id


def test_a_detached_page_whose_payment_failed_keeps_no_place(
    counter: Counter, connection: psycopg.Connection[Any]
) -> None:
    sale = detached(counter)
    assert sale.session_id
    counter.engine.pay_delayed(sale.session_id, "failed")
    counter.engine.end_delayed(sale.session_id, "failed")
    counter.failed(sale.session_id)
    lapse(connection, counter.claim(sale))
    other = counter.opened("day", buyer="b")
    assert counter.payable() == [other.session_id]
    assert counter.claim(sale).release_reason == "payment_failed"


def test_a_buyer_goes_on_after_a_detached_page_whose_payment_failed(counter: Counter) -> None:
    sale = detached(counter)
    assert sale.session_id
    counter.engine.pay_delayed(sale.session_id, "failed")
    counter.engine.end_delayed(sale.session_id, "failed")
    again = counter.opened()
    assert again.id == sale.id
    assert counter.payable() == [again.session_id]


def test_a_request_that_renewed_and_was_slow_makes_no_second_page(
    counter: Counter, connection: psycopg.Connection[Any]
) -> None:
    sale = counter.opened()
    hurry(connection, sale)
    slow = counter.opening()
    slow.stop_before("renew")
    slow.one()
    quick = counter.opened()
    hurry(connection, quick)
    with contextlib.suppress(errors.Busy):
        slow.finish()
    assert len(counter.payable()) == 1


def test_a_hold_is_not_renewed_over_a_page_that_was_made_meanwhile(counter: Counter) -> None:
    first = counter.opening()
    first.stop_before("attach")
    (sale,) = counter.host.run(verbs.checkouts())
    renewing = verbs.renew(claim=counter.claim(sale), most=5, shop=counter.shop)
    first.finish()
    assert counter.host.run(renewing) == "moved_on"
    assert len(counter.payable()) == 1


def test_a_request_that_fails_keeps_its_hands_off_the_page_of_another(counter: Counter) -> None:
    """Both are of one attempt, and so of one session; the second loses both Stripe and the database."""
    second = counter.opening()
    second.stop_before("CreateSession")
    second.stop_before("attach")
    first = counter.opening()
    while not counter.host.run(verbs.checkouts())[0].session_id:
        first.one()
    sale = first.finish().checkout
    counter.account.faults.add(Fault("lost_before", times=0))
    with pytest.raises(psycopg.OperationalError):
        second.fail(psycopg.OperationalError("the connection was lost"))
    assert counter.payable() == [sale.session_id]
    assert counter.claim(sale).status is RedemptionStatus.RESERVED


def test_a_worn_out_hold_without_a_session_locks_nobody_out(
    counter: Counter, connection: psycopg.Connection[Any]
) -> None:
    counter.opening().stop_before("CreateSession")
    (sale,) = counter.host.run(verbs.checkouts())
    connection.execute("UPDATE counterfoil.redemption SET attempt = 6")
    lapse(connection, counter.claim(sale))
    again = counter.opened()
    assert counter.payable() == [again.session_id]


def hurry(connection: psycopg.Connection[Any], sale: Checkout) -> None:
    """Let there be two minutes left to pay."""
    connection.execute(
        "UPDATE counterfoil.redemption SET session_expires_at = counterfoil.clock() + interval '2 minutes', "
        "expires_at = counterfoil.clock() + interval '11 minutes' WHERE id = %s",
        (sale.redemption.id if sale.redemption else None,),
    )


def test_an_older_reading_of_a_payment_changes_no_refund(counter: Counter) -> None:
    """Read before the refund, or before it failed, and settled after that was heard: it is read again."""
    sale = counter.opened()
    assert sale.session_id
    counter.engine.pay(sale.session_id)
    (charge,) = counter.engine.charges.values()
    paid = counter.session(sale)
    refund = money_back.refund(counter.engine, charge, charge["amount"], None, {}, Cause())
    gone = counter.session(sale)
    counter.settle(gone)
    assert counter.claim(sale).refunded_at
    counter.settle(paid)
    assert counter.claim(sale).refunded_at

    money_back.refund_fails(counter.engine, refund)
    counter.settle(counter.session(sale))
    assert counter.claim(sale).refunded_at is None
    counter.settle(gone)
    assert counter.claim(sale).refunded_at is None
