"""A simulator of these tests' own, whose clock is moved by days, and the real SDK before it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import stripe

from counterfoil.simulator import Running, run_in_thread

MUG: dict[str, Any] = {
    "mode": "payment",
    "success_url": "http://127.0.0.1/thanks?s={CHECKOUT_SESSION_ID}",
    "cancel_url": "http://127.0.0.1/back",
    "line_items": [
        {"quantity": 2, "price_data": {"currency": "gbp", "unit_amount": 500, "product_data": {"name": "Mug"}}}
    ],
    "metadata": {"order": "77"},
    "payment_intent_data": {"metadata": {"order": "77"}},
    "client_reference_id": "ref-77",
}


@pytest.fixture(scope="package")
def alone() -> Iterator[Running]:
    """It runs as long as they do."""
    with run_in_thread() as running:
        yield running


@pytest.fixture
def sim(alone: Running) -> Running:
    """One that has forgotten everything."""
    alone.forget()
    alone.call(lambda: alone.account.keys.stored.clear())
    return alone


@pytest.fixture
def sdk(sim: Running) -> stripe.StripeClient:
    """The SDK as anybody uses it, without retries."""
    return client(sim.base_url)


def client(base_url: str, *, timeout: float = 3, retries: int = 0) -> stripe.StripeClient:
    """The SDK's client of a simulator."""
    return stripe.StripeClient(
        "sk_test_x",
        base_addresses={"api": base_url},
        max_network_retries=retries,
        http_client=stripe.RequestsClient(timeout=timeout),
    )


def create(sdk: stripe.StripeClient, key: str | None = None, **change: Any) -> stripe.checkout.Session:
    """A session; a parameter that is changed to None is left out."""
    given = {name: value for name, value in (MUG | change).items() if value is not None}
    return sdk.v1.checkout.sessions.create(given, {"idempotency_key": key} if key else {})  # type: ignore[arg-type]


def soon(sim: Running, **more: float) -> int:
    """Seconds since the epoch, from the simulator's clock."""
    return int(sim.now().timestamp() + timedelta(**more).total_seconds())


def keys_of(kind: type[stripe.StripeObject]) -> set[str]:
    """Every key of the class of an object, but those that come only when it is expanded, new or gone."""
    named = {name for name in kind.__annotations__ if name[0].islower()}
    return named - {"deleted", "line_items", "secret"}


#: Inner objects that have only what applies: a key for each method enabled, each scheme a dispute is eligible for.
AS_APPLIES = (
    "payment_method_options", "enhanced_evidence", "enhanced_eligibility", "payment_method_details", "fraud_details",
)  # fmt: skip
#: Inner keys that come only on updates, or when they are expanded.
ON_REQUEST = {"previous_attributes", "currency_options", "breakdown"}


def complete(found: stripe.StripeObject, *optional: str) -> None:
    """An object has every key of its class and no other: one that lacks one would raise where Stripe's says null."""
    wrong = list(_wrong(found, type(found).__name__, set(optional)))
    assert not wrong, "; ".join(wrong)


def _wrong(found: stripe.StripeObject, where: str, optional: set[str]) -> Iterator[str]:
    has, known = set(found.to_dict()), keys_of(type(found))
    yield from (f"{where} lacks {name}" for name in sorted(known - has - optional))
    yield from (f"{where} has {name}" for name in sorted(has - known - {"line_items", "secret"}))
    for name, kind in getattr(type(found), "_inner_class_types", {}).items():
        if name in AS_APPLIES:
            continue
        inner = found[name] if name in has else None
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, kind):
                yield from _wrong(one, f"{where}.{name}", ON_REQUEST)
