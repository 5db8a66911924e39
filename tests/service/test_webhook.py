"""The webhook: who may speak, what is settled, and that anything else is asked for again."""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.simulator import Fault, Running


def signature(body: bytes, secret: str, *, ago: float = 0) -> str:
    """The header as Stripe makes it, written out by hand: docs.stripe.com/webhooks, 'Verify webhook signatures'."""
    stamp = int(time.time() - ago)
    return f"t={stamp},v1={hmac.new(secret.encode(), f'{stamp}.'.encode() + body, hashlib.sha256).hexdigest()}"


def event(session_id: str, type: str = "checkout.session.completed", **more: Any) -> dict[str, Any]:
    """A snapshot event, with no more in it than is read."""
    doc = {"id": "evt_1", "object": "event", "type": type, "livemode": False, "data": {"object": {"id": session_id}}}
    return doc | more


def deliver(service: Service, doc: Any, header: str | None = None, *, secret: str = "", ago: float = 0) -> Any:
    """POST it, signed with the secret unless a header is given."""
    body = doc if isinstance(doc, bytes) else json.dumps(doc).encode()
    headers = {} if header == "" else {"Stripe-Signature": header or signature(body, secret, ago=ago)}
    return service.client.post("/webhooks/stripe", content=body, headers=headers)


def rows(connection: psycopg.Connection[Any]) -> list[Any]:
    """All rows of money and places, exactly."""
    return [
        connection.execute(f"SELECT * FROM counterfoil.{table} ORDER BY 1, 2".encode()).fetchall()
        for table in ("redemption", "checkout", "entitlement", "allocation", "attention")
    ]


def another_page(simulator: Running, opened: Any) -> str:
    """A session at Stripe with the metadata of a checkout's own, which no row knows: its id."""
    given = {
        "mode": "payment",
        "success_url": "http://127.0.0.1/ok",
        "metadata": dict(simulator.session(opened["session_id"])["metadata"]),
        "line_items": [
            {
                "quantity": "1",
                "price_data": {"currency": "gbp", "unit_amount": "1000", "product_data": {"name": "Hub"}},
            }
        ],
    }
    return str(simulator.call(lambda: simulator.account.engine.create_session(given))["id"])


@pytest.fixture
def opened(service: Service) -> Any:
    """A checkout on the only place."""
    service.code(cap=1)
    return service.open("a@school.test")


class TestWhoMaySpeak:
    @pytest.mark.parametrize(
        "header",
        ["", "t=1,v1=00", "v1=00", "nonsense", "t=,v1=", "t=99999999999999999999,v1=00", "t=1", "é"],
        ids=lambda header: header or "none",
    )
    def test_without_a_signature_nothing_is_heard(
        self, service: Service, opened: Any, connection: psycopg.Connection[Any], header: str
    ) -> None:
        before = rows(connection)
        said = service.client.post(
            "/webhooks/stripe",
            content=json.dumps(event(opened["session_id"])).encode(),
            headers=[(b"stripe-signature", header.encode())] if header else [],
        )
        assert (said.status_code, said.json()["code"]) == (400, "bad-signature")
        assert said.headers["content-type"] == "application/problem+json"
        assert rows(connection) == before
        assert connection.execute("SELECT count(*) FROM counterfoil.stripe_event").fetchone() == (0,)

    def test_forged_with_another_secret(self, service: Service, opened: Any) -> None:
        assert deliver(service, event(opened["session_id"]), secret="whsec_of_somebody_else").status_code == 400

    def test_one_byte_changed_on_the_way(self, service: Service, opened: Any, simulator: Running) -> None:
        body = json.dumps(event(opened["session_id"])).encode()
        good = signature(body, simulator.secret)
        assert deliver(service, body.replace(b"evt_1", b"evt_2"), good).status_code == 400
        assert deliver(service, body + b" ", good).status_code == 400
        assert deliver(service, body, good).status_code == 200

    def test_older_than_five_minutes(self, service: Service, opened: Any, simulator: Running) -> None:
        """A signature that was overheard is of no use for long."""
        assert deliver(service, event(opened["session_id"]), secret=simulator.secret, ago=310).status_code == 400
        assert deliver(service, event(opened["session_id"]), secret=simulator.secret, ago=280).status_code == 200

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"{", b"[]", b"null", b"7", b'"evt"', b"\xff\xfe", b"{}", b'{"id": "evt_1"}',
            b'{"id": 1, "type": "t", "livemode": false, "object": "event", "data": {"object": {"id": "cs"}}}',
            b'{"id": "e", "type": "t", "livemode": "no", "object": "event", "data": {"object": {"id": "cs"}}}',
            b'{"id": "e", "type": "t", "livemode": false, "object": "event", "data": {"object": {"id": 5}}}',
            b'{"id": "e", "type": "t", "livemode": false, "object": "event", "data": {"object": null}}',
            b'{"id": "e", "type": "t", "livemode": false, "object": "event", "data": []}',
            b'{"id": "e", "type": "t", "livemode": false, "object": "v2.core.event", "related_object": "cs"}',
        ],
    )  # fmt: skip
    def test_signed_and_no_event_all_the_same(self, service: Service, simulator: Running, body: bytes) -> None:
        said = deliver(service, body, secret=simulator.secret)
        assert (said.status_code, said.json()["code"]) == (400, "bad-signature")

    def test_larger_than_an_event_can_be(self, service: Service, simulator: Running) -> None:
        said = deliver(service, b" " * (1024 * 1024 + 1), secret=simulator.secret)
        assert (said.status_code, said.json()["code"]) == (413, "too-large")

    def test_no_key_is_needed_and_none_helps(self, service: Service) -> None:
        """The service's own admin key is sent by this client: the signature alone counts."""
        assert deliver(service, event("cs_x"), "").status_code == 400


