"""Our events on their way: signed, in order, again and again until they are taken, by several senders, no further."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from standardwebhooks.webhooks import Webhook
from tests.conftest import Clock
from tests.support.places import Verbs, code
from tests.support.receiving import Receiver, receiving

from counterfoil import outgoing
from counterfoil.hosts.psycopg import AsyncPsycopg, Psycopg
from counterfoil.model import Redemption, Shop
from counterfoil.outgoing import LEASE, WAITS, Endpoint, EventType
from counterfoil.service.addresses import NotPublic, PublicOnly, Unresolved, check_url, is_public
from counterfoil.service.sending import Sender, new_secret

SECRET = new_secret()


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Verbs:
    code(host, cap=100)
    return Verbs(host, shop)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def another() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def senders(database: str) -> AsyncIterator[tuple[Sender, Sender]]:
    """Two of them, as of two processes."""
    async with contextlib.AsyncExitStack() as stack:
        made = []
        for _ in range(2):
            pool: Any = AsyncConnectionPool(database, min_size=1, max_size=4, open=False, kwargs={"autocommit": True})
            await stack.enter_async_context(pool)
            sender = Sender(AsyncPsycopg(pool), livemode=False, private=True)
            stack.push_async_callback(sender.close)
            made.append(sender)
        yield made[0], made[1]


@pytest.fixture
def sender(senders: tuple[Sender, Sender]) -> Sender:
    return senders[0]


def register(host: Psycopg, url: str, types: list[EventType] | None = None) -> Endpoint:
    return host.run(outgoing.add_endpoint(url=url, types=types, secret=SECRET))


def paid(do: Verbs, buyer: str) -> Redemption:
    """Two events: reserved, completed."""
    claim = do.reserve(buyer)
    do.settle(claim, f"cs_{buyer}", "paid")
    return claim


def signature(secret: str, id: str, timestamp: str, body: bytes) -> str:
    """By the words of the specification, not by the package that signs."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((id.encode(), timestamp.encode(), body))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def test_the_signature_is_that_of_the_specification() -> None:
    """Its published example."""
    secret, id, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", '{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(secret, id, "1614265330", body.encode()) == expected
    assert Webhook(secret).sign(id, datetime.fromisoformat("2021-02-25T15:02:10+00:00"), body) == expected


async def test_an_event_is_sent_signed(do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg) -> None:
    endpoint = register(host, receiver.url)
    claim = do.reserve("a")
    await sender.send_due()
    [sent] = receiver.sent
    logged = host.run(outgoing.events())[0]
    assert (sent.headers["webhook-id"], sent.event["id"]) == (logged.id, logged.id)
    signed = signature(SECRET, logged.id, sent.headers["webhook-timestamp"], sent.body)
    assert sent.headers["webhook-signature"] == signed
    assert Webhook(SECRET).verify(sent.body, sent.headers) == sent.event
    assert sent.event.keys() == {"id", "type", "created_at", "livemode", "data"}
    assert (sent.event["type"], sent.event["livemode"]) == ("redemption.reserved", False)
    assert (sent.event["data"]["id"], sent.event["data"]["status"]) == (str(claim.id), "reserved")
    [delivery] = host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (delivery.status, delivery.attempts, delivery.last_status, delivery.last_error) == (
        "delivered",
        1,
        200,
        None,
    )


async def test_an_endpoint_gets_the_types_it_wants_from_when_it_is_there(
    do: Verbs, receiver: Receiver, another: Receiver, sender: Sender, host: Psycopg
) -> None:
    do.reserve("before")
    register(host, receiver.url, [EventType.REDEMPTION_COMPLETED])
    register(host, another.url)
    paid(do, "a")
    await sender.send_due()
    assert receiver.told() == ["redemption.completed"]
    assert another.told() == ["redemption.reserved", "redemption.completed"]


