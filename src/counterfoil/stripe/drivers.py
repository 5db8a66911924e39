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

from counterfoil.calls import (
    CreateSession,
    ExpireSession,
    ListDisputes,
    ListEvents,
    ListSessions,
    PaymentOf,
    RetrieveSession,
    StripeCall,
)
from counterfoil.clocks import Clocks
from counterfoil.errors import StripeUnavailable
from counterfoil.stripe.sessions import EXPAND, disputes, event_page, failure, session, session_page

STRIPE_API = "https://api.stripe.com"


class SyncStripe:
    """Carries out calls with the sync client. Safe to share between threads."""

    def __init__(self, secret_key: str, clocks: Clocks, api_base: str = STRIPE_API) -> None:
        # A proxy of the environment must not see what goes to this machine itself.
        own = requests.Session()
        own.trust_env = not _on_this_machine(api_base)
        self._http = stripe.RequestsClient(timeout=cast("Any", _connect_and_read(clocks)), session=own)
        self.client = _client(secret_key, clocks, api_base, self._http)

    def carry_out(self, call: StripeCall) -> Any:
        """Carry out one call; what it answers and raises stands with it, in ``calls.py``."""
        v1 = self.client.v1
        sessions = v1.checkout.sessions
        try:
            match call:
                case CreateSession(parameters, key):
                    return session(sessions.create(cast("Any", parameters), {"idempotency_key": key}))
                case RetrieveSession(session_id):
                    return session(sessions.retrieve(session_id, {"expand": [EXPAND]}))
                case ExpireSession(session_id):
                    return session(sessions.expire(session_id, {"expand": [EXPAND]}))
                case ListSessions():
                    return session_page(sessions.list(_sessions_wanted(call)))
                case ListDisputes(payment_intent):
                    return disputes(v1.disputes.list({"payment_intent": payment_intent, "limit": 100}))
                case PaymentOf(object_id, kind):
                    return _payment(getattr(v1, kind).retrieve(object_id))
                case ListEvents():
                    return event_page(v1.events.list(_events_wanted(call)))
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

    async def carry_out(self, call: StripeCall) -> Any:
        """Carry out one call, within its budget; what it answers and raises stands with it, in ``calls.py``."""
        v1 = self.client.v1
        sessions = v1.checkout.sessions
        try:
            # guard: the-call-has-its-budget
            async with asyncio.timeout(self._budget):
                match call:
                    case CreateSession(parameters, key):
                        return session(await sessions.create_async(cast("Any", parameters), {"idempotency_key": key}))
                    case RetrieveSession(session_id):
                        return session(await sessions.retrieve_async(session_id, {"expand": [EXPAND]}))
                    case ExpireSession(session_id):
                        return session(await sessions.expire_async(session_id, {"expand": [EXPAND]}))
                    case ListSessions():
                        return session_page(await sessions.list_async(_sessions_wanted(call)))
                    case ListDisputes(payment_intent):
                        wanted: Any = {"payment_intent": payment_intent, "limit": 100}
                        return disputes(await v1.disputes.list_async(wanted))
                    case PaymentOf(object_id, kind):
                        return _payment(await getattr(v1, kind).retrieve_async(object_id))
                    case ListEvents():
                        return event_page(await v1.events.list_async(_events_wanted(call)))
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


def _sessions_wanted(call: ListSessions) -> Any:
    wanted: dict[str, Any] = {"limit": 100, "expand": [f"data.{EXPAND}"]}
    if call.payment_intent is not None:
        wanted["payment_intent"] = call.payment_intent
    if call.created_since is not None:
        wanted["created"] = {"gte": int(call.created_since.timestamp())}
    return wanted | _after(call.after)


def _events_wanted(call: ListEvents) -> Any:
    since = {"gte": int(call.created_since.timestamp())}
    return {"types": list(call.types), "created": since, "limit": 100} | _after(call.after)


def _after(cursor: str | None) -> dict[str, Any]:
    return {} if cursor is None else {"starting_after": cursor}


def _payment(found: Any) -> str | None:
    """The payment intent's id of a charge, a refund or a dispute: a `StripeObject` is no dict."""
    intent: str | None = found.to_dict().get("payment_intent")
    return intent


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
