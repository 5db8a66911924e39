"""
The controls over HTTP, for whoever drives the simulator from another process: JSON under ``/_simulator``.

Only on loopback names, so that no page of the web reaches them through a name of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from counterfoil.simulator import money_back, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.deliveries import LIVE, SANDBOX
from counterfoil.simulator.engine import Cause, Challenged, Closed, Declined
from counterfoil.simulator.faults import Fault
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError

Handler = Callable[[Request], Awaitable[Response]]


def local(handler: Handler) -> Handler:
    """Answer only what was asked of a loopback name."""

    async def guarded(request: Request) -> Response:
        if request.url.hostname not in ("127.0.0.1", "localhost", "::1"):
            return JSONResponse({"error": "the controls answer on 127.0.0.1 and localhost only"}, 403)
        origin = request.headers.get("origin")
        if request.method == "POST" and origin and origin != f"{request.url.scheme}://{request.url.netloc}":
            return JSONResponse({"error": "the controls are not for other pages"}, 403)
        try:
            return await handler(request)
        except ApiError as error:
            return JSONResponse(error.body, error.status)
        except Declined as declined:
            return JSONResponse({"declined": declined.code}, 402)
        except Closed as closed:
            return JSONResponse({"closed": str(closed)}, 409)
        except (ValueError, KeyError, TypeError) as error:
            return JSONResponse({"error": str(error)}, 400)

    return guarded


def account_of(request: Request) -> Account:
    """The account of this simulator."""
    account: Account = request.app.state.account
    return account


async def _body(request: Request) -> dict[str, Any]:
    return dict(await request.json()) if await request.body() else {}


async def _told(account: Account, changed: Document) -> Response:
    """What was changed, once its events were delivered."""
    await account.deliveries.idle()
    return JSONResponse(objects.shown(changed))


async def read_clock(request: Request) -> Response:
    """Now, in seconds since the epoch."""
    return JSONResponse({"now": account_of(request).engine.clock.seconds()})


async def move_clock(request: Request) -> Response:
    """Move it forward by ``seconds``."""
    account = account_of(request)
    await account.advance(timedelta(seconds=float((await _body(request))["seconds"])))
    return await read_clock(request)


async def sessions(request: Request) -> Response:
    """All sessions, newest first."""
    return JSONResponse([objects.shown(session) for session in account_of(request).engine.newest("sessions")])


async def pay(request: Request) -> Response:
    """Pay a session with ``card``, or by ``method`` bacs_debit with its ``ending``, and wait for its events."""
    account, body = account_of(request), await _body(request)
    id = request.path_params["id"]
    try:
        if body.get("method") == "bacs_debit":
            paid = account.engine.pay_delayed(id, body.get("ending", "succeeded"))
        else:
            paid = account.engine.pay(id, body.get("card", "4242424242424242"))
    except Challenged:
        return JSONResponse({"challenge": f"/_simulator/sessions/{id}/challenge"}, 402)
    return await _told(account, paid)


async def challenge(request: Request) -> Response:
    """Answer the question of a card's bank: ``approve`` true or false; and wait for its events."""
    account, body = account_of(request), await _body(request)
    session = account.engine.answer_challenge(request.path_params["id"], approve=bool(body.get("approve", True)))
    return await _told(account, session)


async def close_dispute(request: Request) -> Response:
    """The bank decides: ``status`` won or lost."""
    account, body = account_of(request), await _body(request)
    if body.get("status") not in ("won", "lost"):
        raise ValueError("status is won or lost")
    dispute = account.engine.disputes[request.path_params["id"]]
    money_back.close_dispute(account.engine, dispute, body["status"], Cause())
    return await _told(account, dispute)


async def fail_refund(request: Request) -> Response:
    """The money did not arrive after all."""
    account = account_of(request)
    refund = account.engine.refunds[request.path_params["id"]]
    money_back.refund_fails(account.engine, refund)
    return await _told(account, refund)


