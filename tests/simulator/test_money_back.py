"""Refunds, disputes, coupons and promotion codes: as far as Stripe documents them."""

from datetime import timedelta
from typing import Any

import pytest
import stripe
from tests.simulator.conftest import create, soon

from counterfoil.simulator import Running
from counterfoil.simulator.engine import Declined


def types(sim: Running) -> list[str]:
    """What happened, in its order."""
    return [event["type"] for event in reversed(sim.events())]


class TestRefunds:
    def test_in_full(self, sdk: stripe.StripeClient, sim: Running) -> None:
        paid = sim.pay(create(sdk).id)
        made = sdk.v1.refunds.create({"payment_intent": paid["payment_intent"], "reason": "requested_by_customer"})
        assert (made.amount, made.status, made.reason) == (1000, "succeeded", "requested_by_customer")
        charge = sdk.v1.charges.retrieve(str(made.charge))
        assert (charge.amount_refunded, charge.refunded) == (1000, True)
        with pytest.raises(stripe.InvalidRequestError) as refused:
            sdk.v1.refunds.create({"charge": str(made.charge)})
        assert refused.value.code == "charge_already_refunded"
        assert types(sim)[-2:] == ["refund.created", "charge.refunded"]

    def test_in_part(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """`charge.refunded` comes for each; only the last makes the charge refunded."""
        paid = sim.pay(create(sdk).id)
        for amount, refunded in ((400, False), (600, True)):
            made = sdk.v1.refunds.create({"payment_intent": paid["payment_intent"], "amount": amount})
            assert sdk.v1.charges.retrieve(str(made.charge)).refunded is refunded
        assert types(sim).count("charge.refunded") == 2
        listed = sdk.v1.refunds.list({"payment_intent": paid["payment_intent"]}).data
        assert [one.amount for one in listed] == [600, 400]

    @pytest.mark.parametrize("amount", [0, 1001, -5])
    def test_of_what_is_not_there(self, sdk: stripe.StripeClient, sim: Running, amount: int) -> None:
        paid = sim.pay(create(sdk).id)
        with pytest.raises(stripe.InvalidRequestError) as refused:
            sdk.v1.refunds.create({"payment_intent": paid["payment_intent"], "amount": amount})
        assert refused.value.param == "amount"

    def test_of_what_was_not_paid(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = create(sdk)
        with pytest.raises(Declined):
            sim.pay(made.id, "4000000000000002")
        intent = sim.session(made.id)["payment_intent"]
        with pytest.raises(stripe.InvalidRequestError, match="successful charge"):
            sdk.v1.refunds.create({"payment_intent": intent})
        with pytest.raises(stripe.InvalidRequestError, match="No such payment_intent"):
            sdk.v1.refunds.create({"payment_intent": "pi_none"})

    def test_that_fails_later(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """The money is the seller's again, and so is the sale."""
        paid = sim.pay(create(sdk).id, "4000 0000 0000 5126")
        made = sdk.v1.refunds.create({"payment_intent": paid["payment_intent"]})
        assert made.status == "succeeded"
        sim.advance(timedelta(days=6))
        failed = sdk.v1.refunds.retrieve(made.id)
        assert (failed.status, failed.failure_reason) == ("failed", "expired_or_canceled_card")
        charge = sdk.v1.charges.retrieve(str(made.charge))
        assert (charge.amount_refunded, charge.refunded) == (0, False)
        assert "refund.failed" in types(sim)

    def test_that_is_pending_first(self, sdk: stripe.StripeClient, sim: Running) -> None:
        paid = sim.pay(create(sdk).id, "4000000000007726")
        made = sdk.v1.refunds.create({"payment_intent": paid["payment_intent"]})
        assert made.status == "pending"
        sim.advance(timedelta(days=6))
        assert sdk.v1.refunds.retrieve(made.id).status == "succeeded"


class TestDisputes:
    @pytest.mark.parametrize(("evidence", "status"), [("winning_evidence", "won"), ("losing_evidence", "lost")])
    def test_decided_by_the_evidence(self, sdk: stripe.StripeClient, sim: Running, evidence: str, status: str) -> None:
        sim.pay(create(sdk).id, "4000000000000259")
        dispute = sdk.v1.disputes.list().data[0]
        assert (dispute.status, dispute.amount, dispute.reason) == ("needs_response", 1000, "fraudulent")
        charge = sdk.v1.charges.retrieve(str(dispute.charge))
        assert charge.disputed is True
        with pytest.raises(stripe.InvalidRequestError) as refused:
            sdk.v1.refunds.create({"charge": charge.id})
        assert refused.value.code == "charge_disputed"
        decided = sdk.v1.disputes.update(dispute.id, {"evidence": {"uncategorized_text": evidence}})
        assert decided.status == status
        assert types(sim)[-1] == "charge.dispute.closed"
        assert ("charge.dispute.funds_reinstated" in types(sim)) is (status == "won")
        with pytest.raises(stripe.InvalidRequestError, match="already closed"):
            sdk.v1.disputes.close(dispute.id)


class TestCoupons:
    @pytest.mark.parametrize(
        ("coupon", "off"),
        [
            ({"percent_off": 20}, 200), ({"percent_off": 33.33}, 333), ({"percent_off": 100}, 1000),
            ({"amount_off": 300, "currency": "gbp"}, 300), ({"amount_off": 5000, "currency": "gbp"}, 1000),
        ],
    )  # fmt: skip
    def test_taken_off(self, sdk: stripe.StripeClient, sim: Running, coupon: dict[str, Any], off: int) -> None:
        made = sdk.v1.coupons.create(coupon)  # type: ignore[arg-type]
        session = create(sdk, discounts=[{"coupon": made.id}])
        assert (session.amount_subtotal, session.amount_total) == (1000, 1000 - off)
        assert session.total_details
        assert session.total_details.amount_discount == off
        assert session.discounts
        assert session.discounts[0].coupon == made.id
        items = sdk.v1.checkout.sessions.line_items.list(session.id).data
        assert sum(item.amount_discount for item in items) == off
        assert sdk.v1.coupons.retrieve(made.id).times_redeemed == 0
        paid = sim.pay(session.id)
        assert paid["payment_status"] == ("no_payment_required" if off == 1000 else "paid")
        assert sdk.v1.coupons.retrieve(made.id).times_redeemed == 1

    def test_one_at_a_time(self, sdk: stripe.StripeClient) -> None:
        coupon = sdk.v1.coupons.create({"percent_off": 20})
        with pytest.raises(stripe.InvalidRequestError, match="You may only specify one discount"):
            create(sdk, discounts=[{"coupon": coupon.id}] * 2)
        with pytest.raises(
            stripe.InvalidRequestError,
            match="You may only specify one of these parameters: allow_promotion_codes, discounts",
        ):
            create(sdk, discounts=[{"coupon": coupon.id}], allow_promotion_codes=False)

    def test_of_another_currency(self, sdk: stripe.StripeClient) -> None:
        coupon = sdk.v1.coupons.create({"amount_off": 300, "currency": "eur"})
        with pytest.raises(stripe.InvalidRequestError, match="gbp"):
            create(sdk, discounts=[{"coupon": coupon.id}])

    def test_over(self, sdk: stripe.StripeClient, sim: Running) -> None:
        coupon = sdk.v1.coupons.create({"percent_off": 20, "redeem_by": soon(sim, hours=1)})
        sim.advance(timedelta(hours=2))
        assert sdk.v1.coupons.retrieve(coupon.id).valid is False
        with pytest.raises(stripe.InvalidRequestError) as refused:
            create(sdk, discounts=[{"coupon": coupon.id}])
        assert refused.value.code == "coupon_expired"

    @pytest.mark.parametrize("counted_again", [True, False])
    def test_the_last_use_with_two_pages_open(
        self, sdk: stripe.StripeClient, sim: Running, counted_again: bool
    ) -> None:
        """An open session holds nothing. Whether pressing pay counts again is not documented: a switch."""
        coupon = sdk.v1.coupons.create({"percent_off": 20, "max_redemptions": 1})
        first, second = (create(sdk, discounts=[{"coupon": coupon.id}]) for _ in range(2))
        sim.call(lambda: setattr(sim.account.engine, "counted_again", counted_again))
        try:
            sim.pay(first.id)
            if counted_again:
                with pytest.raises(Declined):
                    sim.pay(second.id)
            else:
                sim.pay(second.id)
            assert sdk.v1.coupons.retrieve(coupon.id).times_redeemed == (1 if counted_again else 2)
        finally:
            sim.call(lambda: setattr(sim.account.engine, "counted_again", True))

    @pytest.mark.parametrize(
        "coupon",
        [
            {}, {"percent_off": 0}, {"percent_off": 101}, {"percent_off": "x"}, {"amount_off": 5},
            {"percent_off": 5, "amount_off": 5, "currency": "gbp"}, {"percent_off": 5, "colour": "red"},
        ],
    )  # fmt: skip
    def test_refused(self, sdk: stripe.StripeClient, coupon: dict[str, Any]) -> None:
        with pytest.raises(stripe.InvalidRequestError):
            sdk.v1.coupons.create(coupon)  # type: ignore[arg-type]
        assert sdk.v1.coupons.list().data == []

    def test_deleted(self, sdk: stripe.StripeClient) -> None:
        coupon = sdk.v1.coupons.create({"percent_off": 20, "id": "FIFTH"})
        with pytest.raises(stripe.InvalidRequestError, match="already exists"):
            sdk.v1.coupons.create({"percent_off": 20, "id": "FIFTH"})
        assert sdk.v1.coupons.delete(coupon.id).deleted is True
        with pytest.raises(stripe.InvalidRequestError, match="No such coupon"):
            create(sdk, discounts=[{"coupon": "FIFTH"}])


class TestPromotionCodes:
    def test_a_code_of_a_coupon(self, sdk: stripe.StripeClient, sim: Running) -> None:
        coupon = sdk.v1.coupons.create({"percent_off": 20})
        promotion: Any = {"type": "coupon", "coupon": coupon.id}
        code = sdk.v1.promotion_codes.create({"promotion": promotion, "code": "FIFTH", "max_redemptions": 1})
        session = create(sdk, discounts=[{"promotion_code": code.id}])
        assert session.amount_total == 800
        sim.pay(session.id)
        used = sdk.v1.promotion_codes.retrieve(code.id)
        assert (used.times_redeemed, used.active) == (1, False)
        with pytest.raises(stripe.InvalidRequestError, match="no longer valid"):
            create(sdk, discounts=[{"promotion_code": code.id}])

    def test_one_of_a_text_is_active(self, sdk: stripe.StripeClient) -> None:
        coupon = sdk.v1.coupons.create({"percent_off": 20})
        promotion: Any = {"type": "coupon", "coupon": coupon.id}
        first = sdk.v1.promotion_codes.create({"promotion": promotion, "code": "FIFTH"})
        with pytest.raises(stripe.InvalidRequestError, match="already exists"):
            sdk.v1.promotion_codes.create({"promotion": promotion, "code": "fifth"})
        assert sdk.v1.promotion_codes.update(first.id, {"active": False}).active is False
        sdk.v1.promotion_codes.create({"promotion": promotion, "code": "fifth"})
        assert len(sdk.v1.promotion_codes.list({"code": "FIFTH"}).data) == 2
        assert len(sdk.v1.promotion_codes.list({"active": True}).data) == 1
        with pytest.raises(stripe.InvalidRequestError, match="unknown parameter"):
            sdk.v1.promotion_codes.update(first.id, {"max_redemptions": 5})  # type: ignore[typeddict-unknown-key]


class TestCustomers:
    def test_made_when_asked_for_and_for_what_costs_nothing(self, sdk: stripe.StripeClient, sim: Running) -> None:
        assert sim.pay(create(sdk).id)["customer"] is None
        made = sim.pay(create(sdk, customer_creation="always").id)["customer"]
        assert sdk.v1.customers.retrieve(made).email == "buyer@example.test"
        coupon = sdk.v1.coupons.create({"percent_off": 100})
        assert sim.pay(create(sdk, discounts=[{"coupon": coupon.id}]).id)["customer"].startswith("cus_")

    def test_given(self, sdk: stripe.StripeClient) -> None:
        customer = sdk.v1.customers.create({"email": "ada@school.test"})
        made = create(sdk, customer=customer.id)
        assert made.customer == customer.id
        assert [one.id for one in sdk.v1.checkout.sessions.list({"customer": customer.id}).data] == [made.id]
        with pytest.raises(stripe.InvalidRequestError, match="No such customer"):
            create(sdk, customer="cus_none")
        with pytest.raises(stripe.InvalidRequestError, match="customer, customer_email"):
            create(sdk, customer=customer.id, customer_email="a@b.test")


class TestUpdates:
    def test_metadata(self, sdk: stripe.StripeClient) -> None:
        made = create(sdk)
        changed = sdk.v1.checkout.sessions.update(made.id, {"metadata": {"a": "1", "order": ""}})
        assert changed.metadata
        assert changed.metadata.to_dict() == {"a": "1"}

    @pytest.mark.parametrize("change", [{"expires_at": 1}, {"success_url": "https://x.test"}, {"discounts": []}])
    def test_what_cannot_be_changed(self, sdk: stripe.StripeClient, change: dict[str, Any]) -> None:
        made = create(sdk)
        if change == {"discounts": []}:
            change = {"discounts": [{"coupon": "x"}]}
        with pytest.raises(stripe.InvalidRequestError, match="unknown parameter"):
            sdk.v1.checkout.sessions.update(made.id, change)  # type: ignore[arg-type]
