"""
The door of an institution's pages: a session that was begun by a link.

The browser keeps a secret of 256 bits, the database its digest. At each request it is looked up: whoever was removed or
signed out is out at once. Which institution is shown comes from here, and from nothing that a request says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from counterfoil import portal
from counterfoil.audit import Actor
from counterfoil.portal import Visit
from counterfoil.service.acting import acting
from counterfoil.service.pages import browser
from counterfoil.service.state import State, state_of

COOKIE = "counterfoil_portal"
HOME = "/portal"
#: Longer than any browser keeps one; how long a session is good, the database says.
_KEPT = 400 * 24 * 60 * 60


class PortalRoute(APIRoute):
    """A page behind the door: whoever is not signed in is sent to the entrance, and another site's form is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler FastAPI made, inside ours."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            state = state_of(request)
            visit = await visit_of(request, state)
            if visit is None:
                return RedirectResponse(HOME, 303)
            request.state.visit = visit
            if request.method != "POST":
                return await handler(request)
            browser.must_be_ours(request, state)
            with acting(Actor("member", visit.name or visit.email or visit.institution.name, str(visit.member))):
                return await handler(request)

        return guarded


async def visit_of(request: Request, state: State) -> Visit | None:
    """Whose browser asks, or None."""
    token = request.cookies.get(COOKIE, "")
    if not re.fullmatch(r"[\w-]{43}", token, re.ASCII):
        return None
    visit = await state.run(portal.visit(session=token))
    if visit is not None and visit.stale:
        await state.run(portal.seen(session=visit.session))
    return visit


def here(request: Request) -> Visit:
    """Whose browser asks, behind the door."""
    visit: Visit = request.state.visit
    return visit


def let_in(response: Response, token: str, state: State) -> Response:
    """Give the browser its session."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=_KEPT,
        path=HOME,
        httponly=True,
        samesite="lax",
        secure=state.settings.public_url.startswith("https:"),
    )
    return response


def let_out(response: Response) -> Response:
    """Take the session away."""
    response.delete_cookie(COOKIE, path=HOME)
    return response
