"""The cap of one period of a code: raised freely, lowered below what is used by whoever says that they know."""

from __future__ import annotations

import re
from dataclasses import replace

from fastapi import Request, Response

from counterfoil import audit, calendars, catalogue, errors, verbs
from counterfoil.catalogue import Seen
from counterfoil.model import Usage
from counterfoil.overview import CodeInFull
from counterfoil.service.fields import LongText
from counterfoil.service.pages.admin.codes import changes_of, found, path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.state import State, state_of

pages = AdminRouter()

MOST_CAP = 1_000_000_000


@pages.page("/codes/{code}/cap")
async def ask(request: Request, code: str, period: str | None = None) -> Response:
    """Ask for the cap of a period."""
    state = state_of(request)
    full = await found(state, code)
    usage = await _usage(state, full, period)
    form = Form({"cap": str(usage.cap)} if usage.cap is not None else {"uncapped": "yes"})
    return await _form(request, full, usage, form, was=_said(usage.cap))


@pages.action("/codes/{code}/cap", role=Role.STAFF)
async def change(request: Request, code: str) -> Response:
    """
    Set it, if it still is what the form showed.

    Below what is in use only with the tick "I know that n are in use", and only while no more are than it said.
    """
    state = state_of(request)
    form = await Form.of(request)
    full = await found(state, code)
    usage = await _usage(state, full, form.typed("period"))
    cap = form.places(most=MOST_CAP)
    note = form.take("note", LongText)
    seen = _seen(form)
    if form.errors:
        return await _form(request, full, usage, form, 422, was=form.typed("was"))
    known = form.whole("known", least=0, most=MOST_CAP) if form.ticked("known") else None
    try:
        if seen is None:
            raise errors.CapMoved(cap=usage.cap)
        await state.run(
            catalogue.set_cap(
                code=full.code,
                period=usage.period,
                cap=cap,
                note=note or None,
                confirmed=False,
                known=known,
                seen=seen,
                shop=state.shop,
            )
        )
    except errors.CapMoved as moved:
        now = replace(usage, cap=moved.fields["cap"])
        return await _form(request, full, now, form, 409, was=_said(now.cap), moved=await _who(state, full, now))
    except errors.CapBelowUsed as below:
        used = int(below.fields["used"])
        more = "now " if known is not None else ""
        form.wrong("cap", f"{used} places are {more}in use, which is more. To lower the cap all the same, tick below.")
        return await _form(request, full, usage, form, 409, used=used, was=form.typed("was"))
    return then(path_to(full.code.code, usage.period), "cap-set")


def _said(cap: int | None) -> str:
    """A cap, as the form carries along what it showed."""
    return "none" if cap is None else str(cap)


def _seen(form: Form) -> Seen | None:
    """The cap that the form showed; None if it does not say."""
    was = form.typed("was")
    if was == "none":
        return Seen(None)
    return Seen(int(was)) if re.fullmatch(r"[0-9]{1,10}", was, re.ASCII) else None


async def _who(state: State, full: CodeInFull, now: Usage) -> str:
    """Who made the cap what it is: of this period or, before it has one of its own, in the code."""
    of_period = await state.run(changes_of(full, now.period))
    of_code = await state.run(audit.entries(action="code.changed", subject=full.pool, most=20))
    for one in (*of_period, *of_code):
        if one.after and "cap" in one.after and one.after["cap"] == now.cap:
            return one.actor.name
    return "Somebody"


async def _usage(state: State, full: CodeInFull, period: str | None) -> Usage:
    wanted = period or full.code.period
    await state.run(calendars.known_period(code=full.code, period=wanted))
    return await state.run(verbs.usage(code=full.code.code, period=wanted))


async def _form(
    request: Request,
    full: CodeInFull,
    usage: Usage,
    form: Form,
    status: int = 200,
    *,
    was: str,
    used: int | None = None,
    moved: str | None = None,
) -> Response:
    return show(
        request,
        "cap",
        status,
        full=full,
        code=full.code,
        path_here=path_to(full.code.code),
        usage=usage,
        form=form,
        was=was,
        used=used,
        moved=moved,
        changes=await state_of(request).run(changes_of(full, usage.period)),
        prepared=usage.period in full.periods,
    )
