"""Behind the door: who belongs to the institution's pages."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import portal, records
from counterfoil.mail import check_address
from counterfoil.service.api.portal_links import invite
from counterfoil.service.fields import row_id
from counterfoil.service.pages.portal import door
from counterfoil.service.pages.portal.door import PortalRoute, here
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of
from counterfoil.service.throttle import Throttle

pages = APIRouter(prefix="/portal", include_in_schema=False, route_class=PortalRoute)

_LONGEST_NAME = 100
#: Of one institution's people: our mails are no means to bother strangers.
INVITED = Throttle("portal invitation", most=20, within=timedelta(days=1))


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
    try:
        email = check_address(typed)
        await INVITED.must_pass(state, [INVITED.name(f"institution {visit.institution.id}", state.settings)])
        by = visit.name or visit.email
        await invite(state, visit.institution, email=email, name=name, by=by, by_colleague=True)
    except ValueError as error:
        return await _people(request, colleague=str(error).capitalize() + ".", typed=(typed, name), status=422)
    except Problem as problem:
        return await _people(request, colleague=problem.detail, typed=(typed, name), status=409)
    return RedirectResponse("/portal/people", 303)


@pages.post("/people/me")
async def described(request: Request) -> Response:
    """Say who one is; whoever has no address yet gives one."""
    state, visit = state_of(request), here(request)
    form = await request.form()
    name, given = _name(form.get("name")), str(form.get("email", "")).strip()
    try:
        email = check_address(given) if given and visit.email is None else None
    except ValueError as error:
        return await _people(request, mine=str(error).capitalize() + ".", me=(name, given), status=422)
    if not await state.run(portal.describe(visit=visit, name=name, email=email)):
        wrong = "This address is a colleague's. Sign in with it instead."
        return await _people(request, mine=wrong, me=(name, given), status=409)
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
    await state_of(request).run(portal.sign_out(visit=here(request), everywhere="everywhere" in form))
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
        mine=me or (visit.name, ""),
    )


def _name(value: object) -> str:
    text = str(value or "")
    return "".join(one if one.isprintable() else " " for one in text).strip()[:_LONGEST_NAME]
