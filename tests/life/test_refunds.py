"""Money that went back, through the procedure that every event and every question to Stripe ends in."""

from typing import Any

import psycopg
import pytest
from tests.life.test_opening import Till, till
from tests.support.places import code

from counterfoil import catalogue, ending, errors, outgoing, verbs
from counterfoil.calls import RetrieveSession
from counterfoil.model import Checkout, CheckoutStatus, RedemptionStatus
from counterfoil.settlement import settle_session
from counterfoil.simulator import Running
from counterfoil.simulator import money_back as at_stripe
from counterfoil.simulator.engine import Cause

__all__ = ["till"]

FAILS_LATER, DISPUTED = "4000000000005126", "4000000000000259"


class Seller:
    """What a seller does in Stripe's dashboard."""

    def __init__(self, till: Till, simulator: Running) -> None:
        self.till, self.simulator = till, simulator

    def sold(self, policy: str, card: str = "4242424242424242", cap: int = 1) -> Checkout:
        """A paid checkout at a code of this policy."""
        school = self.till.host.run(catalogue.institution("northfold"))
        code(self.till.host, "SOLD", cap=cap, of=school, refund_policy=policy)
        sale = self.till.open("a", "SOLD").checkout
        self.simulator.pay(str(sale.session_id), card)
        return self.heard(sale)

    def refund(self, sale: Checkout, amount: int | None = None) -> Any:
        """Give money back: all that is left, or an amount."""
        engine = self.simulator.account.engine
        charge = next(one for one in engine.charges.values() if one["payment_intent"] == sale.payment_intent)
        left = charge["amount"] - charge["amount_refunded"]
        return self.simulator.call(
            lambda: at_stripe.refund(engine, charge, amount or left, "requested_by_customer", {}, Cause())
        )

    def fail(self, refund: Any) -> None:
        """The refund did not arrive after all."""
        self.simulator.call(lambda: at_stripe.refund_fails(self.simulator.account.engine, refund))

    def decide(self, status: str) -> None:
        """The bank decides the only dispute."""
        engine = self.simulator.account.engine
        dispute = next(iter(engine.disputes.values()))
        self.simulator.call(lambda: at_stripe.close_dispute(engine, dispute, status, Cause()))

    def heard(self, sale: Checkout) -> Checkout:
        """The checkout once what Stripe says of it is settled; settled twice, which changes nothing."""
        once = self.till.run(ending.refresh(self.till.read(sale), self.till.shop))
        again: Checkout = self.till.run(ending.refresh(once, self.till.shop))
        assert (again.status, again.redemption and again.redemption.status) == (
            once.status, once.redemption and once.redemption.status,
        )  # fmt: skip
        assert self.till.host.run(verbs.recount()) == []
        return again


@pytest.fixture
def seller(till: Till, simulator: Running) -> Seller:
    return Seller(till, simulator)


def states(sale: Checkout) -> tuple[CheckoutStatus, RedemptionStatus]:
    assert sale.redemption
    return sale.status, sale.redemption.status


@pytest.mark.parametrize(
    ("policy", "place"), [("keep", "completed"), ("return", "refunded"), ("return_unless_disputed", "refunded")]
)
def test_a_full_refund_and_the_policy(seller: Seller, policy: str, place: str) -> None:
    sale = seller.sold(policy)
    seller.refund(sale)
    assert states(seller.heard(sale)) == ("refunded", place)
    assert seller.till.do.usage("SOLD").remaining == (0 if place == "completed" else 1)


def test_a_part_changes_no_place_and_the_last_part_does(seller: Seller) -> None:
    sale = seller.sold("return")
    seller.refund(sale, 400)
    assert states(seller.heard(sale)) == ("paid", "completed")
    seller.refund(sale)
    assert states(seller.heard(sale)) == ("refunded", "refunded")


@pytest.mark.parametrize("policy", ["keep", "return"])
def test_a_refund_that_fails_makes_the_sale_stand_again(
    seller: Seller, policy: str, connection: psycopg.Connection[Any]
) -> None:
    sale = seller.sold(policy)
    refund = seller.refund(sale)
    seller.heard(sale)
    revoked = connection.execute("SELECT revoked_at IS NOT NULL FROM counterfoil.entitlement").fetchall()
    assert revoked == [(True,)]
    seller.fail(refund)
    after = seller.heard(sale)
    assert states(after) == ("paid", "completed")
    assert after.redemption
    assert (after.redemption.refunded_at, after.redemption.over_cap) == (None, False)
    assert connection.execute("SELECT revoked_at FROM counterfoil.entitlement").fetchall() == [(None,)]


def test_a_place_that_somebody_has_by_then_is_honoured_over_the_cap(seller: Seller) -> None:
    sale = seller.sold("return")
    refund = seller.refund(sale)
    seller.heard(sale)
    second = seller.till.open("b", "SOLD").checkout
    seller.simulator.pay(str(second.session_id))
    seller.heard(second)
    seller.fail(refund)
    after = seller.heard(sale)
    assert after.redemption
    assert (states(after), after.redemption.over_cap) == (("paid", "completed"), True)
    assert seller.till.do.usage("SOLD").over == 1
    # And once more back: what was over the cap shrinks with it, and nobody gets in for it.
    seller.refund(sale)
    seller.heard(sale)
    assert seller.till.do.usage("SOLD").over == 0
    with pytest.raises(errors.AllocationSpent):
        seller.till.open("c", "SOLD")


