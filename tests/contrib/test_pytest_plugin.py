"""The plugin that comes with the package: what a shop's own tests have of it."""

import stripe

from counterfoil.simulator import Running

MUG = {"currency": "gbp", "unit_amount": 500, "product_data": {"name": "Mug"}}


def buy(simulator: Running) -> stripe.checkout.Session:
    """A session, as a shop makes it."""
    client = stripe.StripeClient(
        "sk_test_shop", base_addresses={"api": simulator.base_url}, http_client=stripe.RequestsClient(timeout=5)
    )
    return client.v1.checkout.sessions.create(
        {
            "mode": "payment",
            "success_url": "http://127.0.0.1/thanks",
            "line_items": [{"quantity": 1, "price_data": MUG}],  # type: ignore[typeddict-item]
        },
        {"idempotency_key": "one"},
    )


def test_a_sale(stripe_simulator: Running) -> None:
    session = buy(stripe_simulator)
    assert stripe_simulator.pay(session.id)["payment_status"] == "paid"


def test_each_test_begins_with_nothing(stripe_simulator: Running) -> None:
    """No sessions, no events, and the same idempotency key is a fresh one."""
    assert stripe_simulator.sessions() == []
    assert stripe_simulator.events() == []
    assert buy(stripe_simulator).status == "open"
