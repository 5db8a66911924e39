"""Every object has every key that the SDK's class of it has, and no other."""

from datetime import timedelta
from typing import Any

import stripe
from tests.simulator.conftest import complete, create

from counterfoil.simulator import Running


def test_sessions_in_every_state(sdk: stripe.StripeClient, sim: Running) -> None:
    made = create(sdk)
    complete(made)
    sim.pay(made.id)
    complete(sdk.v1.checkout.sessions.retrieve(made.id, {"expand": ["line_items", "total_details.breakdown"]}))
    other = create(sdk)
    complete(sdk.v1.checkout.sessions.expire(other.id))
    for listed in sdk.v1.checkout.sessions.list().data:
        complete(listed)
    item = sdk.v1.checkout.sessions.line_items.list(made.id).data[0]
    complete(item)
    assert item.price
    complete(item.price, "currency_options", "tiers")


def test_payments(sdk: stripe.StripeClient, sim: Running) -> None:
    sim.pay(create(sdk).id)
    intent = sdk.v1.payment_intents.list().data[0]
    complete(intent)
    complete(sdk.v1.payment_intents.retrieve(intent.id))
    charge = sdk.v1.charges.list({"payment_intent": intent.id}).data[0]
    complete(charge, "refunds")
    complete(sdk.v1.charges.retrieve(charge.id, {"expand": ["refunds"]}))


def test_money_that_goes_back(sdk: stripe.StripeClient, sim: Running) -> None:
    paid = sim.pay(create(sdk).id)
    complete(sdk.v1.refunds.create({"payment_intent": paid["payment_intent"], "amount": 100}))
    sim.pay(create(sdk).id, "4000000000000259")
    dispute = sdk.v1.disputes.list().data[0]
    complete(dispute)
    complete(sdk.v1.disputes.close(dispute.id))


def test_discounts_and_customers(sdk: stripe.StripeClient, sim: Running) -> None:
    coupon = sdk.v1.coupons.create({"percent_off": 20, "name": "A fifth"})
    complete(coupon, "applies_to", "currency_options")
    complete(sdk.v1.promotion_codes.create({"promotion": {"type": "coupon", "coupon": coupon.id}, "code": "FIFTH"}))
    made = create(sdk, customer_creation="always")
    customer = sim.pay(made.id)["customer"]
    optional = ("cash_balance", "invoice_credit_balance", "sources", "subscriptions", "tax", "tax_ids")
    complete(sdk.v1.customers.retrieve(customer), *optional)
    expanded: Any = sdk.v1.checkout.sessions.retrieve(made.id, {"expand": ["customer"]})
    complete(expanded.customer, *optional)


def test_events_and_endpoints(sdk: stripe.StripeClient, sim: Running) -> None:
    """And the object in each event, whatever it is about, parses as its class."""
    endpoint = sdk.v1.webhook_endpoints.create({"url": "https://shop.test/", "enabled_events": ["*"]})
    complete(endpoint)
    complete(sdk.v1.webhook_endpoints.retrieve(endpoint.id))
    sdk.v1.webhook_endpoints.delete(endpoint.id)
    paid = sim.pay(create(sdk, customer_creation="always").id, "4000000000005126")
    sdk.v1.refunds.create({"payment_intent": paid["payment_intent"]})
    sim.advance(timedelta(days=6))
    sim.pay(create(sdk).id, "4000000000000259")
    sdk.v1.disputes.close(sdk.v1.disputes.list().data[0].id)
    events = sdk.v1.events.list({"limit": 100}).data
    assert {event.type for event in events} >= {
        "checkout.session.completed", "payment_intent.created", "payment_intent.succeeded", "charge.succeeded",
        "charge.refunded", "refund.created", "refund.updated", "refund.failed", "charge.refund.updated",
        "charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.closed", "customer.created",
    }  # fmt: skip
    optional = ("refunds", "cash_balance", "invoice_credit_balance", "sources", "subscriptions", "tax", "tax_ids")
    for event in events:
        complete(event)
        complete(event.data.object, *optional)
