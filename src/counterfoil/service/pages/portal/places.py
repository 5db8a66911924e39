"""Behind the door: the codes, how full they are, earlier years, the sheet to print, the table, and asking for more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import calendars, catalogue, errors, notices, portal, records
from counterfoil.portal import Places, Visit
from counterfoil.service import letters, spreadsheet
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.portal import qr, words
from counterfoil.service.pages.portal.door import PortalRoute, here, visit_of
from counterfoil.service.pages.reader import Reader
from counterfoil.service.pages.rendering import page, reader_of
from counterfoil.service.state import State, state_of

pages = APIRouter(prefix="/portal", include_in_schema=False, route_class=PortalRoute)
#: The entrance and the first page have one address.
home = APIRouter(prefix="/portal", include_in_schema=False)

#: Codes on a page; earlier years of one.
_MOST, _YEARS = 20, 30
#: A wish for more places.
_MOST_WANTED, _LONGEST_REASON = 100_000, 500


async def first(request: Request, after: str | None = None) -> Response:
    """The institution's codes and what it was told; or, for whoever is not signed in, the entrance."""
    state = state_of(request)
    visit = await visit_of(request, state)
    if visit is None:
        return page(request, "portal/entrance.html", typed="", wrong=None, why=None)
    since = read_cursor(after, int)
    found = await state.run(
        portal.places(institution=visit.institution.id, after=since[0] if since else None, most=_MOST + 1)
    )
    reader = await _reader(request)
    return page(
        request,
        "portal/home.html",
        now=reader.now,
        visit=visit,
        codes=[_shown(one, state, reader) for one in found[:_MOST]],
        notices=await state.run(notices.notices(institution=visit.institution.id)),
        more=cursor(found[_MOST - 1].code.id) if len(found) > _MOST else None,
    )


# Not behind the door: it is the entrance too.
home.add_api_route("", first, methods=["GET"])


@pages.get("/codes/{code}")
async def one(request: Request, code: str, period: str | None = None) -> Response:
    """One code in one year, the square, and asking for more."""
    return await _code_page(request, code, period)


@pages.get("/codes/{code}/sheet")
async def sheet(request: Request, code: str) -> Response:
    """A sheet to print and to hang up."""
    state, visit = state_of(request), here(request)
    found = await _find(state, visit, code, None)
    if found is None:
        return page(request, "portal/not_found.html", 404, visit=visit)
    one = _shown(found, state, await _reader(request))
    return page(request, "portal/sheet.html", visit=visit, one=one, shop=state.settings.public_url)


@pages.get("/codes/{code}/redemptions.csv")
async def table(request: Request, code: str, period: str | None = None) -> Response:
    """What became of each place: days and not times, no buyer unless the seller allowed it."""
    state, visit = state_of(request), here(request)
    found = await _find(state, visit, code, period)
    if found is None:
        return page(request, "portal/not_found.html", 404, visit=visit)
    of, buyers = found.code.code, visit.shows_buyers

    async def lines() -> AsyncIterator[str]:
        yield spreadsheet.line(
            ["code", "period", "status", "reserved_on", "completed_on", "product", *(["buyer"] * buyers)]
        )
        after: tuple[datetime, UUID] | None = None
        while True:
            read = await state.run(
                portal.lines(institution=visit.institution.id, code=of, period=period, after=after, most=500)
            )
            for row in read:
                named = [row.buyer] if buyers else []
                yield spreadsheet.line(
                    [row.code, row.period, row.status, row.reserved_on, row.completed_on, row.product, *named]
                )
            if len(read) < 500:
                return
            after = read[-1].after

    name = f"places-{period}.csv" if period else "places.csv"
    return spreadsheet.table(lines(), name)


@pages.post("/codes/{code}/more")
async def more(request: Request, code: str) -> Response:
    """Ask the seller for more places."""
    state, visit = state_of(request), here(request)
    form = await request.form()
    number, reason = str(form.get("more", "")).strip(), str(form.get("reason", "")).strip()
    wrong = {"more": "", "reason": ""}
    if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= _MOST_WANTED):
        wrong["more"] = f"How many more: a whole number from 1 to {reader_of(request).number(_MOST_WANTED)}."
    if len(reason) > _LONGEST_REASON or any(ord(one) < 32 and one not in "\r\n\t" for one in reason):
        wrong["reason"] = f"The reason may have {_LONGEST_REASON} characters, all of them printable."
    if any(wrong.values()):
        return await _code_page(request, code, None, typed=(number, reason), wrong=wrong)
    found = await _find(state, visit, code, None)
    if found is None:
        return page(request, "portal/not_found.html", 404, visit=visit)
    reason = " ".join(reason.split())
    # The code as it was printed, and not as the address has it.
    draft = letters.places_wanted(
        settings=state.settings, visit=visit, code=found.code.code, more=int(number), reason=reason
    )
    outcome = await state.run(
        portal.ask_for_places(visit=visit, code=code, more=int(number), reason=reason, mail=draft)
    )
    if outcome == "not_found":
        return page(request, "portal/not_found.html", 404, visit=visit)
    return RedirectResponse(request.url.path.removesuffix("/more"), 303)


