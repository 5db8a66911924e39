"""The simulator, called by the real SDK: what Stripe's would answer, and nothing that Stripe's would not."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import stripe
from tests.simulator.conftest import client, create, soon
from tests.support.races import beside, until
from tests.support.serving import body_of, in_thread

from counterfoil.listening import listen
from counterfoil.simulator import Fault, Running, run_in_thread
from counterfoil.simulator.deliveries import LIVE, SANDBOX


class TestSessions:
    def test_created(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = create(sdk)
        assert (made.status, made.payment_status, made.amount_total, made.currency) == ("open", "unpaid", 1000, "gbp")
        assert (made.mode, made.client_reference_id, made.livemode) == ("payment", "ref-77", False)
        assert made.metadata.to_dict() == {"order": "77"}
        assert made.id.startswith("cs_test_")
        assert made.url
        assert made.url.startswith(sim.base_url)
        assert made.expires_at - made.created == 24 * 60 * 60
        assert made.payment_intent is None
        assert sdk.v1.checkout.sessions.retrieve(made.id).to_dict() == made.to_dict()

    def test_line_items(self, sdk: stripe.StripeClient) -> None:
        made = create(sdk)
        items = sdk.v1.checkout.sessions.line_items.list(made.id).data
        assert [(item.description, item.quantity, item.amount_total) for item in items] == [("Mug", 2, 1000)]
        expanded = sdk.v1.checkout.sessions.retrieve(made.id, {"expand": ["line_items"]})
        assert expanded.line_items
        assert expanded.line_items.data[0].amount_total == 1000

    def test_paid(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = create(sdk)
        sim.pay(made.id)
        paid = sdk.v1.checkout.sessions.retrieve(made.id, {"expand": ["payment_intent.latest_charge"]})
        assert (paid.status, paid.payment_status, paid.url) == ("complete", "paid", None)
        intent: Any = paid.payment_intent
        assert (intent.status, intent.amount_received, intent.metadata.to_dict()) == (
            "succeeded",
            1000,
            {"order": "77"},
        )
        assert (intent.latest_charge.paid, intent.latest_charge.amount) == (True, 1000)
        assert sdk.v1.payment_intents.retrieve(intent.id).id == intent.id

    def test_listed(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = [create(sdk) for _ in range(5)]
        sim.pay(made[0].id)
        first = sdk.v1.checkout.sessions.list({"limit": 2})
        assert ([one.id for one in first.data], first.has_more) == ([made[4].id, made[3].id], True)
        assert [one.id for one in first.auto_paging_iter()] == [one.id for one in reversed(made)]
        assert [one.id for one in sdk.v1.checkout.sessions.list({"status": "complete"}).data] == [made[0].id]
        before = sdk.v1.checkout.sessions.list({"created": {"lt": made[0].created}})
        assert before.data == []
        with pytest.raises(stripe.InvalidRequestError):
            sdk.v1.checkout.sessions.list({"limit": 101})

    def test_expired_by_hand(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = create(sdk)
        ended = sdk.v1.checkout.sessions.expire(made.id)
        assert (ended.status, ended.url) == ("expired", None)
        with pytest.raises(stripe.InvalidRequestError, match=r"status in \[\"open\"\].*`expired`"):
            sdk.v1.checkout.sessions.expire(made.id)
        paid = create(sdk)
        sim.pay(paid.id)
        with pytest.raises(stripe.InvalidRequestError, match="`complete`"):
            sdk.v1.checkout.sessions.expire(paid.id)

    def test_unknown(self, sdk: stripe.StripeClient) -> None:
        with pytest.raises(stripe.InvalidRequestError) as refused:
            sdk.v1.checkout.sessions.retrieve("cs_test_none")
        assert (refused.value.http_status, refused.value.code) == (404, "resource_missing")
        assert "No such checkout.session: 'cs_test_none'" in str(refused.value)


class TestTime:
    @pytest.mark.parametrize("seconds", [0, 29 * 60, 30 * 60 - 10])
    def test_the_floor(self, sdk: stripe.StripeClient, sim: Running, seconds: int) -> None:
        with pytest.raises(stripe.InvalidRequestError, match="at least 30 minutes") as refused:
            create(sdk, expires_at=soon(sim, seconds=seconds))
        assert refused.value.param == "expires_at"

    def test_the_ceiling(self, sdk: stripe.StripeClient, sim: Running) -> None:
        with pytest.raises(stripe.InvalidRequestError, match="less than 24 hours"):
            create(sdk, expires_at=soon(sim, hours=24, seconds=5))
        assert create(sdk, expires_at=soon(sim, hours=23)).status == "open"

    def test_it_expires_by_itself(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """At its moment and not before, and nothing can be paid after it."""
        made = create(sdk, expires_at=soon(sim, minutes=31))
        sim.advance(timedelta(minutes=30))
        assert sdk.v1.checkout.sessions.retrieve(made.id).status == "open"
        sim.advance(timedelta(minutes=2))
        assert sdk.v1.checkout.sessions.retrieve(made.id).status == "expired"
        event = sim.events()[0]
        assert (event["type"], event["data"]["object"]["id"]) == ("checkout.session.expired", made.id)
        assert made.expires_at <= event["created"] <= made.expires_at + 5

    def test_a_clock_that_is_ahead(self) -> None:
        with run_in_thread(skew=timedelta(minutes=3)) as sim, run_in_thread() as other:
            assert timedelta(minutes=2, seconds=55) < sim.now() - other.now() < timedelta(minutes=3, seconds=5)


class TestBadRequests:
    @pytest.mark.parametrize(
        ("change", "param", "said"),
        [
            ({"mode": None}, "mode", "Missing required param: mode"),
            ({"line_items": None}, "line_items", "Missing required param: line_items"),
            ({"success_url": None}, "success_url", "Missing required param: success_url"),
            ({"success_url": "nonsense"}, "success_url", "Not a valid URL"),
            ({"payment_method_types": ["card"]}, "payment_method_types", "unknown parameter"),
            ({"colour": "red"}, "colour", "Received unknown parameter: colour"),
            ({"expires_at": "soon"}, "expires_at", "Invalid integer"),
            ({"client_reference_id": "a" * 201}, "client_reference_id", "200 characters"),
            ({"metadata": {str(n): "x" for n in range(51)}}, "metadata", "50 keys"),
        ],
    )
    def test_refused_in_stripes_words(
        self, sdk: stripe.StripeClient, sim: Running, change: dict[str, Any], param: str, said: str
    ) -> None:
        with pytest.raises(stripe.InvalidRequestError) as refused:
            create(sdk, **change)
        assert (refused.value.http_status, refused.value.param) == (400, param)
        assert said in str(refused.value)
        assert sim.sessions() == []

    @pytest.mark.parametrize(("amount", "fine"), [(0, True), (14, False), (15, True)])
    def test_amounts(self, sdk: stripe.StripeClient, amount: int, fine: bool) -> None:
        """Two of them: nothing, or Stripe's minimum of 30p."""
        item = {
            "quantity": 2,
            "price_data": {"currency": "gbp", "unit_amount": amount, "product_data": {"name": "Mug"}},
        }
        if fine:
            assert create(sdk, line_items=[item]).amount_total == 2 * amount
        else:
            with pytest.raises(stripe.InvalidRequestError) as refused:
                create(sdk, line_items=[item])
            assert refused.value.code == "amount_too_small"

    @pytest.mark.parametrize("key", ["", "sk_live_x", "pk_test_x", "nonsense"])
    def test_keys(self, sim: Running, key: str) -> None:
        said = httpx.get(
            f"{sim.base_url}/v1/checkout/sessions",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            trust_env=False,
        )
        assert (said.status_code, said.json()["error"]["type"]) == (401, "invalid_request_error")

    def test_routes_that_it_does_not_have(self, sdk: stripe.StripeClient) -> None:
        with pytest.raises(stripe.InvalidRequestError, match=r"Unrecognized request URL \(GET: /v1/topups\)"):
            sdk.v1.topups.list()

    def test_headers(self, sdk: stripe.StripeClient) -> None:
        made = create(sdk, "key-1")
        assert made.last_response
        headers: Any = made.last_response.headers
        assert headers["Request-Id"].startswith("req_")
        assert headers["Stripe-Version"] == stripe.api_version
        assert headers["Idempotency-Key"] == "key-1"
        assert headers["Content-Type"].startswith("application/json")