async def test_a_later_event_waits_for_the_earlier_one_of_its_redemption_alone(
    do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg, clock: Clock
) -> None:
    register(host, receiver.url)
    stuck, free = paid(do, "a"), paid(do, "b")
    refused = ("redemption.reserved", str(stuck.id))
    receiver.answer = lambda event: 500 if (event["type"], event["data"]["id"]) == refused else 200
    await sender.send_due()
    assert sorted(one.said for one in receiver.sent) == sorted(
        [refused, ("redemption.reserved", str(free.id)), ("redemption.completed", str(free.id))]
    )
    await sender.send_due()
    assert len(receiver.sent) == 3
    receiver.answer = lambda _: 200
    clock.advance(seconds=WAITS[0].total_seconds())
    await sender.send_due()
    assert [one.said for one in receiver.sent[3:]] == [refused, ("redemption.completed", str(stuck.id))]


async def test_what_is_not_taken_is_tried_for_three_days_and_then_given_up(
    do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg, clock: Clock, connection: psycopg.Connection[Any]
) -> None:
    """Then the seller is told, and what waited for it goes on."""
    endpoint = register(host, receiver.url)
    claim = paid(do, "a")
    receiver.answer = lambda event: 503 if event["type"] == "redemption.reserved" else 200
    await sender.send_due()
    for number, wait in enumerate(WAITS, 1):
        assert receiver.told() == ["redemption.reserved"] * number
        clock.advance(seconds=wait.total_seconds() - 5)
        await sender.send_due()
        assert len(receiver.sent) == number
        clock.advance(seconds=5)
        await sender.send_due()
    assert timedelta(days=2.5) < sum(WAITS, timedelta()) < timedelta(days=3)
    assert receiver.told() == ["redemption.reserved"] * (len(WAITS) + 1) + ["redemption.completed"]
    assert len({one.headers["webhook-id"] for one in receiver.sent[:-1]}) == 1
    waited, given_up = host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (given_up.status, given_up.attempts, given_up.last_status) == ("given_up", len(WAITS) + 1, 503)
    assert waited.status == "delivered"
    [(kind, subject, detail)] = connection.execute("SELECT kind, subject, detail FROM counterfoil.attention").fetchall()
    assert (kind, subject) == ("webhook-failing", str(endpoint.id))
    assert (detail["event"], detail["url"], detail["status"]) == (given_up.event, receiver.url, 503)

    receiver.answer = lambda _: 200
    event = host.run(outgoing.events(id=given_up.event))[0]
    assert host.run(outgoing.resend(event=event, endpoint=None)) == 1
    await sender.send_due()
    assert receiver.sent[-1].said == ("redemption.reserved", str(claim.id))


