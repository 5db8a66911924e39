"""Before the door: saying that an address is one's own, from its mail. It opens nothing."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from counterfoil import portal_addresses
from counterfoil.portal_addresses import Claim
from counterfoil.service import letters
from counterfoil.service.pages import browser
from counterfoil.service.pages.portal.entrance import QUIET, WHY
from counterfoil.service.pages.rendering import page
from counterfoil.service.state import state_of

pages = APIRouter(prefix="/portal", include_in_schema=False)

_WHY = WHY | {
    "over": "This link is over: it is good for 15 minutes. Ask for another one on the page, under People.",
    "taken": "This address is a colleague's on that page by now, so it was not changed.",
}


@pages.get("/addresses/{token}")
async def look(request: Request, token: str) -> Response:
    """A button. Looking at a link proves nothing: mail scanners look."""
    found = await state_of(request).run(portal_addresses.claimed(token=token))
    return _shown(request, found, found.state if found else "unknown")


@pages.post("/addresses/{token}")
async def prove(request: Request, token: str) -> Response:
    """The address is the member's, once."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    found = await state.run(portal_addresses.claimed(token=token))
    if found is None:
        return _shown(request, None, "unknown")
    farewell = letters.farewell(
        institution=found.institution, address=found.email, public_url=state.settings.public_url
    )
    return _shown(request, found, await state.run(portal_addresses.prove(token=token, farewell=farewell)))


def _shown(request: Request, found: Claim | None, state: str) -> Response:
    status = 200 if state in ("good", "proved") else 410
    return page(
        request, "portal/address.html", status, headers=QUIET, found=found, state=state, why=_WHY.get(state, "")
    )