class TestSecretsInRotation:
    @pytest.fixture
    def rotating(self, server: embedded.Server, simulator: Running, database: str) -> Iterator[Service]:
        with serving(server.url, simulator, STRIPE_WEBHOOK_SECRET=f"whsec_old, {simulator.secret}") as service:
            yield service

    def test_either_secret_is_good(self, rotating: Service, simulator: Running) -> None:
        for number, secret in enumerate(("whsec_old", simulator.secret)):
            said = deliver(rotating, event("cs_unknown", id=f"evt_{number}"), secret=secret)
            assert said.json() == {"outcome": "foreign"}
        assert deliver(rotating, event("cs_unknown"), secret="whsec_").status_code == 400

    def test_one_event_signed_with_both(self, rotating: Service, simulator: Running) -> None:
        """While an endpoint's secret is rolled, Stripe signs with both."""
        body = json.dumps(event("cs_unknown")).encode()
        ours, other = signature(body, simulator.secret), signature(body, "whsec_other")
        both = f"{other},{ours.partition(',')[2]}"
        assert deliver(rotating, body, both).status_code == 200


class TestWhatIsSettled:
    @pytest.mark.parametrize("shape", ["snapshot", "thin"])
    def test_either_shape(self, _service: Service, database: str, simulator: Running, shape: str) -> None:
        """Only the id in it is used; Stripe is asked for the rest."""
        simulator.add_endpoint(f"{_service.url}/webhooks/stripe", shape=shape)
        _service.code(cap=1)
        opened = _service.open("a@school.test")
        simulator.pay(opened["session_id"])
        assert _service.get(f"/v1/checkouts/{opened['id']}")["redemption"]["status"] == "completed"

    def test_what_an_event_claims_is_not_believed(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        """It says paid, its session says open: nothing is sold."""
        before = rows(connection)
        doc = event(opened["session_id"])
        doc["data"]["object"] |= {"status": "complete", "payment_status": "paid"}
        assert deliver(service, doc, secret=simulator.secret).json() == {"outcome": "nothing"}
        assert rows(connection) == before

    def test_the_same_event_again_changes_nothing(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        simulator.pay(opened["session_id"])
        before = rows(connection)
        heard = next(one for one in simulator.events() if one["type"] == "checkout.session.completed")
        for _ in range(3):
            assert deliver(service, heard, secret=simulator.secret).json() == {"outcome": "already_settled"}
        assert rows(connection) == before

    def test_two_events_about_one_change(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        simulator.pay(opened["session_id"])
        before = rows(connection)
        assert deliver(service, event(opened["session_id"], id="evt_twin"), secret=simulator.secret).json() == {
            "outcome": "already_settled"
        }
        assert rows(connection) == before

    @pytest.mark.parametrize("newest_first", [False, True])
    def test_any_order(self, service: Service, simulator: Running, clock: Clock, newest_first: bool) -> None:
        """One paid, one expired, one complete and unpaid that was paid four days later; all heard at the end."""
        service.code(cap=5)
        sales = {buyer: service.open(f"{buyer}@school.test") for buyer in ("paid", "gone", "bank")}
        simulator.hold_events()
        simulator.pay(sales["paid"]["session_id"])
        simulator.pay_delayed(sales["bank"]["session_id"])
        clock.advance(minutes=35)
        clock.advance(days=5)
        simulator.release_events(lambda waiting: waiting[::-1] if newest_first else waiting)
        found = {
            buyer: service.get(f"/v1/checkouts/{sale['id']}")["redemption"]["status"] for buyer, sale in sales.items()
        }
        assert found == {"paid": "completed", "gone": "released", "bank": "completed"}
        assert all(delivery.done for delivery in simulator.deliveries())
        usage = service.get("/v1/codes/NORTH-26/usage")
        assert (usage["completed"], usage["held"], usage["over"]) == (2, 0, 0)

    def test_a_delayed_payment_that_fails_gives_the_place_back(
        self, service: Service, opened: Any, simulator: Running, clock: Clock
    ) -> None:
        """Its session stays complete and unpaid: the event decides, and a late 'completed' revives nothing."""
        simulator.pay_delayed(opened["session_id"], "failed")
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "pending"
        clock.advance(days=5)
        failed = service.get(f"/v1/checkouts/{opened['id']}")
        assert (failed["status"], failed["redemption"]["release_reason"]) == ("failed", "payment_failed")
        late = deliver(service, event(opened["session_id"], id="evt_late"), secret=simulator.secret)
        assert late.json() == {"outcome": "already_settled"}
        assert service.get("/v1/codes/NORTH-26/usage")["remaining"] == 1

    def test_the_end_of_a_superseded_session_releases_nothing(
        self, service: Service, opened: Any, simulator: Running, clock: Clock
    ) -> None:
        """The same buyer, near the end, gets a new page in the same place; then the old page's end is heard."""
        simulator.hold_events()
        clock.advance(minutes=28)
        again = service.open("a@school.test", status=None)
        assert again["session_id"] != opened["session_id"]
        simulator.release_events()
        now = service.get(f"/v1/checkouts/{again['id']}")
        assert (now["status"], now["redemption"]["status"]) == ("open", "reserved")


class TestWhatIsNotOurs:
    @pytest.mark.parametrize(
        "type", ["payment_intent.payment_failed", "charge.succeeded", "customer.created", "checkout.session.unheard"]
    )
    def test_other_types_are_fine(self, service: Service, opened: Any, simulator: Running, type: str) -> None:
        """An intent that failed is not an ending: the page stays open for another card."""
        said = deliver(service, event(opened["session_id"], type), secret=simulator.secret)
        assert (said.status_code, said.json()) == (200, {"outcome": "ignored"})
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "open"

    def test_a_session_that_nobody_knows(self, service: Service, simulator: Running) -> None:
        said = deliver(service, event("cs_test_of_another_account"), secret=simulator.secret)
        assert (said.status_code, said.json()) == (200, {"outcome": "foreign"})

    def test_a_session_of_another_program_on_the_same_account(self, service: Service, simulator: Running) -> None:
        made = simulator.call(
            lambda: simulator.account.engine.create_session(
                {
                    "mode": "payment",
                    "success_url": "http://127.0.0.1/ok",
                    "line_items": [
                        {
                            "quantity": "1",
                            "price_data": {"currency": "gbp", "unit_amount": "500", "product_data": {"name": "Mug"}},
                        }
                    ],
                }
            )
        )
        simulator.pay(made["id"])
        assert [one.attempts for one in simulator.deliveries()][-1] == [200]
        assert service.get("/v1/checkouts")["data"] == []

    @pytest.mark.parametrize("type", ["checkout.session.completed", "checkout.session.expired"])
    def test_the_other_mode(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any], type: str
    ) -> None:
        simulator.hold_events()
        simulator.pay(opened["session_id"])
        before = rows(connection)
        said = deliver(service, event(opened["session_id"], type, livemode=True), secret=simulator.secret)
        assert (said.status_code, said.json()) == (200, {"outcome": "ignored"})
        assert rows(connection) == before

    def test_paid_for_a_row_that_never_had_the_session(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        """Our metadata on a session that is not ours: it is put before the seller, and no row moves."""
        copy = another_page(simulator, opened)
        simulator.pay(copy)
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "open"
        kinds = connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall()
        assert kinds == [("unmatched-session", copy)]


class TestUntilItIsSettled:
    @pytest.mark.parametrize(
        ("fault", "status"),
        [
            (Fault("refuse", "GET", "/v1/checkout/sessions/*", times=9, status=500), 502),
            (Fault("refuse", "GET", "/v1/checkout/sessions/*", times=9, status=429, code="rate_limit"), 502),
            (Fault("reset", "GET", "/v1/checkout/sessions/*", times=9), 503),
        ],
        ids=["500", "429", "cut"],
    )
    def test_stripe_cannot_be_asked(
        self, service: Service, opened: Any, simulator: Running, clock: Clock, fault: Fault, status: int
    ) -> None:
        """Not 2xx: Stripe sends it again, and then it is settled, with nothing remembered against it."""
        simulator.fail_next(fault)
        simulator.pay(opened["session_id"])
        completed = next(one for one in simulator.deliveries() if one.event["type"] == "checkout.session.completed")
        assert completed.attempts == [status]
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "open"
        simulator.call(simulator.account.faults.clear)
        clock.advance(hours=2)
        assert completed.attempts == [status, 200]
        paid = service.get(f"/v1/checkouts/{opened['id']}")
        assert (paid["status"], paid["redemption"]["status"]) == ("paid", "completed")

    def test_stripe_does_not_know_what_we_do(self, service: Service, opened: Any, simulator: Running) -> None:
        """A key of another account: saying 2xx would lose the payment."""
        simulator.call(lambda: simulator.account.engine.sessions.clear())
        said = deliver(service, event(opened["session_id"]), secret=simulator.secret)
        assert (said.status_code, said.json()["code"]) == (502, "stripe-unavailable")
        assert said.json()["stripe_code"] == "resource_missing"

    def test_the_row_is_locked_too_long(
        self, service: Service, opened: Any, simulator: Running, connection: psycopg.Connection[Any]
    ) -> None:
        """Busy, 503: and the next delivery settles it."""
        with connection.transaction():
            connection.execute("SELECT 1 FROM counterfoil.redemption FOR UPDATE")
            simulator.pay(opened["session_id"])
            completed = next(one for one in simulator.deliveries() if one.event["type"] == "checkout.session.completed")
            assert completed.attempts == [503]
        simulator.resend(completed.event["id"])
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"

    def test_the_other_page_of_its_row_cannot_be_ended(
        self, service: Service, opened: Any, simulator: Running, clock: Clock, connection: psycopg.Connection[Any]
    ) -> None:
        """Paid, but with a newer page open beside it: the event is not done before that page is."""
        newer = another_page(simulator, opened)
        connection.execute(
            "UPDATE counterfoil.redemption SET session_id = %s, former_sessions = ARRAY[session_id]", (newer,)
        )
        simulator.fail_next(Fault("refuse", "POST", "*/expire", times=9, status=500))
        simulator.pay(opened["session_id"])
        completed = next(one for one in simulator.deliveries() if one.event["type"] == "checkout.session.completed")
        assert completed.attempts == [502]
        assert service.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
        simulator.call(simulator.account.faults.clear)
        clock.advance(hours=2)
        assert completed.attempts == [502, 200]
        assert simulator.session(newer)["status"] == "expired"
