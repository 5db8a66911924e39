"""What an institution is told of its places, in words."""

from __future__ import annotations

from datetime import date

from counterfoil.periods import period_days
from counterfoil.portal import Places
from counterfoil.service.pages.rendering import clock_time

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_short(places: Places) -> str:
    """How many places are used, being paid for, and free."""
    usage = places.usage
    paying = usage.held + usage.pending
    if usage.cap is None:
        return f"{_are(usage.completed, 'place')} used, {_is(paying)} being paid for. There is no limit."
    free = usage.remaining or 0
    said = f"{usage.completed} of {usage.cap} places are used, {_is(paying)} being paid for, {_is(free)} free"
    if usage.over:
        extra = "one more than there are" if usage.over == 1 else f"{usage.over} more than there are"
        return f"{said}. A payment arrived late and was honoured: {extra}."
    return f"{said}."


def in_full(places: Places) -> list[str]:
    """Who is at paying now, and what becomes of it."""
    usage, said = places.usage, []
    if usage.held and places.last_release_at is not None:
        by = clock_time(places.last_release_at, places.code.time_zone)
        said.append(
            f"One student is on the payment page; if they do not pay, the place comes back by {by}."
            if usage.held == 1
            else f"{_number(usage.held).capitalize()} students are on the payment page; if they do not pay, these "
            f"places come back by {by}."
        )
    if usage.pending:
        said.append(
            "One payment is on its way through a bank, which takes some days. Its place is kept."
            if usage.pending == 1
            else f"{_number(usage.pending).capitalize()} payments are on their way through a bank, which takes some "
            "days. Their places are kept."
        )
    return said


def valid(places: Places) -> str:
    """The days that the code is good for, in the institution's zone, both included whole."""
    code = places.code
    days = period_days(code.calendar, places.usage.period, places.year_start)
    first = max((one for one in (days and days[0], code.starts_on) if one), default=None)
    last = min((one for one in (days and days[1], code.ends_on) if one), default=None)
    if first is None and last is None:
        return "Good without an end."
    if first is None or last is None:
        return f"Good from {_day(first)}." if first else f"Good until the end of {_day(last)}."
    return f"Good from {_day(first)} until the end of {_day(last)}."


def answer(places: Places) -> str | None:
    """What became of the last wish for more places."""
    request = places.request
    if request is None:
        return None
    more, cap = request["more"], places.usage.cap
    if cap is None or cap > request["cap"]:
        return (
            f"You asked for {more} more. There are {cap} places now." if cap is not None else "There is no limit now."
        )
    if request["seen_at"] is not None and request["seen_at"] > request["asked_at"]:
        return f"You asked for {more} more. It was read, and it stays at {cap} places for now."
    return f"You asked for {more} more. It was passed on, and the answer will be seen here."


def _day(day: date | None) -> str:
    return f"{day:%-d %B %Y}" if day else ""


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _is(number: int) -> str:
    return "1 is" if number == 1 else f"{number} are"


def _are(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"
