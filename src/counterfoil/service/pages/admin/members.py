"""Who can open an institution's own pages: inviting, calling off, taking out; and what it was told."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from counterfoil import catalogue, errors, notices, portal
from counterfoil.mail import check_address
from counterfoil.model import Institution
from counterfoil.service.api.portal_links import invite
from counterfoil.service.fields import row_id
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import KINDS, Problem
from counterfoil.service.state import state_of

pages = AdminRouter()


@pages.page("/institutions/{slug}/people")
async def people(request: Request, slug: str) -> Response:
    """Who can open its pages, and who is invited."""
    return await _people(request, await _institution(request, slug))


@pages.action("/institutions/{slug}/people", role=Role.STAFF)
async def invited(request: Request, slug: str) -> Response:
    """Make a link, shown once; mailed as well, if there is an address."""
    institution = await _institution(request, slug)
    form = await request.form()
    typed, name = str(form.get("email", "")).strip(), str(form.get("name", "")).strip()[:100]
    try:
        email = check_address(typed) if typed else None
        _, url = await invite(state_of(request), institution, email=email, name=name)
    except ValueError as error:
        return await _people(request, institution, wrong=str(error).capitalize() + ".", typed=(typed, name), status=422)
    except Problem as problem:
        return await _people(request, institution, wrong=problem.detail, typed=(typed, name), status=409)
    # Not redirected: the link is in this answer and in no other.
    return await _people(request, institution, url=url, status=201)


@pages.action("/institutions/{slug}/people/{id}/remove", role=Role.STAFF)
async def removed(request: Request, slug: str, id: str) -> Response:
    """Take somebody out: their sessions and links are over at once."""
    institution = await _institution(request, slug)
    if not await state_of(request).run(portal.remove(institution=institution.id, member=_number(id))):
        raise _nothing()
    return _back(institution)


@pages.action("/institutions/{slug}/people/{id}/sign-out", role=Role.STAFF)
async def signed_out(request: Request, slug: str, id: str) -> Response:
    """End all sessions of somebody, and the links that would begin another."""
    institution = await _institution(request, slug)
    if not await state_of(request).run(portal.sign_out(institution=institution.id, member=_number(id))):
        raise _nothing()
    return _back(institution)


@pages.action("/institutions/{slug}/people/links/{id}/revoke", role=Role.STAFF)
async def called_off(request: Request, slug: str, id: str) -> Response:
    """Let a link that was not used open nothing any more: an invitation, or one that signs in."""
    institution = await _institution(request, slug)
    if not await state_of(request).run(portal.revoke_link(institution=institution.id, link=_number(id))):
        raise _nothing()
    return _back(institution)


@pages.action("/institutions/{slug}/people/buyers", role=Role.OWNER)
async def buyers(request: Request, slug: str) -> Response:
    """Whether the institution's table names buyers."""
    institution = await _institution(request, slug)
    on = str((await request.form()).get("on", "")) == "yes"
    await state_of(request).run(portal.show_buyers(institution=institution.id, on=on))
    return _back(institution)


async def _people(
    request: Request,
    institution: Institution,
    *,
    wrong: str = "",
    url: str | None = None,
    typed: tuple[str, str] = ("", ""),
    status: int = 200,
) -> Response:
    state = state_of(request)
    return page(
        request,
        "admin/members.html",
        status,
        institution=institution,
        people=await state.run(portal.people(institution=institution.id)),
        shows_buyers=await state.run(portal.shows_buyers(institution=institution.id)),
        notices=await state.run(notices.notices(institution=institution.id)),
        wrong={"email": wrong},
        url=url,
        typed=typed,
    )


async def _institution(request: Request, slug: str) -> Institution:
    try:
        return await state_of(request).run(catalogue.institution(slug))
    except errors.InstitutionUnknown:
        raise _nothing() from None


def _number(text: str) -> int:
    number = row_id(text)
    if number is None:
        raise _nothing()
    return number


def _nothing() -> Problem:
    return Problem("not-found", KINDS["not-found"].advice)


def _back(institution: Institution) -> Response:
    return RedirectResponse(f"/admin/institutions/{institution.slug}/people", 303)