class TestIdempotency:
    def test_the_first_answer_again(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """A photograph: also after the session has changed."""
        made = create(sdk, "key-1")
        sim.pay(made.id)
        again = create(sdk, "key-1")
        assert again.to_dict() == made.to_dict()
        assert again.last_response
        headers: Any = again.last_response.headers
        assert headers["Idempotent-Replayed"] == "true"
        assert made.last_response
        assert headers["Original-Request"] == made.last_response.headers["Request-Id"]
        assert len(sim.sessions()) == 1

    def test_with_other_parameters(self, sdk: stripe.StripeClient) -> None:
        create(sdk, "key-1")
        with pytest.raises(stripe.IdempotencyError, match="same parameters"):
            create(sdk, "key-1", client_reference_id="other")

    def test_while_the_first_is_at_work(self, sdk: stripe.StripeClient, sim: Running) -> None:
        sim.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=0.5))
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda _: _try(sdk, "key-1"), range(2)))
        assert sorted(one if isinstance(one, int) else 200 for one in said) == [200, 409]
        assert len(sim.sessions()) == 1

    def test_a_500_is_kept(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """Executed, and the answer was an error: the retry hears the same error, and the session is there."""
        sim.fail_next(Fault("error_after", "POST", "/v1/checkout/sessions"))
        for _ in range(2):
            with pytest.raises(stripe.APIError) as refused:
                create(sdk, "key-1")
            assert refused.value.http_status == 500
        assert len(sim.sessions()) == 1

    def test_what_was_never_executed_is_not(self, sdk: stripe.StripeClient, sim: Running) -> None:
        with pytest.raises(stripe.InvalidRequestError):
            create(sdk, "key-1", mode=None)
        assert create(sdk, "key-1").status == "open"

    def test_for_a_day(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = create(sdk, "key-1")
        sim.advance(timedelta(hours=23))
        assert create(sdk, "key-1").id == made.id
        sim.advance(timedelta(hours=2))
        assert create(sdk, "key-1").id != made.id


def _try(sdk: stripe.StripeClient, key: str) -> Any:
    try:
        return create(sdk, key).id
    except stripe.StripeError as error:
        return error.http_status


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "error", "made"),
        [
            (Fault("refuse", status=500), stripe.APIError, 0),
            (Fault("refuse", status=429, code="rate_limit"), stripe.RateLimitError, 0),
            (Fault("lost_before"), stripe.APIConnectionError, 0),
            (Fault("reset"), stripe.APIConnectionError, 0),
            (Fault("lost_after"), stripe.APIConnectionError, 1),
        ],
        ids=["500", "429", "lost before", "reset", "lost after"],
    )
    def test_what_the_sdk_makes_of_it(
        self, sim: Running, fault: Fault, error: type[stripe.StripeError], made: int
    ) -> None:
        quick = client(sim.base_url, timeout=0.5)
        sim.fail_next(fault)
        with pytest.raises(error):
            create(quick, "key-1")
        assert len(sim.sessions()) == made
        again = create(quick, "key-1")
        assert len(sim.sessions()) == 1
        assert again.status == "open"

    def test_an_answer_that_drips(self, sim: Running) -> None:
        """Half a second a read, and the whole takes one: the SDK counts between two bytes, and not the whole."""
        quick = client(sim.base_url, timeout=0.5)
        sim.fail_next(Fault("drip", seconds=1.0))
        began = time.monotonic()
        assert create(quick).status == "open"
        assert time.monotonic() - began > 0.9

    def test_the_nth_call(self, sdk: stripe.StripeClient, sim: Running) -> None:
        sim.fail_next(Fault("refuse", "GET", "*", times=2))
        made = create(sdk)
        for _ in range(2):
            with pytest.raises(stripe.APIError):
                sdk.v1.checkout.sessions.retrieve(made.id)
        assert sdk.v1.checkout.sessions.retrieve(made.id).id == made.id


