"""
What Stripe and the simulator have in common, asked by the real SDK alone, sync and async.

The same tests can be pointed at a sandbox of Stripe's own: COUNTERFOIL_CONFORMANCE_KEY is its ``sk_test_…``,
COUNTERFOIL_CONFORMANCE_BASE its address (https://api.stripe.com). What a sandbox cannot be made to do, such as moving
its clock or pressing pay, is skipped there, and says so.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import stripe

from counterfoil.simulator import Running

KEY, BASE = os.environ.get("COUNTERFOIL_CONFORMANCE_KEY"), os.environ.get("COUNTERFOIL_CONFORMANCE_BASE")

MUG: dict[str, Any] = {
    "mode": "payment",
    "success_url": "https://shop.example/thanks?s={CHECKOUT_SESSION_ID}",
    "cancel_url": "https://shop.example/back",
    "line_items": [
        {"quantity": 1, "price_data": {"currency": "gbp", "unit_amount": 1000, "product_data": {"name": "Mug"}}}
    ],
}


class Api:
    """The SDK's client, sync or async: called the same way."""

    def __init__(self, base: str, key: str, kind: str) -> None:
        self._runner = asyncio.Runner() if kind == "async" else None
        http: Any = stripe.HTTPXClient(timeout=20) if self._runner else stripe.RequestsClient(timeout=20)
        self._http = http
        self.v1 = stripe.StripeClient(
            key, base_addresses={"api": base.rstrip("/")}, http_client=http, max_network_retries=0
        ).v1

    def __call__(self, service: Any, call: str, *arguments: Any) -> Any:
        """Call one method of a service."""
        if self._runner:
            return self._runner.run(getattr(service, f"{call}_async")(*arguments))
        return getattr(service, call)(*arguments)

    def create(self, key: str | None = None, **change: Any) -> Any:
        """A session; a parameter that is changed to None is left out."""
        given = {name: value for name, value in (MUG | change).items() if value is not None}
        return self(self.v1.checkout.sessions, "create", given, {"idempotency_key": key} if key else {})

    def refused(self, **change: Any) -> stripe.StripeError:
        """How a session is refused."""
        with pytest.raises(stripe.StripeError) as refused:
            self.create(**change)
        return refused.value

    def all(self, parameters: dict[str, Any], most: int) -> list[str]:
        """The ids of a list, through all its pages."""
        listed = self(self.v1.checkout.sessions, "list", parameters)
        if not self._runner:
            return [one.id for one, _ in zip(listed.auto_paging_iter(), range(most), strict=False)]

        async def walk() -> list[str]:
            found = []
            async for one in listed.auto_paging_iter():
                found.append(one.id)
                if len(found) == most:
                    break
            return found

        return self._runner.run(walk())

    def close(self) -> None:
        """Close what is open."""
        if self._runner:
            self._runner.run(self._http.close_async())
            self._runner.close()


@pytest.fixture(params=["sync", "async"])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """Stripe's sandbox if one is named, else the simulator."""
    if KEY and BASE:
        found = Api(BASE, KEY, request.param)
    else:
        sim: Running = request.getfixturevalue("sim")
        found = Api(sim.base_url, "sk_test_x", request.param)
    yield found
    found.close()


