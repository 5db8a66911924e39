"""The periods with names and days of their own, which a code has by the calendar `custom`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import Query, Request, Response

from counterfoil import calendars, periods
from counterfoil.model import Code
from counterfoil.periods import NamedPeriod
from counterfoil.service.api.codes import found, invalid
from counterfoil.service.fields import Body, Day, cursor, read_cursor
from counterfoil.service.resources import Page, PeriodOut
from counterfoil.service.routing import router
from counterfoil.service.state import State, state_of

api = router("Codes")


class PeriodIn(Body):
    """Its first and its last day in the institution's zone, both included whole."""

    starts_on: Day
    ends_on: Day


@api.call("GET", "/codes/{code}/periods", "read", problems=("code-unknown",))
async def listed(
    request: Request,
    code: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[PeriodOut]:
    """The periods with names that a code has, or the one that it counts with, the latest first."""
    state = state_of(request)
    known = await found(state, code)
    after = read_cursor(cursor_, date.fromisoformat)
    all_of_them = await state.run(calendars.named_periods(code=known))
    rest = [one for one in all_of_them if after is None or one.starts_on < after[0]]
    return Page[PeriodOut](
        data=[PeriodOut.of(known, one) for one in rest[:limit]],
        next_cursor=cursor(rest[limit - 1].starts_on) if len(rest) > limit else None,
    )


@api.call("GET", "/codes/{code}/periods/{period}", "read", problems=("code-unknown", "period-invalid"))
async def one(request: Request, code: str, period: str) -> PeriodOut:
    """One of them."""
    state = state_of(request)
    known = await found(state, code)
    return PeriodOut.of(known, await _find(state, known, period))


@api.call(
    "PUT",
    "/codes/{code}/periods/{period}",
    "manage",
    problems=("code-unknown", "period-overlaps", "already-exists", "counts-elsewhere"),
)
async def put(request: Request, code: str, period: str, body: PeriodIn) -> PeriodOut:
    """
    Give a code a period of this name, or give the one that it has other days.

    It counts once the code's calendar is `custom`. Days are in one period at most.
    """
    state = state_of(request)
    known = await found(state, code)
    try:
        name = periods.check_name(period)
    except ValueError as error:
        raise invalid("period", str(error)) from None
    if body.starts_on > body.ends_on:
        raise invalid("ends_on", "the last day lies before the first")
    await state.run(calendars.set_period(code=known, name=name, starts_on=body.starts_on, ends_on=body.ends_on))
    return PeriodOut.of(known, NamedPeriod(name, body.starts_on, body.ends_on))


@api.call(
    "DELETE",
    "/codes/{code}/periods/{period}",
    "manage",
    problems=("code-unknown", "period-invalid", "period-in-use", "counts-elsewhere"),
    status_code=204,
)
async def remove(request: Request, code: str, period: str) -> Response:
    """Take a period away, while it has no allocation."""
    state = state_of(request)
    known = await found(state, code)
    await state.run(calendars.remove_period(code=known, name=(await _find(state, known, period)).name))
    return Response(status_code=204)


async def _find(state: State, code: Code, name: str) -> NamedPeriod:
    all_of_them = await state.run(calendars.named_periods(code=code))
    for one_of_them in all_of_them:
        if one_of_them.name == name:
            return one_of_them
    raise calendars.no_such_period(code, name, [each.name for each in all_of_them])
