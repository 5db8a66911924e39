"""
Events on their way: at least once, signed afresh per attempt, tried again on the simulator's clock.

Stripe promises no order, and neither does this: events can be held back, dropped, doubled and let go in another order.
"""

from __future__ import annotations

import asyncio
import fnmatch
import hashlib
import hmac
import json
import logging
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

import httpx

from counterfoil.simulator import objects
from counterfoil.simulator.engine import Engine
from counterfoil.simulator.objects import Document

log = logging.getLogger(__name__)

#: Seconds to the next attempt. Stripe publishes no table: a sandbox tries three times within a few hours, live for
#: three days, further and further apart.
SANDBOX = (60 * 60, 3 * 60 * 60)
LIVE = tuple(int(55 * 1.9**n) for n in range(1, 13))

#: Seconds that an endpoint may take to answer.
PATIENCE = 10.0


@dataclass
class Endpoint:
    """Where events go: their shape, their types, and the secrets that sign them (several while one is rotated)."""

    id: str
    url: str
    secrets: list[str]
    enabled_events: list[str]
    shape: Literal["snapshot", "thin"] = "snapshot"
    api_version: str = objects.API_VERSION
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: int = 0
    enabled: bool = True

    def wants(self, type: str) -> bool:
        """Whether it is subscribed to a type."""
        return self.enabled and any(fnmatch.fnmatchcase(type, pattern) for pattern in self.enabled_events)

    def shown(self) -> Document:
        """As the API shows it: without the secret, which is shown once."""
        return {
            "id": self.id,
            "object": "webhook_endpoint",
            "api_version": self.api_version,
            "application": None,
            "created": self.created,
            "description": self.description,
            "enabled_events": self.enabled_events,
            "livemode": False,
            "metadata": self.metadata,
            "status": "enabled" if self.enabled else "disabled",
            "url": self.url,
        }


@dataclass
class Delivery:
    """One event to one endpoint, and how its attempts went: statuses, or why there is none."""

    event: Document
    endpoint: Endpoint
    attempts: list[int | str] = field(default_factory=list)
    id: str = field(default_factory=lambda: objects.new_id("dlv"))

    @property
    def done(self) -> bool:
        """Whether an attempt was answered with 2xx."""
        return any(isinstance(attempt, int) and 200 <= attempt < 300 for attempt in self.attempts)