async def test_an_endpoint_that_cannot_be_reached_is_tried_again(
    do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = register(host, f"http://127.0.0.1:{unused.getsockname()[1]}/")
        do.reserve("a")
        await sender.send_due()
    [delivery] = host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (delivery.status, delivery.attempts, delivery.last_status) == ("waiting", 1, None)
    assert delivery.last_error
    assert delivery.last_error.startswith("ConnectError")


async def test_a_redirect_is_not_followed(
    do: Verbs, receiver: Receiver, another: Receiver, sender: Sender, host: Psycopg
) -> None:
    endpoint = register(host, receiver.url)
    receiver.location = another.url
    receiver.answer = lambda _: 307
    do.reserve("a")
    await sender.send_due()
    assert not another.sent
    assert host.run(outgoing.deliveries(endpoint=endpoint.id))[0].status == "waiting"


async def test_two_senders_share_the_work_and_send_nothing_twice(
    do: Verbs, receiver: Receiver, senders: tuple[Sender, Sender], host: Psycopg
) -> None:
    register(host, receiver.url)
    for number in range(30):
        paid(do, str(number))
    await asyncio.gather(*(sender.send_due() for sender in senders))
    ids = [one.headers["webhook-id"] for one in receiver.sent]
    assert len(ids) == len(set(ids)) == 60
    by_subject: dict[str, list[str]] = {}
    for one in receiver.sent:
        by_subject.setdefault(one.event["data"]["id"], []).append(one.event["type"])
    assert list(by_subject.values()) == [["redemption.reserved", "redemption.completed"]] * 30


async def test_what_one_sender_is_at_another_leaves_alone_until_the_lease_ends(
    do: Verbs, receiver: Receiver, senders: tuple[Sender, Sender], host: Psycopg, clock: Clock
) -> None:
    """The first dies in the middle; nothing is lost, and its order holds."""
    register(host, receiver.url)
    arrived = _signal(receiver)
    gate = receiver.gates["redemption.reserved"] = threading.Event()
    paid(do, "a")
    killed = asyncio.create_task(senders[0].send_due())
    await asyncio.wait_for(arrived.wait(), 20)
    await senders[1].send_due()
    assert receiver.told() == ["redemption.reserved"]
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    gate.set()
    receiver.gates.clear()

    clock.advance(seconds=LEASE.total_seconds() - 5)
    await senders[1].send_due()
    assert len(receiver.sent) == 1
    clock.advance(seconds=5)
    await senders[1].send_due()
    assert receiver.told() == ["redemption.reserved", "redemption.reserved", "redemption.completed"]
    assert receiver.sent[0].body == receiver.sent[1].body


async def test_a_slow_endpoint_holds_up_no_other(
    do: Verbs, receiver: Receiver, another: Receiver, sender: Sender, host: Psycopg
) -> None:
    register(host, receiver.url)
    register(host, another.url)
    gate = receiver.gates["redemption.reserved"] = threading.Event()
    arrived = _signal(another)
    do.reserve("a")
    at_work = asyncio.create_task(sender.send_due())
    await asyncio.wait_for(arrived.wait(), 20)
    gate.set()
    await at_work
    assert receiver.told() == another.told() == ["redemption.reserved"]


async def test_an_endpoint_that_was_removed_is_sent_nothing(
    do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg, connection: psycopg.Connection[Any]
) -> None:
    endpoint = register(host, receiver.url)
    do.reserve("a")
    assert host.run(outgoing.disable_endpoint(id=endpoint.id))
    assert not host.run(outgoing.disable_endpoint(id=endpoint.id))
    do.reserve("b")
    await sender.send_due()
    assert not receiver.sent
    assert host.run(outgoing.endpoints()) == []
    assert connection.execute("SELECT secret FROM counterfoil.webhook_endpoint").fetchall() == [(None,)]
    assert connection.execute("SELECT count(*) FROM counterfoil.delivery").fetchall() == [(1,)]


async def test_an_event_can_be_sent_again_under_the_same_id(
    do: Verbs, receiver: Receiver, another: Receiver, sender: Sender, host: Psycopg
) -> None:
    """To all that want it, or to one that did not hear of it."""
    all_of_them = register(host, receiver.url)
    late = register(host, another.url, [EventType.CHECKOUT_PAID])
    do.reserve("a")
    await sender.send_due()
    [event] = host.run(outgoing.events())
    assert host.run(outgoing.resend(event=event, endpoint=None)) == 1
    await sender.send_due()
    assert [one.headers["webhook-id"] for one in receiver.sent] == [event.id, event.id]
    assert not another.sent
    assert host.run(outgoing.resend(event=event, endpoint=late.id)) == 1
    await sender.send_due()
    assert [one.headers["webhook-id"] for one in another.sent] == [event.id]
    [delivery] = host.run(outgoing.deliveries(endpoint=all_of_them.id))
    assert (delivery.status, delivery.attempts) == ("delivered", 1)


async def test_a_failure_that_is_heard_late_undoes_nothing(
    do: Verbs, receiver: Receiver, sender: Sender, host: Psycopg, clock: Clock
) -> None:
    """Of a sender that was taken for dead."""
    endpoint = register(host, receiver.url)
    do.reserve("a")
    [slow] = host.run(outgoing.claim(endpoint=endpoint.id, most=8))
    clock.advance(seconds=LEASE.total_seconds())
    [quick] = host.run(outgoing.claim(endpoint=endpoint.id, most=8))
    assert not host.run(outgoing.close(attempt=slow, status=500, error="late"))
    [delivery] = host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (delivery.attempts, delivery.last_error) == (2, None)
    host.run(outgoing.close(attempt=slow, status=200, error=None))
    host.run(outgoing.close(attempt=quick, status=500, error="later"))
    assert host.run(outgoing.deliveries(endpoint=endpoint.id))[0].status == "delivered"


PRIVATE = """
127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 240.0.0.1
::1 :: fe80::1 fe80::1%eth0 fc00::1 fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::7f00:1 2002:7f00:1::
64:ff9b::7f00:1
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700:4700::1111", "::ffff:93.184.215.14"])
def test_so_is_a_public_one(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://93.184.215.14/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://2130706433/",
        "https://0x7f000001/", "https://169.254.169.254/latest/meta-data/", "https://[::ffff:10.0.0.1]/",
        "https://no-such-name.invalid/", "https://93.184.215.14:99999/", "https://[zz]/", "ftp://93.184.215.14/",
    ],
)  # fmt: skip
async def test_no_event_is_sent_to_it(url: str) -> None:
    """Neither when it is registered nor when it is connected to."""
    with pytest.raises((NotPublic, Unresolved)):
        await check_url(url)
    inner = Inner()
    async with httpx.AsyncClient(transport=PublicOnly(inner)) as client:
        with pytest.raises((NotPublic, Unresolved, httpx.InvalidURL, httpx.UnsupportedProtocol)):
            await client.post(url)
    assert not inner.requests


class Inner(httpx.AsyncBaseTransport):
    """Where requests would leave this machine. *unreachable*: addresses that refuse."""

    def __init__(self, *unreachable: str) -> None:
        self.requests: list[httpx.Request] = []
        self.hosts: list[str] = []
        self.unreachable = unreachable

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.hosts.append(request.url.host)
        if request.url.host in self.unreachable:
            raise httpx.ConnectError("refused")
        return httpx.Response(200)


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """What a name means, each time that it is looked up."""
    left = list(answers)

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def test_the_connection_goes_to_the_address_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """And yet the certificate is that of the name, and the receiver is asked for the name."""
    names(monkeypatch, ["93.184.215.14", "93.184.215.15"])
    inner = Inner("93.184.215.14")
    async with httpx.AsyncClient(transport=PublicOnly(inner)) as client:
        assert (await client.post("https://shop.example:8443/events")).status_code == 200
    assert inner.hosts == ["93.184.215.14", "93.184.215.15"]
    assert inner.requests[-1].url == "https://93.184.215.15:8443/events"
    assert inner.requests[-1].headers["host"] == "shop.example:8443"
    assert inner.requests[-1].extensions["sni_hostname"] == "shop.example"


async def test_a_name_that_turns_private_after_it_was_registered_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, ["93.184.215.14"], ["93.184.215.14", "10.0.0.1"])
    await check_url("https://shop.example/")
    inner = Inner()
    async with httpx.AsyncClient(transport=PublicOnly(inner)) as client:
        with pytest.raises(NotPublic):
            await client.post("https://shop.example/")
    assert not inner.requests


async def test_a_sender_sends_to_no_private_address_unless_it_is_told_to(
    do: Verbs, receiver: Receiver, host: Psycopg, database: str
) -> None:
    endpoint = register(host, receiver.url)
    do.reserve("a")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        sender = Sender(AsyncPsycopg(connection), livemode=False, private=False)
        await sender.send_due()
        await sender.close()
    assert not receiver.sent
    [delivery] = host.run(outgoing.deliveries(endpoint=endpoint.id))
    assert (delivery.status, delivery.last_error) == ("waiting", "NotPublic: only https")


def _signal(receiver: Receiver) -> asyncio.Event:
    """Set when an event arrives there."""
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    receiver.arrived = lambda _: loop.call_soon_threadsafe(arrived.set)
    return arrived
