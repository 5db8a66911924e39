"""An institution: its codes, its years, its name. A new one."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import catalogue, errors, overview
from counterfoil.model import Institution
from counterfoil.periods import check_year_start, zones
from counterfoil.service.fields import Slug, Text, Zone, cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: Codes on a page.
MOST = 25
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


async def found(state: State, key: str) -> Institution:
    """The institution of a path: 404 if there is none."""
    try:
        return await state.run(catalogue.institution(key))
    except errors.InstitutionUnknown as unknown:
        raise Problem("not-found", unknown.detail) from None


@pages.page("/institutions/{institution}")
async def one(request: Request, institution: str, after: str | None = None) -> Response:
    """Its codes with the numbers of the periods that are now, and the sums of its years."""
    state = state_of(request)
    school = await found(state, institution)
    since = read_cursor(after, int)
    codes = await state.run(
        overview.codes_with_numbers(institution=school.id, after=since[0] if since else None, most=MOST + 1)
    )
    return show(
        request,
        "institution",
        institution=school,
        codes=codes[:MOST],
        more=cursor(codes[MOST - 1][0].id) if len(codes) > MOST else None,
        first=since is None,
        years=await state.run(overview.years(institution=school.id)),
        starts=starts(school.year_start),
    )


@pages.page("/institutions/{institution}/edit")
async def edit(request: Request, institution: str) -> Response:
    """What may be changed of it: its name."""
    school = await found(state_of(request), institution)
    return _rename_form(request, school, Form({"name": school.name, "was": school.name}))


@pages.action("/institutions/{institution}/edit", role=Role.STAFF)
async def rename(request: Request, institution: str) -> Response:
    """Give it another name, if nobody else did meanwhile."""
    state = state_of(request)
    school = await found(state, institution)
    form = await Form.of(request)
    name = form.take("name", Text)
    if form.errors:
        return _rename_form(request, school, form, 422)
    if form.typed("was") != school.name or not await state.run(
        catalogue.change_institution(
            institution=school, name=name, time_zone=school.time_zone, year_start=school.year_start
        )
    ):
        now = await found(state, institution)
        again = Form({"name": form.typed("name"), "was": now.name})
        again.wrong("name", f"Somebody changed the name to “{now.name}” meanwhile. Save again to change it to yours.")
        return _rename_form(request, now, again, 409)
    return then(f"/admin/institutions/{school.slug}", "institution-renamed")


@pages.page("/new-institution")
async def new(request: Request) -> Response:
    """Ask about a new institution."""
    return _new_form(request, Form({"time_zone": "Europe/London", "month": "9", "day": "1"}))


@pages.action("/new-institution", role=Role.STAFF)
async def add(request: Request) -> Response:
    """Add it."""
    state = state_of(request)
    form = await Form.of(request)
    name = form.take("name", Text)
    zone = form.take("time_zone", Zone)
    slug = form.take("slug", Slug, or_none=True)
    month = form.whole("month", least=1, most=12)
    day = form.whole("day", least=1, most=31)
    year_start = f"{month or 0:02}-{day or 0:02}"
    if month and day:
        try:
            check_year_start(year_start)
        except ValueError:
            form.wrong("day", f"{MONTHS[month - 1]} has no day {day} in every year.")
    if name and not form.errors and not slug:
        slug = catalogue.slug_of(name)
        if not slug:
            form.wrong("slug", "No address can be made of this name. Write one in lower-case letters and dashes.")
    if form.errors:
        return _new_form(request, form, 422)
    try:
        made = await state.run(
            catalogue.add_institution(name=name, time_zone=zone, year_start=year_start, slug=slug or "")
        )
    except errors.AlreadyExists:
        form.wrong("slug", f"There is an institution at the address “{slug}”. Write another.")
        return _new_form(request, form, 409)
    return then(f"/admin/institutions/{made.slug}", "institution-added")


def starts(year_start: str) -> str:
    """The day on which its years start, as it is said."""
    month, day = (int(part) for part in year_start.split("-"))
    return f"{day} {MONTHS[month - 1]}"


def _rename_form(request: Request, institution: Institution, form: Form, status: int = 200) -> Response:
    return show(
        request,
        "institution_edit",
        status,
        institution=institution,
        form=form,
        starts=starts(institution.year_start),
    )


def _new_form(request: Request, form: Form, status: int = 200) -> Response:
    return show(request, "institution_new", status, form=form, zones=sorted(zones()), months=MONTHS)
