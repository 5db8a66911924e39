"""
The door of the seller's own pages: whoever is signed in, and may do what a route does, goes through.

The browser keeps a random token, the database its digest: a session is looked up at each request, so one that was ended
is out at once. What a route needs is said where it is declared, by `AdminRouter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.responses import RedirectResponse

from counterfoil.service import sessions
from counterfoil.service.acting import acting
from counterfoil.service.pages import browser
from counterfoil.service.pages.admin import coming_back
from counterfoil.service.problems import Problem
from counterfoil.service.roles import Role
from counterfoil.service.sessions import Who
from counterfoil.service.state import State, state_of
from counterfoil.tokens import new_token

__all__ = ["AdminRoute", "AdminRouter", "Role", "Who", "let_in", "let_out", "who_is"]

COOKIE = "counterfoil_admin"
SIGN_IN = "/admin/sign-in"
#: All there is for whoever has not chosen a password of their own yet.
FIRST = "/admin/account"
_WITH_FIRST_PASSWORD = (FIRST, f"{FIRST}/password", "/admin/sign-out")

#: Where a route says the role that it needs.
ROLE = "x-counterfoil-role"


#: The pages that every page leads to, beside one's own account: those of them that one may see.
_NAVIGATION = (
    ("/admin", "Institutions"),
    ("/admin/codes", "Codes"),
    ("/admin/redemptions", "Redemptions"),
    ("/admin/products", "Products"),
    ("/admin/attention", "Needs attention"),
    ("/admin/reconcile", "Reconcile"),
    ("/admin/keys", "Keys"),
    ("/admin/webhooks", "Webhooks"),
    ("/admin/outbox", "Outbox"),
    ("/admin/audit", "Audit log"),
    ("/admin/accounts", "Accounts"),
    ("/admin/settings", "Settings"),
)
_pages: dict[str, Role] = {}


def navigation(who: Who) -> list[tuple[str, str]]:
    """Where whoever is signed in may go: addresses and words."""
    if who.first_password:
        return []
    return [(at, words) for at, words in _NAVIGATION if at in _pages and who.role.reaches(_pages[at])]


class AdminRoute(APIRoute):
    """
    A page behind the door: whoever is not signed in is sent to sign in, another site's form is refused, and so is
    whoever's role does not reach. What a form changes, the audit log knows by whom.
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
            who = await who_is(request, state, touch=_by_hand(request))
            if who is None:
                return RedirectResponse(coming_back.asking(SIGN_IN, coming_back.wanted_by(request)), 303)
            if request.method == "POST":
                browser.must_be_ours(request, state)
            if who.first_password and self.path not in _WITH_FIRST_PASSWORD:
                return RedirectResponse(FIRST, 303)
            if not who.role.reaches(self.role):
                raise Problem("forbidden", f"This needs the role {self.role}, and yours is {who.role}. Ask an owner.")
            request.state.who, request.state.navigation = who, navigation(who)
            if request.method != "POST":
                return await handler(request)
            with acting(who.actor):
                return await handler(request)

        return guarded


class AdminRouter(APIRouter):
    """A router of pages behind the door, whose routes say the role that they need."""

    def __init__(self) -> None:
        super().__init__(prefix="/admin", include_in_schema=False, route_class=AdminRoute)

    def page(self, path: str, *, role: Role = Role.READ_ONLY) -> Callable[[Any], Any]:
        """Declare a page: it changes nothing, so whoever is signed in may see it, unless it shows what is secret."""
        _pages[f"{self.prefix}{path}"] = role
        return self.api_route(path, methods=["GET"], openapi_extra={ROLE: role})

    def action(self, path: str, *, role: Role) -> Callable[[Any], Any]:
        """Declare what a form does: staff may change what is sold and to whom, owners who may do so."""
        return self.api_route(path, methods=["POST"], openapi_extra={ROLE: role})


async def who_is(request: Request, state: State, *, touch: bool) -> Who | None:
    """Whoever is signed in with this browser. *touch*: they are at work, so the session goes on."""
    token = request.cookies.get(COOKIE, "")
    if not re.fullmatch(r"[\w-]{43}", token, re.ASCII):
        return None
    return await state.run(sessions.who_is(token=token, settings=state.settings, touch=touch))


async def let_in(
    response: Response, request: Request, *, account: int | None = None, key: int | None = None
) -> Response:
    """Begin a session of an account, or of a key, with this browser."""
    state = state_of(request)
    token = new_token()
    named = sessions.browser_of(request.headers.get("user-agent", ""))
    await state.run(sessions.begin(token=token, browser=named, settings=state.settings, account=account, key=key))
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(sessions.LONGEST.total_seconds()),
        path="/admin",
        httponly=True,
        samesite="strict",
        secure=state.settings.public_url.startswith("https:"),
    )
    return response


def let_out(response: Response) -> Response:
    """Take the token away."""
    response.delete_cookie(COOKIE, path="/admin")
    return response


def _by_hand(request: Request) -> bool:
    # What a page fetches by itself, while something changes, keeps nobody signed in.
    return request.headers.get("sec-fetch-mode", "navigate") == "navigate"