@pages.post("/alerts")
async def alert(request: Request) -> Response:
    """Set the institution's own alert, and whether this person wants mails."""
    state, visit = state_of(request), here(request)
    form = await request.form()
    typed = str(form.get("percent", "")).strip()
    if not (typed.isascii() and typed.isdigit() and len(typed) < 10 and 1 <= int(typed) <= 99):
        return page(
            request, "portal/alerts.html", 422, visit=visit, typed=typed, on="on" in form, mail="mail" in form,
            wrong="The percentage is a whole number from 1 to 99.", saved=False,
        )  # fmt: skip
    on, mail, was = "on" in form, "mail" in form, _alert_seen(form.get("was"))
    if not await state.run(portal.set_alert(visit=visit, on=on, percent=int(typed), mail=mail, was=was)):
        return page(
            request, "portal/alerts.html", 409, visit=visit, typed=typed, on=on, mail=mail, saved=False,
            wrong=f"A colleague changed it meanwhile: it is {_alert_now(visit)} now. Save again to change it to this.",
        )  # fmt: skip
    return RedirectResponse("/portal/alerts?saved=yes", 303)


def _alert_seen(was: object) -> tuple[bool, int] | None:
    """What the form showed when it was opened, from its hidden field."""
    on, _, percent = str(was).partition(" ")
    return (on == "on", int(percent)) if percent.isascii() and percent.isdigit() and len(percent) < 4 else None


def _alert_now(visit: portal.Visit) -> str:
    return f"{visit.alert_percent} %" if visit.alert_on else "off"


@pages.get("/alerts")
async def alerts(request: Request, saved: str | None = None) -> Response:
    """What the institution is told, and when."""
    visit = here(request)
    return page(
        request, "portal/alerts.html", visit=visit, typed=str(visit.alert_percent), on=visit.alert_on,
        mail=visit.wants_notices, wrong=None, saved=saved is not None,
    )  # fmt: skip


async def _code_page(
    request: Request,
    code: str,
    period: str | None,
    typed: tuple[str, str] = ("", ""),
    wrong: Mapping[str, str] | None = None,
) -> Response:
    state, visit = state_of(request), here(request)
    found = await _find(state, visit, code, period)
    if found is None:
        return page(request, "portal/not_found.html", 404, visit=visit)
    periods = await state.run(catalogue.periods_of(code=found.code.code, most=_YEARS))
    # Newest first; what is now, or was asked for, stands there also before anybody wanted a place of it.
    for one in (found.usage.period, found.code.period):
        if one and one not in periods:
            periods.insert(0, one)
    at = f"/portal/codes/{quote(found.code.code, safe='')}"
    return page(
        request,
        "portal/code.html",
        422 if wrong else 200,
        visit=visit,
        one=_shown(found, state, await _reader(request)),
        years=[(f"{at}?period={quote(one, safe='')}", one) for one in periods],
        current=found.usage.period == found.code.period and bool(found.usage.period),
        typed=typed,
        wrong=wrong or {"more": "", "reason": ""},
    )


async def _reader(request: Request) -> Reader:
    """Who reads, and what time it is by the clock that decides."""
    now = await state_of(request).run(records.now())
    return reader_of(request, now)


async def _find(state: State, visit: Visit, code: str, period: str | None) -> Places | None:
    """A code of this institution; None if it has no such code, or no such period."""
    if "\0" in code:
        return None
    found = await state.run(portal.places(institution=visit.institution.id, code=code, most=1))
    if not found or period is None:
        return found[0] if found else None
    try:
        await state.run(calendars.known_period(code=found[0].code, period=period))
    except errors.PeriodInvalid:
        return None
    return (await state.run(portal.places(institution=visit.institution.id, code=code, period=period, most=1)))[0]


def _shown(places: Places, state: State, reader: Reader) -> dict[str, object]:
    address = qr.address(places.code, state.settings.public_url)
    shop = state.settings.storefront == "on"
    return {
        "code": places.code,
        "usage": places.usage,
        "short": words.in_short(places, reader),
        "full": words.in_full(places, reader),
        "valid": words.valid(places, reader),
        "answer": words.answer(places, reader),
        # A shop of the seller's own is somewhere that we do not know.
        "address": address if shop else None,
        "qr": qr.square(address) if shop else None,
    }
