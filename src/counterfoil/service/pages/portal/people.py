"""Behind the door: who belongs to the institution's pages."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import portal, portal_addresses, records
from counterfoil.mail import address_key, check_address
from counterfoil.portal import Visit
from counterfoil.service import letters
from counterfoil.service.api.portal_links import invite
from counterfoil.service.fields import row_id
from counterfoil.service.pages.portal import door
from counterfoil.service.pages.portal.door import PortalRoute, here
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of
from counterfoil.service.throttle import Throttle
from counterfoil.tokens import new_token

pages = APIRouter(prefix="/portal", include_in_schema=False, route_class=PortalRoute)

_LONGEST_NAME = 100
#: What one institution's people may send, invitations and links that prove an address together: our mails are no means
#: to bother strangers.
INVITED = Throttle("portal invitation", most=20, within=timedelta(days=1))


#: Why an address is not written to.
_NOT_MAILED = {
    "taken": "This address is a colleague's. Sign in with it instead, or give another one.",
    "too_often": "This address was written to too often within a day. Try again tomorrow, or give another one.",
    "gone": "You were taken out of this page.",
}


@pages.get("/people")
async def listed(request: Request) -> Response:
    """Who can open these pages."""
    return await _people(request)


@pages.post("/people")
async def invited(request: Request) -> Response:
    """Invite a colleague, by mail."""
    state, visit = state_of(request), here(request)
    form = await request.form()
    typed, name = str(form.get("email", "")), _name(form.get("name"))
    sent = _sent(state, visit)
    try:
        email = check_address(typed)
    except ValueError as error:
        return await _people(request, colleague=str(error).capitalize() + ".", typed=(typed, name), status=422)
    try:
        await INVITED.must_pass(state, sent)
    except Problem as problem:
        return await _people(request, colleague=problem.detail, typed=(typed, name), status=409)
    try:
        by = visit.name or visit.email
        await invite(state, visit.institution, email=email, name=name, by=by, by_colleague=True)
    except Problem as problem:
        # Nothing was sent: so nothing counts.
        await state.run(INVITED.passed(trusted=[], others=sent))
        return await _people(request, colleague=problem.detail, typed=(typed, name), status=409)
    return RedirectResponse("/portal/people", 303)


@pages.post("/people/me")
async def described(request: Request) -> Response:
    """Say what one is called, and one's address: a new one is written to, and used for nothing until it is proved."""
    state, visit = state_of(request), here(request)
    form = await request.form()
    name, given = _name(form.get("name")), str(form.get("email", "")).strip()
    try:
        email = check_address(given) if given else None
    except ValueError as error:
        return await _people(request, mine=str(error).capitalize() + ".", me=(name, given), status=422)
    await state.run(portal.describe(visit=visit, name=name))
    if email is None or (visit.email is not None and address_key(email) == address_key(visit.email)):
        return RedirectResponse("/portal/people", 303)
    sent = _sent(state, visit)
    try:
        await INVITED.must_pass(state, sent)
    except Problem as problem:
        return await _people(request, mine=problem.detail, me=(name, given), status=409)
    token = new_token()
    draft = letters.proof(
        recipient=email,
        institution=visit.institution.name,
        name=name,
        token=token,
        public_url=state.settings.public_url,
    )
    outcome = await state.run(portal_addresses.claim(visit=visit, email=email, token=token, mail=draft))
    if outcome in _NOT_MAILED:
        await state.run(INVITED.passed(trusted=[], others=sent))
        return await _people(request, mine=_NOT_MAILED[outcome], me=(name, given), status=409)
    return RedirectResponse("/portal/people", 303)


@pages.post("/people/links/{id}/revoke")
async def called_off(request: Request, id: str) -> Response:
    """Let a link of one's own that was not used open nothing any more."""
    state, visit = state_of(request), here(request)
    link = row_id(id)
    if link is None or not await state.run(
        portal.revoke_link(institution=visit.institution.id, member=visit.member, link=link)
    ):
        return page(request, "portal/not_found.html", 404, visit=visit)
    return RedirectResponse("/portal/people", 303)


@pages.post("/people/{id}/remove")
async def removed(request: Request, id: str) -> Response:
    """Take a colleague out: their sessions and links are over at once."""
    state, visit = state_of(request), here(request)
    member = row_id(id)
    if member is None:
        return page(request, "portal/not_found.html", 404, visit=visit)
    if member == visit.member:
        wrong = "You cannot take yourself out. A colleague can, or whoever gave you the code."
        return await _people(request, at_list=wrong, status=409)
    if not await state.run(portal.remove(institution=visit.institution.id, member=member)):
        return page(request, "portal/not_found.html", 404, visit=visit)
    return RedirectResponse("/portal/people", 303)


@pages.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End this session, or all of this person's."""
    form = await request.form()
    visit = here(request)
    session = None if "everywhere" in form else visit.session
    await state_of(request).run(portal.sign_out(institution=visit.institution.id, member=visit.member, session=session))
    return door.let_out(RedirectResponse(door.HOME, 303))


async def _people(
    request: Request,
    *,
    at_list: str = "",
    colleague: str = "",
    mine: str = "",
    typed: tuple[str, str] = ("", ""),
    me: tuple[str, str] | None = None,
    status: int = 200,
) -> Response:
    """The page, with what is wrong beside its field, and what was typed kept."""
    state, visit = state_of(request), here(request)
    now = await state.run(records.now())
    return page(
        request,
        "portal/people.html",
        status,
        now=now,
        visit=visit,
        people=await state.run(portal.people(institution=visit.institution.id)),
        wrong={"list": at_list, "colleague": colleague, "mine": mine},
        typed=typed,
        mine=me or (visit.name, visit.email or ""),
    )


def _sent(state: State, visit: Visit) -> list[str]:
    """What an institution's mails are counted by."""
    return [INVITED.name(f"institution {visit.institution.id}", state.settings)]


def _name(value: object) -> str:
    text = str(value or "")
    return "".join(one if one.isprintable() else " " for one in text).strip()[:_LONGEST_NAME]
