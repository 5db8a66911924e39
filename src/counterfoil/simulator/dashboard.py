"""A page to look at and to steer from: sessions, payments, events, faults, the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast, get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from counterfoil.simulator import money_back
from counterfoil.simulator.control import account_of, local
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.faults import Fault, Kind
from counterfoil.simulator.money import written
from counterfoil.simulator.till import templates

STEPS = {"60": "+1 min", "600": "+10 min", "1860": "+31 min", "86400": "+1 day", "345600": "+4 days"}


async def show(request: Request) -> Response:
    """The newest sessions and deliveries, and the clock."""
    account = account_of(request)
    sessions = [
        {
            "id": session["id"],
            "name": session["_line_items"][0]["description"],
            "total": written(session["amount_total"], session["currency"]),
            "status": session["status"],
            "payment_status": session["payment_status"],
            "expires": datetime.fromtimestamp(session["expires_at"], UTC),
        }
        for session, _ in zip(account.engine.newest("sessions"), range(50), strict=False)
    ]
    payments = [
        {
            "charge": charge["id"],
            "amount": written(charge["amount"], charge["currency"]),
            "refunded": written(charge["amount_refunded"], charge["currency"]) if charge["amount_refunded"] else "",
            "state": "refunded" if charge["refunded"] else "disputed" if charge["disputed"] else charge["status"],
            "refundable": charge["paid"] and not charge["refunded"] and not charge["disputed"],
        }
        for charge, _ in zip(reversed(account.engine.charges.values()), range(50), strict=False)
    ]
    deliveries = [
        {
            "type": delivery.event["type"],
            "id": delivery.event["id"],
            "about": delivery.event["data"]["object"]["id"],
            "attempts": delivery.attempts,
            "done": delivery.done,
        }
        for delivery in account.deliveries.log[:-51:-1]
    ]
    return templates.TemplateResponse(
        request,
        "dashboard.html",
        {
            "now": account.engine.clock.now(),
            "sessions": sessions,
            "payments": payments,
            "deliveries": deliveries,
            "faults": account.faults.waiting,
            "kinds": get_args(Kind),
            "steps": STEPS,
        },
    )


async def move(request: Request) -> Response:
    """A button of the clock was pressed."""
    account = account_of(request)
    await account.advance(timedelta(seconds=int(str((await request.form())["seconds"]))))
    return RedirectResponse("/_simulator/", 303)


async def resend(request: Request) -> Response:
    """An event is to be sent again."""
    account = account_of(request)
    account.deliveries.resend(str((await request.form())["event"]))
    await account.deliveries.idle()
    return RedirectResponse("/_simulator/", 303)


async def refund(request: Request) -> Response:
    """A payment is to be given back whole."""
    account = account_of(request)
    charge = account.engine.charges[str((await request.form())["charge"])]
    left = charge["amount"] - charge["amount_refunded"]
    if charge["paid"] and left and not charge["disputed"]:
        money_back.refund(account.engine, charge, left, "requested_by_customer", {}, Cause())
    await account.deliveries.idle()
    return RedirectResponse("/_simulator/", 303)


async def fault(request: Request) -> Response:
    """The next call that fits is to go wrong, or none any more."""
    account = account_of(request)
    form = await request.form()
    if "clear" in form:
        account.faults.clear()
    else:
        account.faults.add(Fault(cast("Kind", str(form["kind"])), path=str(form.get("path") or "*")))
    return RedirectResponse("/_simulator/", 303)


routes = [
    Route("/_simulator/", local(show), methods=["GET"]),
    Route("/_simulator/refund", local(refund), methods=["POST"]),
    Route("/_simulator/fault", local(fault), methods=["POST"]),
    Route("/_simulator/move", local(move), methods=["POST"]),
    Route("/_simulator/resend", local(resend), methods=["POST"]),
]
