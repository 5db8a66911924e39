"""Our events on their way out: signed, in order for each redemption, again until they arrive, never to the inside."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.support.places import Verbs, code
from tests.support.serving import Service, body_of, in_thread

from counterfoil import outgoing
from counterfoil.hosts.psycopg import AsyncPsycopg, Psycopg
from counterfoil.listening import listen
from counterfoil.model import Shop
from counterfoil.service.sending import Sender, new_secret


class Receiver:
    """A program that is told of our events. It answers *status*, or what *answers* says of an event's type."""

    def __init__(self) -> None:
        self.url = ""
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answers: dict[str, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = await body_of(receive)
        self.heard.append((headers, body))
        status = self.answers.get(json.loads(body)["type"], 200)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def told(self) -> list[tuple[str, str]]:
        """Type and redemption of what was heard, in its order."""
        heard = [json.loads(body) for _, body in self.heard]
        return [(one["type"], one["data"].get("buyer", "")) for one in heard]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    program = Receiver()
    with in_thread(program, listen("127.0.0.1"), lifespan="off") as url:
        program.url = url
        yield program


@pytest.fixture
async def sender(database: str) -> AsyncIterator[Sender]:
    """Sends when it is told to, also to this machine."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        sender = Sender(AsyncPsycopg(connection), livemode=False, private=True)
        yield sender
        await sender.close()


@pytest.fixture
def do(host: Psycopg, shop: Shop, clock: Clock) -> Verbs:
    code(host, cap=9)
    return Verbs(host, shop)


SECRET = new_secret()


@pytest.fixture
def endpoint(do: Verbs, receiver: Receiver) -> outgoing.Endpoint:
    types = [type for type in outgoing.EventType if str(type).startswith("redemption.")]
    return do.host.run(outgoing.add_endpoint(url=receiver.url, types=types, secret=SECRET))


async def test_what_is_sent_is_signed_as_standard_webhooks_says(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, sender: Sender
) -> None:
    """Computed once more by hand: base64 of HMAC-SHA256 over id, timestamp and body, with the decoded secret."""
    do.reserve("a")
    await sender.send_due()
    [(headers, body)] = receiver.heard
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    event = json.loads(body)
    assert event.keys() == {"id", "type", "created_at", "livemode", "data"}
    assert (event["id"], event["type"], event["livemode"]) == (headers["webhook-id"], "redemption.reserved", False)
    assert event["data"]["buyer"] == "a"


async def test_what_did_not_arrive_comes_again_and_in_order(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, sender: Sender, clock: Clock
) -> None:
    """The release of one waits for its reservation to arrive; another redemption does not wait."""
    receiver.answers["redemption.reserved"] = 503
    first = do.reserve("a")
    do.release(first)
    await sender.send_due()
    assert receiver.told() == [("redemption.reserved", "a")]
    receiver.answers.clear()
    do.reserve("b")
    await sender.send_due()
    assert receiver.told()[1:] == [("redemption.reserved", "b")]
    clock.advance(seconds=11)
    await sender.send_due()
    assert receiver.told()[2:] == [("redemption.reserved", "a"), ("redemption.released", "a")]
    assert receiver.heard[0][0]["webhook-id"] == receiver.heard[2][0]["webhook-id"], "the same event has the same id"


async def test_it_is_given_up_after_days_and_a_person_is_told(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, sender: Sender, clock: Clock,
    connection: psycopg.Connection[Any],
) -> None:  # fmt: skip
    receiver.answers["redemption.reserved"] = 500
    claim = do.reserve("a")
    for wait in (*outgoing.WAITS, None):
        await sender.send_due()
        if wait:
            clock.advance(seconds=wait.total_seconds() + 1)
    assert len(receiver.heard) == len(outgoing.WAITS) + 1
    found = connection.execute("SELECT kind, subject FROM counterfoil.attention").fetchall()
    assert ("webhook-failing", str(endpoint.id)) in found
    # What comes later is not held up for ever, and what was given up can be sent again by hand.
    receiver.answers.clear()
    do.release(claim)
    await sender.send_due()
    assert receiver.told()[-1] == ("redemption.released", "a")
    event = do.host.run(outgoing.events())[-1]
    do.host.run(outgoing.resend(event=event, endpoint=None))
    await sender.send_due()
    assert receiver.told()[-1] == ("redemption.reserved", "a")


async def test_a_sender_that_dies_loses_nothing(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, sender: Sender, clock: Clock
) -> None:
    """It took the event on, and nobody heard of it again: due once more after its lease, and to nobody before."""
    do.reserve("a")
    assert len(do.host.run(outgoing.claim(endpoint=endpoint.id, most=5))) == 1
    await sender.send_due()
    assert receiver.heard == []
    clock.advance(minutes=5)
    await sender.send_due()
    assert receiver.told() == [("redemption.reserved", "a")]


async def test_a_removed_endpoint_is_sent_nothing(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, sender: Sender
) -> None:
    do.reserve("a")
    do.host.run(outgoing.disable_endpoint(id=endpoint.id))
    do.reserve("b")
    await sender.send_due()
    assert receiver.heard == []


class TestOverTheApi:
    def test_the_secret_is_shown_once(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        # A public address, so that nothing is looked up.
        made = service.post("/v1/webhook-endpoints", {"url": "https://93.184.215.14/hooks"}, status=201)
        assert made["secret"].startswith("whsec_")
        assert "secret" not in service.get(f"/v1/webhook-endpoints/{made['id']}")
        service.code(cap=1)
        service.open("a@school.test")
        listed = service.get("/v1/events")["data"]
        assert {"redemption.reserved", "allocation.full"} <= {one["type"] for one in listed}
        assert service.get("/v1/events", type="allocation.full")["data"][0]["data"]["remaining"] == 0
        waiting = service.get(f"/v1/webhook-endpoints/{made['id']}/deliveries")["data"]
        assert {one["event"] for one in waiting} == {one["id"] for one in listed}
        assert service.client.delete(f"/v1/webhook-endpoints/{made['id']}").status_code == 204
        assert service.get("/v1/webhook-endpoints")["data"] == []

    @pytest.mark.parametrize(
        "url",
        [
            "http://93.184.215.14/hooks", "https://127.0.0.1/", "https://10.1.2.3/", "https://192.168.1.1/",
            "https://169.254.169.254/latest/meta-data", "https://[::1]/", "https://[fd00::1]/", "https://localhost/",
            "https://[::ffff:127.0.0.1]/", "https://0.0.0.0/", "https://100.64.0.1/",
        ],
    )  # fmt: skip
    def test_no_way_to_the_inside(self, service: Service, url: str) -> None:
        refused = service.post("/v1/webhook-endpoints", {"url": url}, status=422)
        assert refused["code"] == "invalid-request"


async def test_an_address_that_became_private_is_not_connected_to(
    do: Verbs, endpoint: outgoing.Endpoint, receiver: Receiver, database: str
) -> None:
    """Judged again at each attempt: what was registered is not what is connected to."""
    do.reserve("a")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        careful = Sender(AsyncPsycopg(connection), livemode=False, private=False)
        await careful.send_due()
        await careful.close()
    assert receiver.heard == []
    [waiting] = do.host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (waiting.status, waiting.attempts) == ("waiting", 1)
    assert "NotPublic" in (waiting.last_error or "")