class Listener:
    """An endpoint that keeps what it was sent, and answers as it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[bytes, str]] = []
        self.answers: list[int] = []
        self._may_answer = threading.Event()
        self._may_answer.set()

    def hold(self) -> None:
        """Answer nothing from now on."""
        self._may_answer.clear()

    def go_on(self) -> None:
        """Answer what is waiting, and all that comes."""
        self._may_answer.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = await body_of(receive)
        self.heard.append((body, dict(scope["headers"])[b"stripe-signature"].decode()))
        await asyncio.to_thread(self._may_answer.wait, 30)
        status = self.answers.pop(0) if self.answers else 200
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def listener(sim: Running) -> Iterator[Listener]:
    """An endpoint of the simulator's, by another secret than its own."""
    app = Listener()
    with in_thread(app, listen("127.0.0.1"), lifespan="off") as url:
        sim.add_endpoint(f"{url}/hook", secret="whsec_listener")
        yield app


class TestEvents:
    def test_signed_and_read_by_the_sdk(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        made = create(sdk)
        sim.pay(made.id)
        events = [stripe.Webhook.construct_event(body, header, "whsec_listener") for body, header in listener.heard]
        completed = next(one for one in events if one.type == "checkout.session.completed")
        assert completed.data.object["id"] == made.id
        assert completed.api_version == stripe.api_version
        assert sdk.v1.events.retrieve(completed.id).type == completed.type
        assert [one.type for one in sdk.v1.events.list({"type": "checkout.session.completed"}).data] == [completed.type]

    def test_a_stamp_of_its_own_for_every_attempt(
        self, sdk: stripe.StripeClient, sim: Running, listener: Listener
    ) -> None:
        """Tried again on the simulator's clock until it is answered with 2xx."""
        made = create(sdk)
        listener.answers = [500, 404]
        sim.expire(made.id)
        sim.advance(timedelta(hours=5))
        ((body, first), (again, second), (third_body, third)) = listener.heard
        assert body == again == third_body
        assert len({first, second, third}) == 3
        assert sim.deliveries()[0].attempts == [500, 404, 200]

    def test_given_up_in_the_end(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        made = create(sdk)
        listener.answers = [500] * 9
        sim.expire(made.id)
        sim.advance(timedelta(days=4))
        assert sim.deliveries()[0].attempts == [500] * 3

    def test_for_three_days_where_it_is_live(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        """Further and further apart."""
        sim.call(lambda: setattr(sim.account.deliveries, "retries", LIVE))
        try:
            listener.answers = [500] * 99
            ended = sim.expire(create(sdk).id)
            began = sim.now()
            sim.advance(timedelta(days=5))
        finally:
            sim.call(lambda: setattr(sim.account.deliveries, "retries", SANDBOX))
        stamps = [int(header.partition(",")[0].removeprefix("t=")) for _, header in listener.heard]
        gaps = [later - earlier for earlier, later in pairwise(stamps)]
        assert gaps == sorted(gaps)
        assert len(stamps) > 5
        assert timedelta(days=1) < timedelta(seconds=stamps[-1] - began.timestamp()) < timedelta(days=3)
        assert ended["status"] == "expired"

    def test_twins(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        """Two events of different ids about one change."""
        sim.expire(create(sdk).id)
        first = sim.events()[0]
        sim.call(lambda: sim.account.deliveries.twin(first["id"]))
        sim.wait_delivered()
        heard = [_json(body) for body, _ in listener.heard]
        assert len({one["id"] for one in heard}) == 2
        assert heard[0]["data"] == heard[1]["data"]

    @pytest.mark.parametrize("shape", ["snapshot", "thin"])
    def test_every_kind_is_read_by_the_sdk(
        self, sdk: stripe.StripeClient, sim: Running, listener: Listener, shape: str
    ) -> None:
        """Whole by `construct_event`, thin by `parse_event_notification`, and what it is about can be fetched."""
        endpoint = next(iter(sim.account.deliveries.endpoints.values()))
        sim.call(lambda: setattr(endpoint, "shape", shape))
        paid = sim.pay(create(sdk, customer_creation="always").id, "4000000000005126")
        sdk.v1.refunds.create({"payment_intent": paid["payment_intent"]})
        sim.pay(create(sdk).id, "4000000000000259")
        sim.pay_delayed(create(sdk).id, "failed")
        sim.expire(create(sdk).id)
        sim.advance(timedelta(days=6))
        assert len({one["type"] for one in sim.events()}) >= 15
        for body, header in listener.heard:
            if shape == "snapshot":
                event = sdk.construct_event(body, header, "whsec_listener")
                assert event.data.object["id"]
            else:
                thin: Any = sdk.parse_event_notification(body, header, "whsec_listener")
                answer = httpx.get(
                    sim.base_url + thin.related_object.url,
                    headers={"Authorization": "Bearer sk_test_x"},
                    trust_env=False,
                )
                assert answer.json()["id"] == thin.related_object.id

    def test_the_page_waits_for_the_endpoint(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        """The buyer is sent back when the seller's endpoint has answered, and not before."""
        listener.hold()
        made = create(sdk)
        form = {"email": "a@b.test", "card": "4242424242424242", "method": "card"}
        with beside(lambda: httpx.post(str(made.url), data=form, trust_env=False, timeout=20)) as paying:
            until(lambda: len(listener.heard) >= 4)
            assert sim.session(made.id)["status"] == "complete"
            assert not paying.done()
            listener.go_on()
            assert paying.result(20).status_code == 303

    def test_held_reordered_dropped_doubled(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        made = create(sdk)
        sim.hold_events()
        sim.pay(made.id)
        assert listener.heard == []
        sim.release_events(lambda waiting: waiting[::-1])
        types = [stripe.Event.construct_from(_json(body), None).type for body, _ in listener.heard]
        assert types[0] == "checkout.session.completed"
        listener.heard.clear()
        sim.drop_events(1)
        sim.expire(create(sdk).id)
        assert listener.heard == []
        sim.call(lambda: setattr(sim.account.deliveries, "twice", True))
        sim.expire(create(sdk).id)
        assert len(listener.heard) == 2

    def test_thin(self, sdk: stripe.StripeClient, sim: Running, listener: Listener) -> None:
        endpoint = next(iter(sim.account.deliveries.endpoints.values()))
        sim.call(lambda: setattr(endpoint, "shape", "thin"))
        made = create(sdk)
        sim.expire(made.id)
        body, header = listener.heard[0]
        thin: Any = sdk.parse_event_notification(body, header, "whsec_listener")
        assert (thin.type, thin.related_object.id) == ("v1.checkout.session.expired", made.id)

    def test_endpoints_over_the_api(self, sdk: stripe.StripeClient, sim: Running) -> None:
        made = sdk.v1.webhook_endpoints.create(
            {"url": "https://shop.test/hook", "enabled_events": ["checkout.session.completed"]}
        )
        assert made.secret
        assert made.secret.startswith("whsec_")
        listed = sdk.v1.webhook_endpoints.list().data
        assert [one.id for one in listed] == [made.id]
        assert getattr(listed[0], "secret", None) is None
        assert sdk.v1.webhook_endpoints.delete(made.id).deleted is True


class TestRaces:
    def test_pay_against_expire_has_one_winner(self, sdk: stripe.StripeClient, sim: Running) -> None:
        """Whoever comes first; the other is told so."""
        for _ in range(20):
            made = create(sdk)
            page = str(made.url)
            with ThreadPoolExecutor(2) as pool:
                paying = pool.submit(
                    httpx.post, page, data={"email": "a@b.test", "card": "4242424242424242", "method": "card"},
                    trust_env=False,
                )  # fmt: skip
                ending = pool.submit(_end, sdk, made.id)
                paid, ended = paying.result().status_code == 303, ending.result()
            now = sdk.v1.checkout.sessions.retrieve(made.id)
            assert paid != ended
            assert (now.status, now.payment_status) == (("complete", "paid") if paid else ("expired", "unpaid"))


def _end(sdk: stripe.StripeClient, id: str) -> bool:
    try:
        sdk.v1.checkout.sessions.expire(id)
    except stripe.InvalidRequestError:
        return False
    return True


def _json(body: bytes) -> Any:
    import json

    return json.loads(body)


class TestDelayedMethods:
    @pytest.mark.parametrize(("ending", "status"), [("succeeded", "paid"), ("failed", "unpaid")])
    def test_complete_and_unpaid_first(self, sdk: stripe.StripeClient, sim: Running, ending: Any, status: str) -> None:
        made = create(sdk)
        sim.pay_delayed(made.id, ending)
        now = sdk.v1.checkout.sessions.retrieve(made.id)
        assert (now.status, now.payment_status) == ("complete", "unpaid")
        sim.advance(timedelta(days=5))
        later = sdk.v1.checkout.sessions.retrieve(made.id)
        assert (later.status, later.payment_status) == ("complete", status)
        assert sim.events()[0]["type"] == f"checkout.session.async_payment_{ending}"


class TestControls:
    def test_over_http(self, sim: Running, sdk: stripe.StripeClient) -> None:
        made = create(sdk)
        with httpx.Client(base_url=sim.base_url, trust_env=False) as client:
            before = client.get("/_simulator/clock").json()["now"]
            after = client.post("/_simulator/clock", json={"seconds": 60}).json()["now"]
            assert 60 <= after - before < 70
            assert (
                client.post(f"/_simulator/sessions/{made.id}/pay", json={"card": "4000000000000002"}).status_code == 402
            )
            assert client.post(f"/_simulator/sessions/{made.id}/pay").json()["payment_status"] == "paid"
            assert client.post(f"/_simulator/sessions/{made.id}/pay").status_code == 409
            assert client.post("/_simulator/clock", json={"seconds": "x"}).status_code == 400
            assert client.post("/_simulator/sessions/nothing/expire").status_code == 404

    @pytest.mark.parametrize(
        "headers", [{"Host": "evil.test"}, {"Origin": "https://evil.test"}, {"Host": "evil.test:80"}]
    )
    def test_not_for_pages_of_the_web(self, sim: Running, headers: dict[str, str]) -> None:
        said = httpx.post(f"{sim.base_url}/_simulator/clock", json={"seconds": 60}, headers=headers, trust_env=False)
        assert said.status_code == 403

    def test_it_listens_on_this_machine_alone(self, sim: Running) -> None:
        assert urlsplit(sim.base_url).hostname == "127.0.0.1"
