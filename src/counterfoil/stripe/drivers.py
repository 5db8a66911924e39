"""
Two drivers over the real SDK, sync and async.

A call's whole budget is bounded: a time-out per attempt and a number of attempts, which fit in the slack that the chain
of clocks leaves above Stripe's floor.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httpx
import requests
import stripe

from counterfoil.calls import CreateSession, ExpireSession, RetrieveSession, StripeCall
from counterfoil.clocks import Clocks
from counterfoil.errors import StripeUnavailable
from counterfoil.model import Session
from counterfoil.stripe.sessions import failure, session

STRIPE_API = "https://api.stripe.com"


class SyncStripe:
    """Carries out calls with the sync client. Safe to share between threads."""

    def __init__(self, secret_key: str, clocks: Clocks, api_base: str = STRIPE_API) -> None:
        # A proxy of the environment must not see what goes to this machine itself.
        own = requests.Session()
        own.trust_env = not _on_this_machine(api_base)
        self._http = stripe.RequestsClient(timeout=cast("Any", _connect_and_read(clocks)), session=own)
        self.client = _client(secret_key, clocks, api_base, self._http)

    def carry_out(self, call: StripeCall) -> Session:
        """Carry out one call."""
        sessions = self.client.v1.checkout.sessions
        try:
            match call:
                case CreateSession(parameters, key):
                    return session(sessions.create(cast("Any", parameters), {"idempotency_key": key}))
                case RetrieveSession(session_id):
                    return session(sessions.retrieve(session_id))
                case ExpireSession(session_id):
                    return session(sessions.expire(session_id))
        except stripe.StripeError as error:
            raise failure(call, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()  # type: ignore[no-untyped-call]


class AsyncStripe:
    """Carries out calls with the async client. One per event loop."""

    def __init__(self, secret_key: str, clocks: Clocks, api_base: str = STRIPE_API) -> None:
        connect, read = _connect_and_read(clocks)
        self._http = _HttpxClient(
            httpx.Timeout(read, connect=connect),
            httpx.AsyncClient(
                trust_env=not _on_this_machine(api_base),
                limits=httpx.Limits(max_connections=100, max_keepalive_connections=50),
            ),
        )
        self._budget = clocks.call_budget.total_seconds()
        self.client = _client(secret_key, clocks, api_base, self._http)

    async def carry_out(self, call: StripeCall) -> Session:
        """Carry out one call, within its budget."""
        sessions = self.client.v1.checkout.sessions
        try:
            # guard: the-call-has-its-budget
            async with asyncio.timeout(self._budget):
                match call:
                    case CreateSession(parameters, key):
                        return session(await sessions.create_async(cast("Any", parameters), {"idempotency_key": key}))
                    case RetrieveSession(session_id):
                        return session(await sessions.retrieve_async(session_id))
                    case ExpireSession(session_id):
                        return session(await sessions.expire_async(session_id))
        except stripe.StripeError as error:
            raise failure(call, error) from error
        except TimeoutError as error:
            raise StripeUnavailable(answered=False) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close_async()  # type: ignore[no-untyped-call]


class _HttpxClient(stripe.HTTPXClient):
    """The SDK's httpx client, with an inner client of ours: the SDK offers no way to say which proxies it may use."""

    def __init__(self, timeout: httpx.Timeout, inner: httpx.AsyncClient) -> None:
        super().__init__(timeout=cast("Any", timeout))
        self._client_async = inner


def _client(secret_key: str, clocks: Clocks, api_base: str, http: stripe.HTTPClient) -> stripe.StripeClient:
    # Read at each request: off, the SDK writes no identifier into the user's home and reports no timings.
    stripe.enable_telemetry = False
    return stripe.StripeClient(
        secret_key,
        base_addresses={"api": api_base.rstrip("/")},
        max_network_retries=clocks.stripe_attempts - 1,
        http_client=http,
    )


def _connect_and_read(clocks: Clocks) -> tuple[float, float]:
    """A time-out per attempt, split between connecting and reading, so that together they are one."""
    whole = clocks.stripe_timeout.total_seconds()
    return whole * 0.3, whole * 0.7


def _on_this_machine(api_base: str) -> bool:
    return httpx.URL(api_base).host in ("127.0.0.1", "localhost", "::1")
