"""Signing in and out of the seller's own pages."""

from __future__ import annotations

import logging
import math

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil.service.auth import REACH
from counterfoil.service.edge import caller_of
from counterfoil.service.pages import browser
from counterfoil.service.pages.admin import door
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

log = logging.getLogger(__name__)

#: Before the door, and behind it.
entrance = APIRouter(prefix="/admin", include_in_schema=False)
pages = door.AdminRouter()


@entrance.get("/sign-in")
async def form(request: Request) -> Response:
    """Ask for a key."""
    return page(request, "admin/sign_in.html", wrong=None)


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
        return page(request, "admin/sign_in.html", 403, wrong=wrong)
    state.sign_ins.passed(address)
    return await door.let_in(RedirectResponse("/admin/attention", 303), caller, state)


@pages.action("/sign-out", role=door.Role.READ_ONLY)
async def sign_out() -> Response:
    """Take the ticket away."""
    return door.let_out(RedirectResponse(door.SIGN_IN, 303))