@pytest.mark.parametrize(
    ("policy", "place"), [("keep", "completed"), ("return", "refunded"), ("return_unless_disputed", "completed")]
)
@pytest.mark.parametrize("how", ["refunded to head it off", "lost"])
def test_a_disputed_payment_that_went_back(seller: Seller, policy: str, place: str, how: str) -> None:
    sale = seller.sold(policy, DISPUTED)
    assert states(sale) == ("paid", "completed")
    if how == "lost":
        seller.decide("lost")
    else:
        seller.refund(sale)
    assert states(seller.heard(sale)) == ("refunded", place)


def test_a_dispute_that_was_won_changes_nothing(seller: Seller) -> None:
    sale = seller.sold("return", DISPUTED)
    seller.decide("won")
    assert states(seller.heard(sale)) == ("paid", "completed")


def test_a_policy_that_is_changed_later_moves_no_old_place(seller: Seller, connection: psycopg.Connection[Any]) -> None:
    sale = seller.sold("keep")
    seller.refund(sale)
    seller.heard(sale)
    connection.execute("UPDATE counterfoil.code SET refund_policy = 'return'")
    assert states(seller.heard(sale)) == ("refunded", "completed")


def test_a_second_payment_that_is_refunded_takes_nothing_away(
    seller: Seller, connection: psycopg.Connection[Any]
) -> None:
    """Two pages of one row were paid, which nobody wants: the one that counts is the one that completed it."""
    till, simulator = seller.till, seller.simulator
    sale = seller.sold("return", cap=2)
    given = _copy(simulator, sale)
    stray = simulator.call(lambda: dict(simulator.account.engine.create_session(given)))
    connection.execute(
        "UPDATE counterfoil.redemption SET former_sessions = ARRAY[%s] WHERE id = %s",
        (stray["id"], sale.redemption and sale.redemption.id),
    )
    simulator.pay(stray["id"])
    other = simulator.session(stray["id"])
    charge = next(
        one for one in simulator.account.engine.charges.values() if one["payment_intent"] == other["payment_intent"]
    )
    simulator.call(
        lambda: at_stripe.refund(simulator.account.engine, charge, charge["amount"], "duplicate", {}, Cause())
    )
    till.run(settle_session(till.stripe.carry_out(RetrieveSession(stray["id"])), till.shop))
    assert states(till.read(sale)) == ("paid", "completed")
    assert states(seller.heard(sale)) == ("paid", "completed")


def _copy(simulator: Running, sale: Checkout) -> dict[str, Any]:
    """The parameters of another session with the same metadata."""
    return {
        "mode": "payment",
        "line_items": [
            {"quantity": "1", "price_data": {
                "currency": "gbp", "unit_amount": "1000", "product_data": {"name": "hub"}}}
        ],
        "success_url": "http://127.0.0.1/ok",
        "metadata": simulator.session(str(sale.session_id))["metadata"],
    }  # fmt: skip


def test_two_that_hear_of_it_at_once_give_one_place_back(seller: Seller) -> None:
    """Both read the row before either wrote: the second finds it done."""
    till = seller.till
    sale = seller.sold("return", cap=2)
    seller.simulator.pay(str(till.open("b", "SOLD").checkout.session_id))
    seen = verbs.Settled("already_settled", sale.redemption, sale)
    went_back = verbs.settle_refund(
        settled=seen, session_id=str(sale.session_id), money_back=True, disputed=False, shop=till.shop
    )
    assert till.host.run(went_back).outcome == "refunded"
    assert till.host.run(went_back).outcome == "already_settled"
    assert till.do.recount() == []


def test_who_looked_before_the_refund_does_not_undo_it(seller: Seller) -> None:
    """A process read the session, stood still, and goes on after the refund was settled: it looks again first."""
    till = seller.till
    sale = seller.sold("return")
    late = settle_session(till.stripe.carry_out(RetrieveSession(str(sale.session_id))), till.shop)
    step = next(late)
    seller.refund(sale)
    assert states(seller.heard(sale)) == ("refunded", "refunded")
    before = [event.type for event in till.host.run(outgoing.events())]
    finish(till, late, step)
    assert states(till.read(sale)) == ("refunded", "refunded")
    assert [event.type for event in till.host.run(outgoing.events())] == before, "it never stood otherwise"


def test_who_looked_before_the_refund_failed_does_not_keep_it(seller: Seller) -> None:
    till = seller.till
    sale = seller.sold("return")
    refund = seller.refund(sale)
    late = settle_session(till.stripe.carry_out(RetrieveSession(str(sale.session_id))), till.shop)
    step = next(late)
    seller.fail(refund)
    seller.heard(sale)
    finish(till, late, step)
    assert states(till.read(sale)) == ("paid", "completed")
    assert till.do.recount() == []


def finish(till: Till, procedure: Any, step: Any) -> None:
    """Go on with a procedure to its end."""
    try:
        while True:
            step = procedure.send(till.perform(step))
    except StopIteration:
        return


def test_a_session_that_is_gone_when_it_is_looked_at_again(seller: Seller) -> None:
    """Of a test account whose data was deleted: what was read before is what counts."""
    till = seller.till
    sale = seller.sold("return")
    seller.refund(sale)
    read = till.stripe.carry_out(RetrieveSession(str(sale.session_id)))
    seller.simulator.call(seller.simulator.account.engine.sessions.clear)
    assert till.run(settle_session(read, till.shop)).outcome == "refunded"
    assert states(till.read(sale)) == ("refunded", "refunded")
