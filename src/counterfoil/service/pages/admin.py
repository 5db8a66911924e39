"""The seller's own pages: what needs attention, and what our rows and Stripe do not agree about."""

from __future__ import annotations

import logging
import math
from datetime import datetime, timedelta

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import attention
from counterfoil.drift import WORDS
from counterfoil.reconcile import DAYS, reconcile
from counterfoil.service.api.attention import resolve
from counterfoil.service.auth import REACH
from counterfoil.service.edge import caller_of
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages import browser, door
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

log = logging.getLogger(__name__)

#: Before the door.
entrance = APIRouter(prefix="/admin", include_in_schema=False)
#: Behind it.
admin = APIRouter(prefix="/admin", include_in_schema=False, route_class=door.AdminRoute)

#: Matters on a page.
_MOST = 50
#: Days that a page may wait for.
_MOST_DAYS = 30


@entrance.get("/sign-in")
async def form(request: Request) -> Response:
    """Ask for a key."""
    return page(request, "sign_in.html", wrong=None)


@entrance.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Let in whoever has a key that reaches `manage`. Ten wrong ones from an address, and it waits."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    address = request.client.host if request.client else ""
    wait = math.ceil(state.sign_ins.wait(address))
    if wait:
        raise Problem(
            "rate-limited",
            f"Too many wrong keys came from this address. Try again in {math.ceil(wait / 60)} minutes.",
            headers={"Retry-After": str(wait)},
        )
    secret = str((await request.form()).get("key", "")).strip()
    caller = await caller_of(secret, state)
    if caller is None or "manage" not in REACH[caller.scope]:
        state.sign_ins.failed(address)
        log.warning("sign-in refused, from %s", address)
        wrong = "This key was not recognised." if caller is None else "This key does not reach manage."
        return page(request, "sign_in.html", 403, wrong=wrong)
    state.sign_ins.passed(address)
    return await door.let_in(RedirectResponse("/admin/attention", 303), caller, state)


@admin.post("/sign-out")
async def sign_out() -> Response:
    """Take the ticket away."""
    return door.let_out(RedirectResponse(door.SIGN_IN, 303))


@admin.get("")
async def first() -> Response:
    """The first page."""
    return RedirectResponse("/admin/attention", 303)


@admin.get("/attention")
async def matters(request: Request, resolved: bool = False, after: str | None = None) -> Response:
    """What a person must look at: what happened, what to do, and a button for having done it."""
    state = state_of(request)
    since = read_cursor(after, datetime.fromisoformat, int)
    await state.run(attention.notice())
    found = await state.run(
        attention.matters(resolved=resolved, after=(since[0], since[1]) if since else None, most=_MOST + 1)
    )
    more = cursor(found[_MOST - 1].raised_at, found[_MOST - 1].id) if len(found) > _MOST else None
    return page(request, "attention.html", matters=found[:_MOST], resolved=resolved, more=more)


@admin.post("/attention/{id}/resolve")
async def seen_to(request: Request, id: str) -> Response:
    """A person has seen to it."""
    await resolve(state_of(request), id)
    return RedirectResponse("/admin/attention", 303)


@admin.get("/reconcile")
async def before_looking(request: Request) -> Response:
    """Ask how far back to look. Stripe is asked only when the button is pressed."""
    return page(request, "reconcile.html", report=None, days=DAYS.days, words=WORDS)


@admin.post("/reconcile")
async def look(request: Request) -> Response:
    """Compare our rows with Stripe's sessions; settle what differs if the button said so."""
    state = state_of(request)
    given = await request.form()
    text = str(given.get("days", ""))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _MOST_DAYS):
        raise Problem("invalid-request", f"Days are a whole number from 1 to {_MOST_DAYS}.")
    report = await state.drive(reconcile(state.shop, apply="apply" in given, last=timedelta(days=int(text))))
    return page(request, "reconcile.html", report=report, days=int(text), words=WORDS)