@pytest.fixture
def pay(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Press pay."""
    if KEY and BASE:
        pytest.skip("nobody presses pay at a sandbox")
    sim: Running = request.getfixturevalue("sim")
    return sim.pay


class TestCreating:
    def test_a_session(self, api: Api) -> None:
        made = api.create(client_reference_id="ref", metadata={"a": "1"})
        assert (made.object, made.status, made.payment_status) == ("checkout.session", "open", "unpaid")
        assert (made.amount_subtotal, made.amount_total, made.currency) == (1000, 1000, "gbp")
        assert (made.client_reference_id, made.metadata.to_dict()) == ("ref", {"a": "1"})
        assert made.payment_intent is None
        assert made.expires_at - made.created == 24 * 60 * 60
        assert made.url
        assert made.livemode is False
        assert made.last_response.request_id.startswith("req_")

    def test_the_floor_and_the_ceiling(self, api: Api) -> None:
        created = api.create().created
        early = api.refused(expires_at=created + 29 * 60)
        assert (early.http_status, getattr(early, "param", None)) == (400, "expires_at")
        assert "at least 30 minutes" in str(early.user_message)
        late = api.refused(expires_at=created + 24 * 60 * 60 + 60)
        assert "less than 24 hours" in str(late.user_message)
        assert api.create(expires_at=created + 32 * 60).expires_at == created + 32 * 60

    @pytest.mark.parametrize(
        ("change", "param"),
        [
            ({"line_items": None}, "line_items"),
            ({"colour": "red"}, "colour"),
            ({"payment_method_types": ["card"]}, "payment_method_types"),
            ({"ui_mode": "hosted"}, "ui_mode"),
            ({"customer": "cus_none"}, "customer"),
        ],
    )
    def test_what_is_refused(self, api: Api, change: dict[str, Any], param: str) -> None:
        error = api.refused(**change)
        assert isinstance(error, stripe.InvalidRequestError)
        assert error.param == param

    @pytest.mark.parametrize("amount", [1, 29])
    def test_below_the_minimum(self, api: Api, amount: int) -> None:
        item = {"currency": "gbp", "unit_amount": amount, "product_data": {"name": "Mug"}}
        error = api.refused(line_items=[{"quantity": 1, "price_data": item}])
        assert error.code == "amount_too_small"

    def test_for_nothing(self, api: Api) -> None:
        item = {"currency": "gbp", "unit_amount": 0, "product_data": {"name": "Mug"}}
        assert api.create(line_items=[{"quantity": 1, "price_data": item}]).amount_total == 0

    def test_with_a_coupon(self, api: Api) -> None:
        coupon = api(api.v1.coupons, "create", {"percent_off": 20, "duration": "once"})
        made = api.create(discounts=[{"coupon": coupon.id}])
        assert (made.amount_subtotal, made.amount_total, made.total_details.amount_discount) == (1000, 800, 200)
        both = api.refused(discounts=[{"coupon": coupon.id}], allow_promotion_codes=True)
        assert "You may only specify one of these parameters" in str(both.user_message)

    def test_with_a_promotion_code(self, api: Api) -> None:
        coupon = api(api.v1.coupons, "create", {"percent_off": 20, "duration": "once"})
        code = api(
            api.v1.promotion_codes, "create",
            {"promotion": {"type": "coupon", "coupon": coupon.id}, "code": f"C{uuid4().hex[:10]}"},
        )  # fmt: skip
        assert api.create(discounts=[{"promotion_code": code.id}]).amount_total == 800


class TestReading:
    def test_one(self, api: Api) -> None:
        made = api.create()
        found = api(api.v1.checkout.sessions, "retrieve", made.id, {"expand": ["line_items"]})
        assert (found.id, found.line_items.data[0].amount_total) == (made.id, 1000)
        items = api(api.v1.checkout.sessions.line_items, "list", made.id)
        assert [item.description for item in items.data] == ["Mug"]

    def test_none(self, api: Api) -> None:
        with pytest.raises(stripe.InvalidRequestError) as refused:
            api(api.v1.checkout.sessions, "retrieve", "cs_test_none")
        assert (refused.value.http_status, refused.value.code) == (404, "resource_missing")

    def test_pages(self, api: Api) -> None:
        """Newest first, each once, through as many pages as there are."""
        made = [api.create().id for _ in range(5)]
        assert api.all({"limit": 2}, 5) == made[::-1]

    def test_by_status(self, api: Api) -> None:
        made = api.create()
        api(api.v1.checkout.sessions, "expire", made.id)
        assert api.all({"status": "expired", "limit": 1}, 1) == [made.id]


class TestEnding:
    def test_once(self, api: Api) -> None:
        made = api.create()
        ended = api(api.v1.checkout.sessions, "expire", made.id)
        assert (ended.status, ended.url) == ("expired", None)
        with pytest.raises(stripe.InvalidRequestError) as refused:
            api(api.v1.checkout.sessions, "expire", made.id)
        assert refused.value.http_status == 400
        assert str(refused.value.user_message).startswith("Only Checkout Sessions with a status in")

    def test_not_what_is_paid(self, api: Api, pay: Callable[[str], Any]) -> None:
        made = api.create()
        pay(made.id)
        with pytest.raises(stripe.InvalidRequestError, match="`complete`"):
            api(api.v1.checkout.sessions, "expire", made.id)


class TestIdempotency:
    def test_again(self, api: Api) -> None:
        """A photograph: it says open also when it is over."""
        key = uuid4().hex
        made = api.create(key)
        api(api.v1.checkout.sessions, "expire", made.id)
        again = api.create(key)
        assert (again.id, again.status) == (made.id, "open")
        assert again.last_response.headers["idempotent-replayed"] == "true"

    def test_with_other_parameters(self, api: Api) -> None:
        key = uuid4().hex
        api.create(key)
        with pytest.raises(stripe.IdempotencyError, match="same parameters"):
            api.create(key, client_reference_id="other")

    def test_what_was_refused_is_not_kept(self, api: Api) -> None:
        key = uuid4().hex
        with pytest.raises(stripe.InvalidRequestError):
            api.create(key, colour="red")
        assert api.create(key).status == "open"


class TestMoney:
    def test_paid_and_given_back(self, api: Api, pay: Callable[[str], Any]) -> None:
        made = api.create(payment_intent_data={"metadata": {"order": "77"}})
        pay(made.id)
        paid = api(
            api.v1.checkout.sessions, "retrieve", made.id, {"expand": ["payment_intent.latest_charge"]}
        ).payment_intent
        assert (paid.status, paid.metadata.to_dict(), paid.latest_charge.paid) == ("succeeded", {"order": "77"}, True)
        refund = api(api.v1.refunds, "create", {"payment_intent": paid.id, "amount": 400})
        assert (refund.status, refund.amount) == ("succeeded", 400)
        charge = api(api.v1.charges, "retrieve", paid.latest_charge.id)
        assert (charge.amount_refunded, charge.refunded) == (400, False)
        assert [one.id for one in api(api.v1.checkout.sessions, "list", {"payment_intent": paid.id}).data] == [made.id]


class TestEvents:
    def test_of_what_was_ended(self, api: Api) -> None:
        made = api.create()
        api(api.v1.checkout.sessions, "expire", made.id)
        events = api(api.v1.events, "list", {"types": ["checkout.session.expired"], "limit": 5}).data
        event = next(one for one in events if one.data.object.id == made.id)
        assert (event.object, event.data.object.status) == ("event", "expired")
        assert event.request.id.startswith("req_")
        assert api(api.v1.events, "retrieve", event.id).id == event.id
