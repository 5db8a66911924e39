"""By what a code's places are counted: its calendar, and the periods with names that it has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import Request, Response

from counterfoil import calendars, catalogue, errors
from counterfoil.overview import CodeInFull
from counterfoil.periods import Calendar, NamedPeriod, check_name
from counterfoil.service.pages.admin.codes import found, path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import CALENDARS, show, then
from counterfoil.service.state import State, state_of

pages = AdminRouter()


@pages.page("/codes/{code}/periods")
async def one(request: Request, code: str) -> Response:
    """Its calendar, and its periods with names."""
    state = state_of(request)
    return await _page(request, state, await found(state, code))


@pages.action("/codes/{code}/periods", role=Role.STAFF)
async def put(request: Request, code: str) -> Response:
    """Give it a period, or other days to the one of this name."""
    state = state_of(request)
    full = await found(state, code)
    form = await Form.of(request)
    name = form.check("name", check_name)
    starts_on, ends_on = form.day("starts_on"), form.day("ends_on")
    for field, day in (("starts_on", starts_on), ("ends_on", ends_on)):
        if day is None:
            form.wrong(field, "Fill this in.")
    if starts_on and ends_on and starts_on > ends_on:
        form.wrong("ends_on", "The last day lies before the first.")
    if form.errors or name is None or starts_on is None or ends_on is None:
        return await _page(request, state, full, 422, form=form)
    try:
        await state.run(calendars.set_period(code=full.code, name=name, starts_on=starts_on, ends_on=ends_on))
    except errors.PeriodOverlaps as refusal:
        form.wrong("starts_on", refusal.detail)
        return await _page(request, state, full, 409, form=form)
    except (errors.AlreadyExists, errors.CountsElsewhere) as refusal:
        form.wrong("name", refusal.detail)
        return await _page(request, state, full, 409, form=form)
    return then(f"{path_to(full.code.code)}/periods", "period-set")


@pages.action("/codes/{code}/periods/remove", role=Role.STAFF)
async def remove(request: Request, code: str) -> Response:
    """Take a period away, while it has no allocation."""
    state = state_of(request)
    full = await found(state, code)
    form = await Form.of(request)
    try:
        await state.run(calendars.remove_period(code=full.code, name=form.typed("name")))
    except (errors.PeriodInUse, errors.PeriodInvalid, errors.CountsElsewhere) as refusal:
        return await _page(request, state, full, 409, refused=refusal.detail)
    return then(f"{path_to(full.code.code)}/periods", "period-removed")


@pages.action("/codes/{code}/calendar", role=Role.STAFF)
async def count_by(request: Request, code: str) -> Response:
    """Count it by another calendar: after it was told which period is now then."""
    state = state_of(request)
    full = await found(state, code)
    form = await Form.of(request)
    chosen = form.one_of("calendar", list(Calendar))
    version = form.whole("version", least=1, most=2**62)
    if chosen is None or version is None:
        return await _page(request, state, full, 422, form=form)
    calendar = Calendar(chosen)
    at = f"{path_to(full.code.code)}/periods"
    if calendar is full.code.calendar:
        return then(at, "calendar-same")
    if version != full.code.version:
        form.wrong("calendar", "Somebody changed this code meanwhile. Look at it, and choose again.")
        return await _page(request, state, full, 409, form=form)
    shifts = await state.run(calendars.shifts(institution=full.code.institution, code=full.code, calendar=calendar))
    if form.typed("known") != chosen:
        return await _page(request, state, full, form=form, shift=shifts[0] if shifts else None)
    try:
        changed = await state.run(
            catalogue.change_code(code=full.code, terms=catalogue.terms_of(full.code), calendar=calendar)
        )
    except errors.CountsElsewhere as refusal:
        form.wrong("calendar", refusal.detail)
        return await _page(request, state, full, 409, form=form)
    if changed is None:
        form.wrong("calendar", "Somebody changed this code meanwhile. Look at it, and choose again.")
        return await _page(request, state, await found(state, code), 409, form=form)
    return then(at, "calendar-changed")


async def _page(
    request: Request, state: State, full: CodeInFull, status: int = 200, form: Form | None = None, **more: Any
) -> Response:
    named = await state.run(calendars.named_periods(code=full.code))
    return show(
        request,
        "code_periods",
        status,
        full=full,
        code=full.code,
        path_here=path_to(full.code.code),
        named=named,
        form=form or Form({"calendar": str(full.code.calendar), **_suggested(named)}),
        calendars=CALENDARS,
        custom=Calendar.CUSTOM,
        shift=more.get("shift"),
        refused=more.get("refused"),
    )


def _suggested(named: list[NamedPeriod]) -> dict[str, str | list[str]]:
    """The day after the last period: where the next one most often begins."""
    if not named or named[0].ends_on.year > 9000:
        return {}
    return {"starts_on": (named[0].ends_on + timedelta(days=1)).isoformat()}
