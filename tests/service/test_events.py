"""Our events over HTTP: where they are sent, what became of them, and sending one again."""

from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook
from tests.conftest import Clock
from tests.support.races import until
from tests.support.receiving import Receiver, receiving
from tests.support.serving import Service, serving

from counterfoil.simulator import Running

BOUGHT = [
    "redemption.reserved",
    "redemption.completed",
    "checkout.paid",
    "entitlement.granted",
]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def sending(database: str, simulator: Running) -> Iterator[Service]:
    """A service that sends its events, also to this machine."""
    with serving(database, simulator, COUNTERFOIL_WEBHOOK_INTERVAL="1s", COUNTERFOIL_WEBHOOK_PRIVATE="on") as service:
        simulator.add_endpoint(f"{service.url}/webhooks/stripe")
        yield service


def types(listed: Any) -> list[str]:
    return [one["type"] for one in listed["data"]]


def test_a_purchase_is_told_as_it_happens(sending: Service, receiver: Receiver, simulator: Running) -> None:
    """In order, signed with the secret that was shown once, in the shapes of the API."""
    sending.code(cap=10)
    made = sending.post("/v1/webhook-endpoints", {"url": receiver.url}, status=201)
    opened = sending.open("a@school.test")
    simulator.pay(opened["session_id"])
    until(lambda: len(receiver.sent) == len(BOUGHT))
    assert receiver.told() == BOUGHT
    for sent in receiver.sent:
        assert Webhook(made["secret"]).verify(sent.body, sent.headers) == sent.event
        assert sent.event == sending.get(f"/v1/events/{sent.event['id']}")
    by_type = {sent.event["type"]: sent.event["data"] for sent in receiver.sent}
    assert by_type["checkout.paid"] == sending.get(f"/v1/checkouts/{opened['id']}")
    assert by_type["redemption.completed"] == sending.get(f"/v1/redemptions/{opened['redemption']['id']}")
    assert [by_type["entitlement.granted"]] == sending.get("/v1/entitlements", buyer="a@school.test")["data"]
    log = sending.get(f"/v1/webhook-endpoints/{made['id']}/deliveries")["data"]
    until(lambda: sending.get(f"/v1/webhook-endpoints/{made['id']}/deliveries")["data"][0]["status"] == "delivered")
    assert [one["type"] for one in log] == BOUGHT[::-1]
    assert 'counterfoil_deliveries_total{result="delivered"}' in sending.client.get("/metrics").text


def test_a_full_allocation_is_told_with_its_usage(service: Service) -> None:
    service.code(cap=1)
    service.open("a@school.test")
    assert types(service.get("/v1/events")) == ["allocation.full", "allocation.threshold", "redemption.reserved"]
    [full] = service.get("/v1/events", type="allocation.full")["data"]
    assert full["data"] == service.get("/v1/codes/NORTH-26/usage")
    assert full["livemode"] is False


def test_the_list_is_read_page_by_page(service: Service) -> None:
    service.code(cap=10)
    for buyer in "abc":
        service.open(buyer)
    first = service.get("/v1/events", limit=2)
    second = service.get("/v1/events", limit=2, cursor=first["next_cursor"])
    assert [one["data"]["buyer"] for one in first["data"] + second["data"]] == ["c", "b", "a"]
    assert second["next_cursor"] is None
    assert service.get("/v1/events", type="redemption.stolen", status=422)["code"] == "invalid-request"
    assert service.get("/v1/events/evt_none", status=404)["code"] == "not-found"


def test_the_secret_is_shown_once(service: Service) -> None:
    """Not by a list, not by a replay of the request that made the endpoint."""
    body = {"url": "https://93.184.215.14/events", "types": ["checkout.paid", "checkout.paid"]}
    made = service.post("/v1/webhook-endpoints", body, status=201, **{"Idempotency-Key": "k"})
    assert made["secret"].startswith("whsec_")
    again = service.post("/v1/webhook-endpoints", body, status=201, **{"Idempotency-Key": "k"})
    assert again == made | {"secret": None}
    [listed] = service.get("/v1/webhook-endpoints")["data"]
    assert listed == service.get(f"/v1/webhook-endpoints/{made['id']}")
    assert listed == {key: value for key, value in made.items() if key != "secret"}
    assert listed["types"] == ["checkout.paid"]


def test_a_removed_endpoint_is_gone(service: Service) -> None:
    made = service.post("/v1/webhook-endpoints", {"url": "https://93.184.215.14/events"}, status=201)
    assert service.client.delete(f"/v1/webhook-endpoints/{made['id']}").status_code == 204
    assert service.client.delete(f"/v1/webhook-endpoints/{made['id']}").status_code == 404
    assert service.get("/v1/webhook-endpoints")["data"] == []
    assert service.get(f"/v1/webhook-endpoints/{made['id']}/deliveries", status=404)["code"] == "not-found"


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://93.184.215.14/"}, {"url": "https://localhost/"}, {"url": "https://127.0.0.1:8000/"},
        {"url": "https://[::1]/"}, {"url": "https://169.254.169.254/"}, {"url": "https://no-such-name.invalid/"},
        {"url": "https://user@93.184.215.14/"}, {"url": "https://93.184.215.14:99999/"}, {"url": "nowhere"},
        {"url": "https://93.184.215.14/", "types": []}, {"url": "https://93.184.215.14/", "types": ["what"]},
        {"url": "https://93.184.215.14/", "secret": "mine"}, {},
    ],
)  # fmt: skip
def test_an_endpoint_is_public_and_by_https(service: Service, body: Any) -> None:
    assert service.post("/v1/webhook-endpoints", body, status=422)["code"] == "invalid-request"
    assert service.get("/v1/webhook-endpoints")["data"] == []


def test_an_event_is_sent_again(sending: Service, receiver: Receiver, clock: Clock) -> None:
    """To all, or to one that is named; what was asked twice with one key is done once."""
    sending.code(cap=10)
    made = sending.post("/v1/webhook-endpoints", {"url": receiver.url}, status=201)
    sending.open("a@school.test")
    until(lambda: len(receiver.sent) == 1)
    [event] = sending.get("/v1/events")["data"]
    path = f"/v1/events/{event['id']}/resend"
    until(lambda: sending.get(f"/v1/webhook-endpoints/{made['id']}/deliveries")["data"][0]["status"] == "delivered")
    assert sending.post(path, {"endpoint": made["id"]}, status=200, **{"Idempotency-Key": "k"}) == event
    until(lambda: len(receiver.sent) == 2)
    assert receiver.sent[1].event == receiver.sent[0].event
    assert sending.post(path, {"endpoint": made["id"]}, status=200, **{"Idempotency-Key": "k"}) == event
    assert sending.client.post(path).status_code == 200
    until(lambda: len(receiver.sent) == 3)
    for unknown in ("0", "x", "9" * 30):
        assert sending.post(path, {"endpoint": unknown}, status=422)["code"] == "invalid-request"
    assert sending.post("/v1/events/evt_none/resend", status=404)["code"] == "not-found"
