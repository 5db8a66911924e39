"""
The door of the seller's own pages: an API key that reaches `manage` opens it.

The browser keeps a signed ticket, never the key. At each request the key behind it is looked up: one that was revoked
is out at once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from counterfoil import records
from counterfoil.service import auth
from counterfoil.service.auth import Caller
from counterfoil.service.pages import browser
from counterfoil.service.settings import Settings
from counterfoil.service.state import State, state_of

COOKIE = "counterfoil_admin"
SIGN_IN = "/admin/sign-in"
#: How long a ticket is good.
GOOD_FOR = timedelta(hours=8)


class AdminRoute(APIRoute):
    """A page behind the door: whoever is not signed in is sent to sign in, and another site's form is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler FastAPI made, inside ours."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            state = state_of(request)
            if not await _is_signed_in(request, state):
                return RedirectResponse(SIGN_IN, 303)
            if request.method == "POST":
                browser.must_be_ours(request, state)
            return await handler(request)

        return guarded


async def let_in(response: Response, caller: Caller, state: State) -> Response:
    """Give the browser a ticket of this caller's key."""
    ends_at = await state.run(records.now()) + GOOD_FOR
    response.set_cookie(
        COOKIE,
        _signed(f"{caller.key_id}.{int(ends_at.timestamp())}", state.settings),
        max_age=int(GOOD_FOR.total_seconds()),
        path="/admin",
        httponly=True,
        samesite="strict",
        secure=state.settings.public_url.startswith("https:"),
    )
    return response


def let_out(response: Response) -> Response:
    """Take the ticket away."""
    response.delete_cookie(COOKIE, path="/admin")
    return response


async def _is_signed_in(request: Request, state: State) -> bool:
    ticket = request.cookies.get(COOKIE, "")
    found = re.fullmatch(r"((\d{1,18})\.(\d{1,11}))\.[0-9a-f]{64}", ticket, re.ASCII)
    if not found or not hmac.compare_digest(ticket, _signed(found[1], state.settings)):
        return False
    key_id, ends_at = int(found[2]), datetime.fromtimestamp(int(found[3]), UTC)
    return await state.run(auth.may_manage(key_id=key_id, until=ends_at))


def _signed(text: str, settings: Settings) -> str:
    # The admin key is in no table: it is signed with, so that a ticket ends when it is changed.
    secret = f"{settings.secret_key}\0admin\0{settings.admin_key or ''}".encode()
    return f"{text}.{hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()}"
