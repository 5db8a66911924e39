"""Before the door: asking for a sign-in mail, and opening a link."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import portal
from counterfoil.mail import check_address
from counterfoil.service import letters
from counterfoil.service.pages import browser
from counterfoil.service.pages.portal import door
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import origin
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of
from counterfoil.service.throttle import Throttle
from counterfoil.tokens import new_token

entrance = APIRouter(prefix="/portal", include_in_schema=False)

#: Mails that are asked for from one network address.
ASKED = Throttle("portal mail", most=10, within=timedelta(hours=1))

# Not `no-referrer`: with it browsers send the form's origin as null. `same-origin`, which every answer carries, tells
# no other site a link either.
QUIET = {"X-Robots-Tag": "noindex"}

#: Why a link opens nothing.
WHY = {
    "used": "This link was used already. Each one works once.",
    "over": "This link is over: an invitation is good for 7 days, a sign-in link for 15 minutes.",
    "revoked": "This link was called off.",
    "unknown": "We do not know this link. Perhaps a part of it is missing: open it from the mail itself.",
}


@entrance.post("/sign-in")
async def ask(request: Request) -> Response:
    """Mail a link to whoever belongs to an institution. The answer is the same for everybody, and waits for nothing."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    typed = str((await request.form()).get("email", ""))
    try:
        email = check_address(typed)
    except ValueError as error:
        return page(request, "portal/entrance.html", 422, typed=typed, wrong=f"{error}".capitalize(), why=None)
    try:
        await ASKED.must_pass(state, [ASKED.name(f"address {origin.of(request, state)}", state.settings)])
    except Problem as problem:
        return page(
            request, "portal/entrance.html", 429, headers=problem.headers, typed=typed, wrong=problem.detail, why=None
        )
    # Whether there is such a member is looked up when the answer is on its way: it takes the same time for everybody.
    state.go_on(_mail_links(state, email))
    return page(request, "portal/asked.html", email=email)


@entrance.get("/links/{token}")
async def look(request: Request, token: str) -> Response:
    """A button. Looking at a link does not use it: mail scanners look."""
    found = await state_of(request).run(portal.link_state(token=token))
    if found != "good":
        return page(request, "portal/entrance.html", 410, headers=QUIET, typed="", wrong=None, why=WHY[found])
    return page(request, "portal/link.html", headers=QUIET)


@entrance.post("/links/{token}")
async def redeem(request: Request, token: str) -> Response:
    """Open the page, once."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    session = new_token()
    outcome = await state.run(portal.redeem(token=token, session=session))
    if outcome != "opened":
        return page(request, "portal/entrance.html", 410, headers=QUIET, typed="", wrong=None, why=WHY[outcome])
    return door.let_in(RedirectResponse(door.HOME, 303), session, state)


async def _mail_links(state: State, email: str) -> None:
    for member, recipient, institution in await state.run(portal.members_of(email=email)):
        token = new_token()
        draft = letters.sign_in(
            recipient=recipient, institution=institution, token=token, public_url=state.settings.public_url
        )
        await state.run(portal.sign_in_link(member=member, token=token, mail=draft))
