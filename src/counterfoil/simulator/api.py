"""Stripe's API, as far as the SDK's Checkout needs it: `/v1` and the thin events of `/v2`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from counterfoil.simulator import forms, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.deliveries import Endpoint
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.faults import Fault
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, missing, missing_parameter, unknown_parameter

Handler = Callable[[Account, "Call"], Document]


class Call:
    """One call of the API: its parameters, and what it was made with."""

    def __init__(self, request: Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.url.path
        encoded = body.decode() if self.method == "POST" else request.url.query
        self.given = forms.decode(encoded)
        self.key = request.headers.get("idempotency-key") if self.method == "POST" else None
        self.request_id = objects.new_id("req", 14)
        self.version = request.headers.get("stripe-version", objects.API_VERSION)
        self.fingerprint = f"{self.method} {self.path} {encoded}"
        self.authorization = request.headers.get("authorization", "")
        self.id = ""

    def expand(self) -> list[str]:
        """What is to be expanded; taken out of the parameters."""
        return list(self.given.pop("expand", []))

    def nothing_else(self) -> None:
        """Refuse what is left of the parameters."""
        for name in self.given:
            raise unknown_parameter(name)


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
        if fault and fault.kind == "refuse":
            answer = _answer(call, fault.status, json.dumps(fault.body()).encode(), fault.headers)
        else:
            answer = await _once(account, call, fault)
    except ApiError as error:
        answer = _answer(call, error.status, json.dumps(error.body).encode(), error.headers)
    if fault and fault.kind == "lost_after":
        await _given_up(receive)
        return
    if fault and fault.kind == "drip":
        answer = StreamingResponse(_dripping(bytes(answer.body), fault.seconds), answer.status_code, answer.headers)
    await answer(scope, receive, send)


async def _once(account: Account, call: Call, fault: Fault | None) -> Response:
    if call.key is None:
        return await _executed(account, call, fault)
    stored = account.keys.begin(call.key, call.fingerprint, call.request_id)
    if stored is not None:
        return _answer(
            call,
            stored.status or 200,
            stored.body,
            {"Idempotent-Replayed": "true", "Original-Request": stored.request_id},
        )
    try:
        answer = await _executed(account, call, fault)
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


async def _executed(account: Account, call: Call, fault: Fault | None) -> Response:
    if fault and fault.kind == "slow":
        await asyncio.sleep(fault.seconds)
    found = _route(call)(account, call)
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


def _route(call: Call) -> Handler:
    parts = call.path.strip("/").split("/")
    handler: Handler | None = None
    match call.method, parts:
        case "POST", ["v1", "checkout", "sessions"]:
            handler = _create_session
        case "GET", ["v1", "checkout", "sessions"]:
            handler = _list_sessions
        case "GET", ["v1", "checkout", "sessions", _]:
            call.id, handler = parts[3], _retrieve_session
        case "POST", ["v1", "checkout", "sessions", _, "expire"]:
            call.id, handler = parts[3], _expire_session
        case "GET", ["v1", "checkout", "sessions", _, "line_items"]:
            call.id, handler = parts[3], _line_items
        case "GET", ["v1", "payment_intents", _]:
            call.id, handler = parts[2], _retrieve_intent
        case "GET", ["v1", "charges", _]:
            call.id, handler = parts[2], _retrieve_charge
        case "GET", ["v1", "events"]:
            handler = _list_events
        case "GET", ["v1", "events", _]:
            call.id, handler = parts[2], _retrieve_event
        case "GET", ["v2", "core", "events", _]:
            call.id, handler = parts[3], _retrieve_thin_event
        case "POST", ["v1", "webhook_endpoints"]:
            handler = _create_endpoint
        case "GET", ["v1", "webhook_endpoints"]:
            handler = _list_endpoints
        case "DELETE", ["v1", "webhook_endpoints", _]:
            call.id, handler = parts[2], _delete_endpoint
    if handler is None:
        raise ApiError(404, f"Unrecognized request URL ({call.method}: {call.path}).")
    return handler


def _create_session(account: Account, call: Call) -> Document:
    expand = call.expand()
    return _session(account, account.engine.create_session(call.given), expand)


def _retrieve_session(account: Account, call: Call) -> Document:
    expand = call.expand()
    call.nothing_else()
    return _session(account, account.engine.session(call.id), expand)


def _expire_session(account: Account, call: Call) -> Document:
    expand = call.expand()
    call.nothing_else()
    return _session(account, account.engine.expire_session(call.id, Cause(call.request_id, call.key)), expand)


def _line_items(account: Account, call: Call) -> Document:
    items = account.engine.session(call.id)["_line_items"]
    return _page(call, items, f"/v1/checkout/sessions/{call.id}/line_items")


def _list_sessions(account: Account, call: Call) -> Document:
    expand = call.expand()
    wanted = {name: call.given.pop(name) for name in ("status", "payment_intent") if name in call.given}
    email = call.given.pop("customer_details", {}).get("email")
    created = _range(call)
    fitting = (
        session
        for session in account.engine.newest("sessions")
        if all(session[name] == value for name, value in wanted.items())
        and (email is None or (session["customer_details"] or {}).get("email") == email)
        and created(session["created"])
    )
    page = _page(call, fitting, "/v1/checkout/sessions")
    inner = [name.removeprefix("data.") for name in expand]
    page["data"] = [_session(account, session, inner) for session in page["data"]]
    return page


def _retrieve_intent(account: Account, call: Call) -> Document:
    expand = call.expand()
    if call.id not in account.engine.intents:
        raise missing("payment_intent", call.id, "intent")
    found = dict(account.engine.intents[call.id])
    if "latest_charge" in expand and found["latest_charge"]:
        found["latest_charge"] = account.engine.charges[found["latest_charge"]]
    return found


def _retrieve_charge(account: Account, call: Call) -> Document:
    if call.id not in account.engine.charges:
        raise missing("charge", call.id, "charge")
    return account.engine.charges[call.id]


def _list_events(account: Account, call: Call) -> Document:
    types = call.given.pop("types", None) or ([call.given.pop("type")] if "type" in call.given else None)
    delivered = call.given.pop("delivery_success", None)
    created = _range(call)

    def fits(event: Document) -> bool:
        known = [delivery.done for delivery in account.deliveries.log if delivery.event["id"] == event["id"]]
        success = all(known) if known else True
        return (
            (types is None or event["type"] in types)
            and created(event["created"])
            and (delivered is None or success == (delivered == "true"))
        )

    return _page(call, filter(fits, account.engine.newest("events")), "/v1/events")


def _retrieve_event(account: Account, call: Call) -> Document:
    if call.id not in account.engine.events:
        raise missing("event", call.id)
    return account.engine.events[call.id]


def _retrieve_thin_event(account: Account, call: Call) -> Document:
    event = _retrieve_event(account, call)
    created = datetime.fromtimestamp(event["created"], UTC).isoformat().replace("+00:00", "Z")
    return objects.thin(event, created) | {"changes": None, "snapshot_event": event["id"]}


def _create_endpoint(account: Account, call: Call) -> Document:
    for name in ("url", "enabled_events"):
        if name not in call.given:
            raise missing_parameter(name)
    endpoint = account.deliveries.add_endpoint(
        Endpoint(
            id=objects.new_id("we"),
            url=call.given["url"],
            secrets=[objects.new_id("whsec", 32)],
            enabled_events=list(call.given["enabled_events"]),
            api_version=call.given.get("api_version", objects.API_VERSION),
            created=account.engine.clock.stamp(),
        )
    )
    return endpoint.shown() | {"secret": endpoint.secrets[0]}


def _list_endpoints(account: Account, call: Call) -> Document:
    shown = [endpoint.shown() for endpoint in reversed(account.deliveries.endpoints.values())]
    return _page(call, shown, "/v1/webhook_endpoints")


def _delete_endpoint(account: Account, call: Call) -> Document:
    endpoint = account.deliveries.endpoints.pop(call.id, None)
    if endpoint is None:
        raise missing("webhook endpoint", call.id)
    endpoint.enabled = False
    return {"id": endpoint.id, "object": "webhook_endpoint", "deleted": True}


def _session(account: Account, session: Document, expand: list[str]) -> Document:
    shown = objects.shown(session)
    if "line_items" in expand:
        items = session["_line_items"]
        shown["line_items"] = {
            "object": "list",
            "data": items,
            "has_more": False,
            "url": f"/v1/checkout/sessions/{session['id']}/line_items",
        }
    intent = account.engine.intents.get(session["payment_intent"] or "")
    if intent and any(name.split(".")[0] == "payment_intent" for name in expand):
        shown["payment_intent"] = dict(intent)
        if "payment_intent.latest_charge" in expand and intent["latest_charge"]:
            shown["payment_intent"]["latest_charge"] = account.engine.charges[intent["latest_charge"]]
    return shown


def _range(call: Call) -> Callable[[int], bool]:
    wanted = call.given.pop("created", None)
    if wanted is None:
        return lambda _: True
    if not isinstance(wanted, dict):
        return lambda stamp: stamp == int(wanted)
    tests = {
        "gt": lambda stamp, bound: stamp > bound,
        "gte": lambda stamp, bound: stamp >= bound,
        "lt": lambda stamp, bound: stamp < bound,
        "lte": lambda stamp, bound: stamp <= bound,
    }
    return lambda stamp: all(tests[name](stamp, int(bound)) for name, bound in wanted.items())


def _page(call: Call, found: Iterable[Document], url: str) -> Document:
    limit = call.given.pop("limit", "10")
    if not limit.isdigit() or not 1 <= int(limit) <= 100:
        raise ApiError(400, "This value must be greater than or equal to 1 and at most 100.", param="limit")
    after, before = call.given.pop("starting_after", None), call.given.pop("ending_before", None)
    call.nothing_else()
    data = list(found)
    ids = [document["id"] for document in data]
    for cursor in (after, before):
        if cursor is not None and cursor not in ids:
            raise missing("object", cursor, "starting_after" if cursor == after else "ending_before")
    if after is not None:
        data = data[ids.index(after) + 1 :]
        return {"object": "list", "data": data[: int(limit)], "has_more": len(data) > int(limit), "url": url}
    if before is not None:
        data = data[: ids.index(before)]
        return {"object": "list", "data": data[-int(limit) :], "has_more": len(data) > int(limit), "url": url}
    return {"object": "list", "data": data[: int(limit)], "has_more": len(data) > int(limit), "url": url}
