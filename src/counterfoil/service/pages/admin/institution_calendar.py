"""An institution's time zone and the day its years start on: changed after it was told which period is now then."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request, Response

from counterfoil import calendars, catalogue
from counterfoil.model import Institution
from counterfoil.periods import check_year_start, zones
from counterfoil.service.fields import Zone
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.institutions import MONTHS, found
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Codes that are named before it is changed.
_MOST = 20


@pages.page("/institutions/{institution}/calendar")
async def ask(request: Request, institution: str) -> Response:
    """Ask for zone and day."""
    school = await found(state_of(request), institution)
    month, day = school.year_start.split("-")
    offered: dict[str, str | list[str]] = {
        "time_zone": school.time_zone,
        "month": str(int(month)),
        "day": str(int(day)),
        "was": _was(school),
    }
    return _form(request, school, Form(offered))


@pages.action("/institutions/{institution}/calendar", role=Role.STAFF)
async def change(request: Request, institution: str) -> Response:
    """Change them, once it was told what that means. Nothing that was counted changes."""
    state = state_of(request)
    school = await found(state, institution)
    form = await Form.of(request)
    zone = form.take("time_zone", Zone)
    month = form.whole("month", least=1, most=12)
    day = form.whole("day", least=1, most=31)
    year_start = f"{month or 0:02}-{day or 0:02}"
    if month and day:
        try:
            check_year_start(year_start)
        except ValueError:
            form.wrong("day", f"{MONTHS[month - 1]} has no day {day} in every year.")
    if form.errors:
        return _form(request, school, form, 422)
    at = f"/admin/institutions/{school.slug}"
    if (zone, year_start) == (school.time_zone, school.year_start):
        return then(at, "calendar-same")
    shifts = await state.run(
        calendars.shifts(institution=school.slug, time_zone=zone, year_start=year_start, most=_MOST + 1)
    )
    asked = f"{zone} {year_start}"
    if form.typed("was") != _was(school):
        form.wrong("time_zone", f"Somebody changed it meanwhile, to {_was(school)}. Below is what you typed.")
        return _form(request, school, form, 409, shifts=shifts, asked=asked)
    if form.typed("known") != asked:
        return _form(request, school, form, shifts=shifts, asked=asked)
    wanted = replace(school, time_zone=zone, year_start=year_start)
    changed = await state.run(
        catalogue.change_institution(
            institution=school, name=wanted.name, time_zone=wanted.time_zone, year_start=wanted.year_start
        )
    )
    if changed is None:
        school = await found(state, institution)
        form.wrong("time_zone", f"Somebody changed it meanwhile, to {_was(school)}. Below is what you typed.")
        return _form(request, school, form, 409, shifts=shifts, asked=asked)
    return then(at, "calendar-changed")


def _was(school: Institution) -> str:
    return f"{school.time_zone} {school.year_start}"


def _form(
    request: Request,
    school: Institution,
    form: Form,
    status: int = 200,
    shifts: list[calendars.Shift] | None = None,
    asked: str = "",
) -> Response:
    return show(
        request,
        "institution_calendar",
        status,
        institution=school,
        form=form,
        was=_was(school),
        zones=sorted(zones()),
        months=MONTHS,
        shifts=None if shifts is None else shifts[:_MOST],
        more=shifts is not None and len(shifts) > _MOST,
        asked=asked,
    )
