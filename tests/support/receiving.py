"""A receiver of our events: it listens, keeps what it was sent, and answers as it is told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from counterfoil.listening import listen
from tests.support.serving import body_of, in_thread


@dataclass(frozen=True)
class Sent:
    """One request, as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        """The event in it."""
        return json.loads(self.body)

    @property
    def said(self) -> tuple[str, str]:
        """What happened to which resource."""
        return self.event["type"], self.event["data"].get("id")


class Receiver:
    """
    Where it listens, what it was sent, and how it answers.

    Attributes:
        answer: The status for an event.
        arrived: Called with each event, before it is answered.
        gates: An event of a type that is a key here is answered once its gate is open.
    """

    def __init__(self) -> None:
        self.url = ""
        self.sent: list[Sent] = []
        self.answer: Callable[[Any], int] = lambda _: 200
        self.arrived: Callable[[Any], object] = lambda _: None
        self.gates: dict[str, threading.Event] = {}
        self.location: str | None = None
        self._lock = threading.Lock()

    def told(self) -> list[str]:
        """The types of the events it was sent, in order."""
        return [one.event["type"] for one in self.sent]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Take an event."""
        one = Sent({name.decode(): value.decode() for name, value in scope["headers"]}, await body_of(receive))
        with self._lock:
            self.sent.append(one)
        self.arrived(one.event)
        if gate := self.gates.get(one.event["type"]):
            await asyncio.to_thread(gate.wait, 20)
        headers = [(b"location", self.location.encode())] if self.location else []
        await send({"type": "http.response.start", "status": self.answer(one.event), "headers": headers})
        await send({"type": "http.response.body", "body": b"thanks"})


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens until the block ends."""
    receiver = Receiver()
    listening = listen("127.0.0.1")
    receiver.url = f"http://127.0.0.1:{listening.getsockname()[1]}/events"
    with in_thread(receiver, listening, lifespan="off"):
        yield receiver