async def read_switches(request: Request) -> Response:
    """How it behaves where Stripe does not say, or where it can be told."""
    account = account_of(request)
    return JSONResponse(
        {
            "late_challenge_wins": account.engine.late_challenge_wins,
            "counted_again": account.engine.counted_again,
            "expiry_lag": account.engine.expiry_lag.total_seconds(),
            "delayed_for": account.engine.delayed_for.total_seconds(),
            "rate_limit": account.rate_limit,
            "retries": "live" if account.deliveries.retries == LIVE else "sandbox",
        }
    )


async def set_switches(request: Request) -> Response:
    """Set some of them; seconds for durations."""
    account, body = account_of(request), await _body(request)
    for name in ("late_challenge_wins", "counted_again"):
        if name in body:
            setattr(account.engine, name, bool(body.pop(name)))
    for name in ("expiry_lag", "delayed_for"):
        if name in body:
            setattr(account.engine, name, timedelta(seconds=float(body.pop(name))))
    if "rate_limit" in body:
        limit = body.pop("rate_limit")
        account.rate_limit = None if limit is None else int(limit)
    if "retries" in body:
        account.deliveries.retries = {"live": LIVE, "sandbox": SANDBOX}[body.pop("retries")]
    if body:
        raise ValueError(f"there is no switch {', '.join(body)}")
    return await read_switches(request)


async def expire(request: Request) -> Response:
    """Expire a session, and wait for its event."""
    account = account_of(request)
    expired = account.engine.expire_session(request.path_params["id"], Cause())
    return await _told(account, expired)


async def add_fault(request: Request) -> Response:
    """What the next calls that fit run into; see `faults.Fault`."""
    account_of(request).faults.add(Fault(**await _body(request)))
    return JSONResponse({}, 201)


async def clear_faults(request: Request) -> Response:
    """No more faults."""
    account_of(request).faults.clear()
    return JSONResponse({})


async def events(request: Request) -> Response:
    """All deliveries: the event, where to, and how each attempt went."""
    return JSONResponse(
        [
            {"event": delivery.event, "url": delivery.endpoint.url, "attempts": delivery.attempts}
            for delivery in account_of(request).deliveries.log
        ]
    )


async def steer_events(request: Request) -> Response:
    """``hold``, ``release`` (``shuffle`` by a seed), ``delay`` seconds, ``drop`` n, ``twice``, ``resend``, ``twin``."""
    deliveries, body = account_of(request).deliveries, await _body(request)
    if body.get("hold"):
        deliveries.held = True
    if "drop" in body:
        deliveries.drop = int(body["drop"])
    if "delay" in body:
        deliveries.delay = float(body["delay"])
    if "twice" in body:
        deliveries.twice = bool(body["twice"])
    if "resend" in body:
        deliveries.resend(body["resend"])
    if "twin" in body:
        deliveries.twin(body["twin"])
    if "shuffle" in body:
        deliveries.shuffle(int(body["shuffle"]))
    elif body.get("release"):
        deliveries.release()
    await deliveries.idle()
    return JSONResponse({})


async def add_endpoint(request: Request) -> Response:
    """Send all events to ``url``, signed with ``secret``; ``shape`` snapshot or thin."""
    body = await _body(request)
    endpoint = account_of(request).add_endpoint(body.pop("url"), body.pop("secret", None), **body)
    return JSONResponse(endpoint.shown() | {"secret": endpoint.secrets[0]}, 201)


def _routes() -> list[Route]:
    calls: list[tuple[str, str, Handler]] = [
        ("GET", "clock", read_clock),
        ("POST", "clock", move_clock),
        ("GET", "sessions", sessions),
        ("POST", "sessions/{id}/pay", pay),
        ("POST", "sessions/{id}/challenge", challenge),
        ("POST", "sessions/{id}/expire", expire),
        ("POST", "disputes/{id}/close", close_dispute),
        ("POST", "refunds/{id}/fail", fail_refund),
        ("GET", "switches", read_switches),
        ("POST", "switches", set_switches),
        ("POST", "faults", add_fault),
        ("DELETE", "faults", clear_faults),
        ("GET", "events", events),
        ("POST", "events", steer_events),
        ("POST", "endpoints", add_endpoint),
    ]
    return [Route(f"/_simulator/{path}", local(handler), methods=[method]) for method, path, handler in calls]


routes = _routes()
