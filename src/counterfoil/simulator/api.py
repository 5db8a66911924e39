"""Stripe's API, as far as the SDK's Checkout needs it: `/v1` and the thin events of `/v2`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Handler
from counterfoil.simulator.faults import Fault
from counterfoil.simulator.nouns import customers, discounts, disputes, endpoints, events, payments, refunds, sessions
from counterfoil.simulator.refusals import ApiError


class Answer(Response):
    """An answer of the API."""

    media_type = "application/json"


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one call, or do to it what a fault says."""
    request = Request(scope, receive)
    account: Account = scope["app"].state.account
    call = Call(request, await request.body())
    fault = account.faults.take(call.method, call.path)
    answer: Response
    if fault and fault.kind == "lost_before":
        await _given_up(receive)
        return
    if fault and fault.kind == "reset":
        await _cut(send)
        return
    try:
        _authenticate(call)
        kind, handler = _route(call)
        if account.over_rate(kind):
            raise _RATE_LIMITED
        if fault and fault.kind == "refuse":
            answer = _answer(call, fault.status, json.dumps(fault.body()).encode(), fault.headers)
        else:
            answer = await _once(account, call, handler, fault)
    except ApiError as error:
        answer = _answer(call, error.status, json.dumps(error.body).encode(), error.headers)
    if fault and fault.kind == "lost_after":
        await _given_up(receive)
        return
    if fault and fault.kind == "drip":
        answer = StreamingResponse(_dripping(bytes(answer.body), fault.seconds), answer.status_code, answer.headers)
    await answer(scope, receive, send)


async def _once(account: Account, call: Call, handler: Handler, fault: Fault | None) -> Response:
    if call.key is None:
        return await _executed(account, call, handler, fault)
    stored = account.keys.begin(call.key, call.fingerprint, call.request_id)
    if stored is not None:
        return _answer(
            call,
            stored.status or 200,
            stored.body,
            {"Idempotent-Replayed": "true", "Original-Request": stored.request_id},
        )
    try:
        answer = await _executed(account, call, handler, fault)
    except ApiError as error:
        if error.validation:
            account.keys.forget(call.key)
        else:
            account.keys.finish(call.key, error.status, json.dumps(error.body).encode())
        raise
    except BaseException:
        account.keys.forget(call.key)
        raise
    account.keys.finish(call.key, answer.status_code, bytes(answer.body))
    return answer


async def _executed(account: Account, call: Call, handler: Handler, fault: Fault | None) -> Response:
    if fault and fault.kind == "slow":
        await asyncio.sleep(fault.seconds)
    found = handler(account, call)
    if fault and fault.kind == "error_after":
        return _answer(call, 500, json.dumps(fault.body()).encode(), fault.headers)
    return _answer(call, 200, json.dumps(found, separators=(",", ":")).encode())


async def _given_up(receive: Receive) -> None:
    """Answer nothing, until the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _dripping(body: bytes, seconds: float) -> AsyncIterator[bytes]:
    for byte in body:
        await asyncio.sleep(seconds / len(body))
        yield bytes([byte])


async def _cut(send: Send) -> None:
    """Break off in the middle of an answer: the server then closes the connection."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{", "more_body": True})
    raise ConnectionResetError("a fault that was asked for")


def _authenticate(call: Call) -> None:
    scheme, _, key = call.authorization.partition(" ")
    if scheme != "Bearer" or not key:
        raise ApiError(
            401,
            "You did not provide an API key. You need to provide your API key in the Authorization header, using "
            "Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
        )
    if not key.startswith(("sk_test_", "rk_test_")):
        raise ApiError(401, f"Invalid API Key provided: {key[:8]}***. The simulator takes test keys only.")


def _answer(call: Call, status: int, body: bytes, headers: dict[str, str] | None = None) -> Response:
    sent = {"Request-Id": call.request_id, "Stripe-Version": call.version} | (headers or {})
    if call.key:
        sent["Idempotency-Key"] = call.key
    return Answer(body, status, sent)


_RATE_LIMITED = ApiError(
    429,
    "Request rate limit exceeded. Learn more about rate limits here https://docs.stripe.com/rate-limits.",
    code="rate_limit",
    headers={"Stripe-Rate-Limited-Reason": "endpoint-rate"},
)


def _table() -> list[tuple[str, str, re.Pattern[str], Handler]]:
    nouns = (sessions, payments, refunds, disputes, discounts, customers, events, endpoints)
    return [
        (f"{method} {path}", method, re.compile(path.replace("{id}", "(?P<id>[^/]+)") + "/?"), handler)
        for noun in nouns
        for method, path, handler in noun.ROUTES
    ]


_TABLE = _table()


def _route(call: Call) -> tuple[str, Handler]:
    """What kind of call it is, and who answers it."""
    for kind, method, path, handler in _TABLE:
        found = path.fullmatch(call.path) if method == call.method else None
        if found:
            call.id = found.groupdict().get("id", "")
            return kind, handler
    raise ApiError(404, f"Unrecognized request URL ({call.method}: {call.path}).")