class Deliveries:
    """
    All deliveries of the account.

    Attributes:
        held: Nothing is sent until `release`.
        drop: How many deliveries are lost on the way, from the next on.
        twice: Every delivery is sent twice.
        delay: Seconds on the clock before the first attempt.
    """

    def __init__(self, engine: Engine, retries: tuple[int, ...] = SANDBOX) -> None:
        self.engine = engine
        self.retries = retries
        self.endpoints: dict[str, Endpoint] = {}
        self.log: list[Delivery] = []
        self.held = False
        self.drop = 0
        self.twice = False
        self.delay = 0.0
        self._waiting: list[Delivery] = []
        self._busy: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(16)
        self._by_id: dict[str, Delivery] = {}
        engine.on_event = self._happened
        engine.agenda.doers["deliver"] = lambda delivery: self._send(self._by_id[delivery])

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        # Made when it is needed: it reads all certificates, which takes longer than most accounts live in a test.
        return httpx.AsyncClient(timeout=PATIENCE, trust_env=False, follow_redirects=False)

    def add_endpoint(self, endpoint: Endpoint) -> Endpoint:
        """Send events there from now on."""
        self.endpoints[endpoint.id] = endpoint
        return endpoint

    def remember(self, delivery: Delivery) -> None:
        """A delivery of this account's."""
        self.log.append(delivery)
        self._by_id[delivery.id] = delivery

    def forget(self) -> None:
        """No deliveries."""
        self.log.clear()
        self._by_id.clear()

    def release(self, order: Callable[[list[Delivery]], list[Delivery]] | None = None) -> None:
        """Let go what was held, one after the other, in an order of one's own."""
        self.held = False
        waiting, self._waiting = self._waiting, []
        self._begin(self._in_turn(order(waiting) if order else waiting), "in turn")

    async def _in_turn(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            await self._attempt(delivery)

    def shuffle(self, seed: int) -> None:
        """Let go what was held, shuffled."""

        def shuffled(waiting: list[Delivery]) -> list[Delivery]:
            mixed = list(waiting)
            random.Random(seed).shuffle(mixed)  # noqa: S311
            return mixed

        self.release(shuffled)

    def resend(self, event_id: str) -> None:
        """Send an event again, to every endpoint that wants it."""
        event = self.engine.events[event_id]
        for endpoint in self.endpoints.values():
            if endpoint.wants(event["type"]):
                self._send(self._delivery(event, endpoint))

    def twin(self, event_id: str) -> None:
        """Another event, of another id, about the same change."""
        twin = self.engine.events[event_id] | {"id": objects.new_id("evt")}
        self.engine.events[twin["id"]] = twin
        self._happened(twin)

    async def idle(self) -> None:
        """Return when nothing is on its way."""
        while self._busy:
            await asyncio.wait(self._busy)

    async def answered(self, type: str, object_id: str, within: float = PATIENCE) -> None:
        """Return when the first attempt for this was answered, or after *within* seconds: as the payment page waits."""
        tasks = [task for task in self._busy if task.get_name() == f"{type} {object_id}"]
        if tasks:
            await asyncio.wait(tasks, timeout=within)

    async def close(self) -> None:
        """Stop sending."""
        for task in list(self._busy):
            task.cancel()
        if "_client" in self.__dict__:
            await self._client.aclose()

    def _happened(self, event: Document) -> None:
        for endpoint in self.endpoints.values():
            if endpoint.wants(event["type"]):
                event["pending_webhooks"] += 1
                delivery = self._delivery(event, endpoint)
                if self.held:
                    self._waiting.append(delivery)
                elif self.delay:
                    self.engine.agenda.after(self.delay, "deliver", delivery.id)
                else:
                    self._send(delivery)

    def _delivery(self, event: Document, endpoint: Endpoint) -> Delivery:
        delivery = Delivery(event, endpoint)
        self.remember(delivery)
        return delivery

    def _send(self, delivery: Delivery) -> None:
        if self.drop > 0:
            self.drop -= 1
            delivery.attempts.append("dropped")
            return
        for _ in range(2 if self.twice else 1):
            name = f"{delivery.event['type']} {delivery.event['data']['object']['id']}"
            self._begin(self._attempt(delivery), name)

    def _begin(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _attempt(self, delivery: Delivery) -> None:
        endpoint = delivery.endpoint
        stamp = self.engine.clock.stamp()
        body = json.dumps(self._shape(delivery), separators=(",", ":")).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "Stripe/1.0 (simulated)",
            "Stripe-Signature": sign(body, stamp, endpoint.secrets),
        }
        try:
            async with self._slots:
                answer = await self._client.post(endpoint.url, content=body, headers=headers)
        except httpx.HTTPError as error:
            delivery.attempts.append(type(error).__name__)
        else:
            delivery.attempts.append(answer.status_code)
        self.engine.changed = True
        if delivery.done:
            delivery.event["pending_webhooks"] = max(0, delivery.event["pending_webhooks"] - 1)
            return
        tried = len(delivery.attempts) - 1
        if tried < len(self.retries) and endpoint.enabled:
            self.engine.agenda.after(self.retries[tried], "deliver", delivery.id)

    def _shape(self, delivery: Delivery) -> Document:
        if delivery.endpoint.shape == "snapshot":
            return delivery.event | {"api_version": delivery.endpoint.api_version}
        created = datetime.fromtimestamp(delivery.event["created"], UTC).isoformat().replace("+00:00", "Z")
        return objects.thin(delivery.event, created)


def sign(body: bytes, stamp: int, secrets: list[str]) -> str:
    """The header of a delivery: one ``v1`` per live secret (docs.stripe.com/webhooks, verify manually)."""
    signatures = [
        hmac.new(secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest() for secret in secrets
    ]
    return ",".join([f"t={stamp}", *(f"v1={signature}" for signature in signatures)])
