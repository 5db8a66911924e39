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
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from counterfoil import records
from counterfoil.service import auth
from counterfoil.service.auth import Caller
from counterfoil.service.pages import browser
from counterfoil.service.problems import Problem
from counterfoil.service.settings import Settings
from counterfoil.service.state import State, state_of

COOKIE = "counterfoil_admin"
SIGN_IN = "/admin/sign-in"
#: How long a ticket is good.
GOOD_FOR = timedelta(hours=8)


#: Where a route says the role that it needs.
ROLE = "x-counterfoil-role"


class Role(StrEnum):
    """What somebody may do on the seller's pages: look; change what is sold and to whom; everything."""

    READ_ONLY = "read-only"
    STAFF = "staff"
    OWNER = "owner"

    def reaches(self, least: Role) -> bool:
        """Whether this role may do what *least* may."""
        return _RANK[self] >= _RANK[least]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True)
class Who:
    """Whoever is signed in. On a page: ``request.state.who``."""

    name: str
    role: Role

    def may(self, role: str) -> bool:
        """Whether they may do what this role may: a page shows the buttons that would work."""
        return self.role.reaches(Role(role))


class AdminRoute(APIRoute):
    """
    A page behind the door: whoever is not signed in is sent to sign in, another site's form is refused, and so is
    whoever's role does not reach.
    """

    @property
    def role(self) -> Role:
        """The least role that the route needs. Who may only look changes nothing, unless the route says otherwise."""
        declared = (self.openapi_extra or {}).get(ROLE)
        return Role(declared) if declared else Role.READ_ONLY if self.methods == {"GET"} else Role.STAFF

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler FastAPI made, inside ours."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            state = state_of(request)
            who = await _signed_in(request, state)
            if who is None:
                return RedirectResponse(SIGN_IN, 303)
            if request.method == "POST":
                browser.must_be_ours(request, state)
            if not who.role.reaches(self.role):
                raise Problem("forbidden", f"This needs the role {self.role}, and yours is {who.role}. Ask an owner.")
            request.state.who = who
            return await handler(request)

        return guarded


class AdminRouter(APIRouter):
    """A router of pages behind the door, whose routes say the role that they need."""

    def __init__(self) -> None:
        super().__init__(prefix="/admin", include_in_schema=False, route_class=AdminRoute)

    def page(self, path: str, *, role: Role = Role.READ_ONLY) -> Callable[[Any], Any]:
        """Declare a page: it changes nothing, so whoever is signed in may see it, unless it shows what is secret."""
        return self.api_route(path, methods=["GET"], openapi_extra={ROLE: role})

    def action(self, path: str, *, role: Role) -> Callable[[Any], Any]:
        """Declare what a form does: staff may change what is sold and to whom, owners who may do so."""
        return self.api_route(path, methods=["POST"], openapi_extra={ROLE: role})


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


async def _signed_in(request: Request, state: State) -> Who | None:
    ticket = request.cookies.get(COOKIE, "")
    found = re.fullmatch(r"((\d{1,18})\.(\d{1,11}))\.[0-9a-f]{64}", ticket, re.ASCII)
    if not found or not hmac.compare_digest(ticket, _signed(found[1], state.settings)):
        return None
    key_id, ends_at = int(found[2]), datetime.fromtimestamp(int(found[3]), UTC)
    if not await state.run(auth.may_manage(key_id=key_id, until=ends_at)):
        return None
    return Who("the admin key" if key_id == 0 else f"key {key_id}", Role.OWNER)


def _signed(text: str, settings: Settings) -> str:
    # The admin key is in no table: it is signed with, so that a ticket ends when it is changed.
    secret = f"{settings.secret_key}\0admin\0{settings.admin_key or ''}".encode()
    return f"{text}.{hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()}"
