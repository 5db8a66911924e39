"""
Stripe's stand-in without a network: the real SDK and the simulator's real API, in this thread.

Nothing waits for anything, so a call is a plain function call, and what a test or a simulation drew happens in the
order in which it was drawn. Idempotency keys, refusals and faults are those of the simulator.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import stripe

from counterfoil.clocks import Clocks
from counterfoil.simulator import api
from counterfoil.simulator.account import Account
from counterfoil.simulator.clock import Clock
from counterfoil.simulator.engine import Engine
from counterfoil.stripe.drivers import SyncStripe


class _InThisThread(stripe.HTTPClient):
    """The SDK's way to the simulator's API."""

    name = "in-process"

    def __init__(self, account: Account) -> None:
        super().__init__()
        self._app = SimpleNamespace(state=SimpleNamespace(account=account))

    def request(self, method: str, url: str, headers: Any, post_data: Any = None) -> tuple[bytes, int, Any]:
        """One request. An answer that the simulator loses is one that never comes."""
        parts = urlsplit(url)
        scope = {
            "type": "http",
            "app": self._app,
            "method": method.upper(),
            "path": parts.path,
            "query_string": parts.query.encode(),
            "headers": [(name.lower().encode(), str(value).encode()) for name, value in headers.items()],
        }
        body = post_data.encode() if isinstance(post_data, str) else post_data or b""
        asked = iter([{"type": "http.request", "body": body}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(asked, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        try:
            api.serve(scope, receive, send).send(None)
        except StopIteration:
            pass
        except ConnectionResetError as error:
            raise stripe.APIConnectionError(str(error)) from error
        else:
            raise AssertionError(f"{method} {parts.path} waits for something")
        if not sent:
            raise stripe.APIConnectionError("no answer came")
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return b"".join(message.get("body", b"") for message in sent[1:]), sent[0]["status"], answered


def in_process(account: Account, clocks: Clocks) -> SyncStripe:
    """The real driver, over the API of an account in this process. It tries once, so that it never pauses."""
    driver = SyncStripe("sk_test_in_process", clocks)
    driver.client = stripe.StripeClient("sk_test_in_process", http_client=_InThisThread(account), max_network_retries=0)
    return driver


def beside(connection: psycopg.Connection[Any], **options: Any) -> Engine:
    """The state of an account whose clock is the database's, as earlier tests have moved it."""
    row = connection.execute("SELECT ahead FROM counterfoil.clock_ahead").fetchone()
    assert row
    return Engine("http://127.0.0.1", Clock(row[0]), **options)
