"""A service that listens on a free port, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import httpx
import uvicorn
from fastapi import FastAPI

from counterfoil.listening import listen
from counterfoil.service.app import create_app
from counterfoil.service.server import Server
from counterfoil.service.settings import load
from counterfoil.simulator import Running
from tests.support.documented import Documented

ADMIN_KEY = "an-admin-key-of-the-tests-0123456789"


@dataclass(frozen=True)
class Service:
    """Where it listens, and a client that has its admin key."""

    url: str
    client: httpx.Client

    def post(self, path: str, body: Any = None, *, status: int | None = None, **headers: str) -> Any:
        """POST, and the answer's document; *status* is asserted if given."""
        answer = self.client.post(path, json=body, headers=headers)
        assert status is None or answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def get(self, path: str, *, status: int | None = 200, **query: Any) -> Any:
        """GET, and the answer's document; *status* is asserted if given."""
        answer = self.client.get(path, params=query)
        assert status is None or answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def code(self, code: str = "NORTH-26", *, cap: int | None = 2, **more: Any) -> Any:
        """A school, a product of 20 pounds, and a code of half its price."""
        if not self.get("/v1/institutions")["data"]:
            self.post("/v1/institutions", {"name": "Northfold", "time_zone": "Europe/London"}, status=201)
            self.post(
                "/v1/products",
                {"id": "hub", "name": "Practice hub", "amount": 2000, "currency": "gbp", "unlocks": ["hub"]},
                status=201,
            )
        body = {"institution": "northfold", "code": code, "cap": cap, "discount": {"percent": 50}, **more}
        return self.post("/v1/codes", body, status=201)

    def order(self, buyer: str, code: str | None = "NORTH-26", **more: Any) -> dict[str, Any]:
        """The body of a checkout."""
        body = {
            "product": "hub",
            "buyer": buyer,
            "success_url": f"{self.url}/thanks?s={{CHECKOUT_SESSION_ID}}",
            "cancel_url": f"{self.url}/back",
            **more,
        }
        return body if code is None else body | {"code": code}

    def open(self, buyer: str, code: str | None = "NORTH-26", *, status: int | None = 201, **more: Any) -> Any:
        """Open a checkout."""
        return self.post("/v1/checkouts", self.order(buyer, code, **more), status=status)


@contextmanager
def in_thread(app: Any, listening: socket.socket, *, lifespan: Literal["on", "off"] = "on") -> Iterator[str]:
    """Serve an application on a socket, in a thread, until the block ends: its address."""
    config = uvicorn.Config(app, log_level="warning", lifespan=lifespan, access_log=False)
    server = Server(config, app) if isinstance(app, FastAPI) else uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(30)


async def body_of(receive: Any) -> bytes:
    """The whole body of a request, for an application that is no framework's."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


@contextmanager
def serving(database_url: str, simulator: Running, **settings: str) -> Iterator[Service]:
    """Run a service until the block ends."""
    listening = listen("127.0.0.1")
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    given = {
        "COUNTERFOIL_DATABASE_URL": database_url,
        "COUNTERFOIL_PUBLIC_URL": url,
        "COUNTERFOIL_SECRET_KEY": "a-secret-key-of-the-tests-0123456789",
        "COUNTERFOIL_ADMIN_KEY": ADMIN_KEY,
        "STRIPE_SECRET_KEY": "sk_test_tests",
        "STRIPE_WEBHOOK_SECRET": simulator.secret,
        "STRIPE_API_BASE": simulator.base_url,
        # Tests that keep events back must not be helped unasked.
        "COUNTERFOIL_RECONCILE_INTERVAL": "0",
        # The simulator sets no limit unless it is told to.
        "COUNTERFOIL_STRIPE_RATE": "1000",
        # Services of several tests share a database: one of them sends its events only where a test is about that.
        "COUNTERFOIL_WEBHOOK_INTERVAL": "0",
        "COUNTERFOIL_MAIL_INTERVAL": "0",
        **settings,
    }
    app = create_app(load(**given))
    with (
        in_thread(app, listening),
        httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {ADMIN_KEY}"},
            timeout=30,
            event_hooks={"response": [Documented(app)]},
        ) as client,
    ):
        # The socket listens already: the first request waits until the service is ready.
        client.get("/healthz").raise_for_status()
        yield Service(url, client)
