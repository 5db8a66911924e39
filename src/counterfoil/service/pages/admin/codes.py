"""Codes: all of them, and one in full with its periods, its live holds and how its cap was changed."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from fastapi import Request, Response

from counterfoil import audit, calendars, catalogue, errors, overview, verbs
from counterfoil.codes import fold
from counterfoil.model import RedemptionStatus
from counterfoil.occupancy import occupancy
from counterfoil.overview import CodeInFull
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.showing import CALENDARS, IDENTITIES, POLICIES, REASONS, show, then
from counterfoil.service.pages.pictures import occupancy_picture
from counterfoil.service.pages.rendering import reader_of
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of
from counterfoil.statement import Statement

pages = AdminRouter()

#: Codes on a page.
MOST = 25
#: Holds, and payments under way, on the page of a code.
_MOST_LIVE = 50
#: Of the earlier periods, those that have a tab; the others are listed beneath.
_TABS = 6
#: Sales on the page of a code.
_NEWEST = 5


async def found(state: State, typed: str) -> CodeInFull:
    """The code of a path: 404 if there is none."""
    try:
        return await state.run(overview.code_in_full(typed))
    except errors.CodeUnknown as unknown:
        raise Problem("not-found", unknown.detail) from None


def path_to(code: str, period: str | None = None) -> str:
    """The address of a code's page."""
    return f"/admin/codes/{fold(code)}" + (f"?period={quote(period)}" if period else "")


def changes_of(full: CodeInFull, period: str) -> Statement[list[audit.Entry]]:
    """How a cap came to be what it is: what the audit log has of it, the last change first."""
    return audit.entries(action="cap.set", subject=f"{full.pool} {period}", most=20)


@pages.page("/codes")
async def listed(request: Request, q: str = "", after: str | None = None) -> Response:
    """All codes with the numbers of the periods that are now."""
    state = state_of(request)
    searched = q.replace("\0", "").strip()[:250]
    since = read_cursor(after, int)
    codes = await state.run(
        overview.codes_with_numbers(search=searched or None, after=since[0] if since else None, most=MOST + 1)
    )
    return show(
        request,
        "codes",
        codes=codes[:MOST],
        q=searched,
        more=cursor(codes[MOST - 1][0].id) if len(codes) > MOST else None,
        first=since is None,
    )


@pages.page("/codes/{code}")
async def one(request: Request, code: str, period: str | None = None) -> Response:
    """One code in one period: its numbers, what is on its way, its newest sales, its cap."""
    state = state_of(request)
    full = await found(state, code)
    current = full.code.period
    wanted = period or current
    if not wanted:
        return show(request, "code_without_period", full=full, code=full.code, path_here=path_to(full.code.code))
    await state.run(calendars.known_period(code=full.code, period=wanted))
    following = full.following
    earlier = [one for one in full.periods if one not in (current, following)]
    live = await state.run(overview.in_use(counts_with=full.counts_with, period=wanted, most=_MOST_LIVE))
    return show(
        request,
        "code",
        now=live.moment,
        full=full,
        code=full.code,
        path_here=path_to(full.code.code),
        period=wanted,
        current=current,
        following=following,
        earlier=earlier[:_TABS],
        long_ago=earlier[_TABS:],
        prepared=wanted in full.periods,
        usage=await state.run(verbs.usage(code=code, period=wanted)),
        live=live,
        picture=occupancy_picture(
            await state.run(occupancy(code=code, period=wanted)), reader_of(request, live.moment)
        ),
        changes=await state.run(changes_of(full, wanted)),
        newest=await state.run(
            verbs.redemptions(code=code, period=wanted, status=RedemptionStatus.COMPLETED, most=_NEWEST)
        ),
        most_live=_MOST_LIVE,
        calendars=CALENDARS,
        policies=POLICIES,
        identities=IDENTITIES,
        reasons=REASONS,
    )


@pages.action("/codes/{code}/pause", role=Role.STAFF)
async def pause(request: Request, code: str) -> Response:
    """Let nobody new in. Whoever is on the payment page may finish."""
    return await _set_paused(state_of(request), code, paused=True)


@pages.action("/codes/{code}/resume", role=Role.STAFF)
async def resume(request: Request, code: str) -> Response:
    """Let buyers in again."""
    return await _set_paused(state_of(request), code, paused=False)


async def _set_paused(state: State, typed: str, *, paused: bool) -> Response:
    while True:
        full = await found(state, typed)
        terms = replace(catalogue.terms_of(full.code), paused=paused)
        if await state.run(catalogue.change_code(code=full.code, terms=terms)):
            return then(path_to(full.code.code), "code-paused" if paused else "code-resumed")
