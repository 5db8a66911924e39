"""Free places that are moved to another period, or to another code."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import calendars, catalogue, errors, moving, verbs
from counterfoil.model import Code, Usage
from counterfoil.overview import CodeInFull
from counterfoil.service.fields import LongText, TypedCode
from counterfoil.service.pages.admin.caps import MOST_CAP
from counterfoil.service.pages.admin.codes import found, path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.state import State, state_of

pages = AdminRouter()


@pages.page("/codes/{code}/move")
async def ask(request: Request, code: str, period: str | None = None) -> Response:
    """Ask how many places go where."""
    state = state_of(request)
    full = await found(state, code)
    usage = await _usage(state, full.code, period)
    other = full.following if usage.period == full.code.period and full.following else usage.period
    return _form(request, full, usage, Form({"to": full.code.code, "to_period": other}))


@pages.action("/codes/{code}/move", role=Role.STAFF)
async def move(request: Request, code: str) -> Response:
    """Move them, if so many are free."""
    state = state_of(request)
    form = await Form.of(request)
    full = await found(state, code)
    usage = await _usage(state, full.code, form.typed("period"))
    places = form.whole("places", least=1, most=MOST_CAP)
    note = form.take("note", LongText)
    target, to_period = await _target(state, form)
    if places is None or target is None or form.errors:
        return _form(request, full, usage, form, 422)
    try:
        await state.run(
            moving.move_places(
                code=full.code,
                period=usage.period,
                to=target,
                to_period=to_period,
                places=places,
                note=note or None,
                shop=state.shop,
            )
        )
    except (errors.NotSoManyFree, errors.NoCap, errors.CannotMove) as refusal:
        form.wrong("places" if isinstance(refusal, errors.NotSoManyFree) else "to", refusal.detail)
        usage = await _usage(state, full.code, usage.period)
        return _form(request, full, usage, form, 409)
    return then(path_to(full.code.code, usage.period), "places-moved")


async def _usage(state: State, code: Code, period: str | None) -> Usage:
    if period:
        await state.run(calendars.known_period(code=code, period=period))
    return await state.run(verbs.usage(code=code.code, period=period or None))


async def _target(state: State, form: Form) -> tuple[Code | None, str]:
    typed, period = form.take("to", TypedCode), form.typed("to_period").strip()
    if typed is None:
        return None, period
    try:
        target = await state.run(catalogue.code(typed))
    except errors.CodeUnknown as unknown:
        form.wrong("to", unknown.detail)
        return None, period
    try:
        await state.run(calendars.known_period(code=target, period=period))
    except errors.PeriodInvalid as invalid:
        form.wrong("to_period", invalid.detail)
    return target, period


def _form(request: Request, full: CodeInFull, usage: Usage, form: Form, status: int = 200) -> Response:
    return show(request, "move", status, code=full.code, path_here=path_to(full.code.code), usage=usage, form=form)
