"""What an institution is told of its places, in words. Numbers, days and times as *reader* writes them."""

from __future__ import annotations

from counterfoil.portal import Places
from counterfoil.service.pages.reader import Reader

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def in_short(places: Places, reader: Reader) -> str:
    """How many places are used, being paid for, and free."""
    usage = places.usage
    paying = usage.held + usage.pending
    if not usage.period:
        return "There are no places yet."
    if usage.cap is None:
        used = "1 place is" if usage.completed == 1 else f"{reader.number(usage.completed)} places are"
        return f"{used} used, {_is(paying, reader)} being paid for. There is no limit."
    said = (
        f"{reader.number(usage.completed)} of {reader.number(usage.cap)} places are used, "
        f"{_is(paying, reader)} being paid for, {_is(usage.remaining or 0, reader)} free"
    )
    if usage.over:
        extra = "one more than there are" if usage.over == 1 else f"{reader.number(usage.over)} more than there are"
        return f"{said}. A payment arrived late and was honoured: {extra}."
    return f"{said}."


def in_full(places: Places, reader: Reader) -> list[str]:
    """Who is at paying now, and what becomes of it."""
    usage, said = places.usage, []
    if usage.held and places.last_release_at is not None:
        by = reader.time(places.last_release_at, places.code.time_zone)
        said.append(
            f"One student is on the payment page; if they do not pay, the place comes back by {by}."
            if usage.held == 1
            else f"{_number(usage.held, reader).capitalize()} students are on the payment page; if they do not pay, "
            f"these places come back by {by}."
        )
    if usage.pending:
        said.append(
            "One payment is on its way through a bank, which takes some days. Its place is kept."
            if usage.pending == 1
            else f"{_number(usage.pending, reader).capitalize()} payments are on their way through a bank, which takes "
            "some days. Their places are kept."
        )
    return said


def valid(places: Places, reader: Reader) -> str:
    """The days that the code is good for, in the institution's zone, both included whole."""
    code = places.code
    if not places.usage.period:
        return "Not open yet: its first period was not set."
    first = max((one for one in (places.usage.starts_on, code.starts_on) if one), default=None)
    last = min((one for one in (places.usage.ends_on, code.ends_on) if one), default=None)
    if last is None:
        return f"Good from {reader.day(first)}." if first else "Good without an end."
    if first is None:
        return f"Good until the end of {reader.day(last)}."
    return f"Good from {reader.day(first)} until the end of {reader.day(last)}."


def answer(places: Places, reader: Reader) -> str | None:
    """What became of the last wish for more places."""
    request = places.request
    if request is None:
        return None
    more, cap = reader.number(request["more"]), places.usage.cap
    if cap is None or cap > request["cap"]:
        now = "There is no limit now." if cap is None else f"There are {reader.number(cap)} places now."
        return f"You asked for {more} more. {now}"
    if request["seen_at"] is not None and request["seen_at"] > request["asked_at"]:
        return f"You asked for {more} more. It was read, and it stays at {reader.number(cap)} places for now."
    return f"You asked for {more} more. It was passed on, and the answer will be seen here."


def _number(number: int, reader: Reader) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else reader.number(number)


def _is(number: int, reader: Reader) -> str:
    return "1 is" if number == 1 else f"{reader.number(number)} are"
