"""
Calendars: which period a moment lies in, and which days a period has.

The key of a period is text, stored on the row. Civil-date rules only: the local day in the institution's zone decides.
``sql/functions/period_key.sql`` and ``period_days.sql`` say the same for the database; property tests hold them
together.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cache
from zoneinfo import ZoneInfo, available_timezones


class Calendar(StrEnum):
    """How an allocation's periods follow each other."""

    ACADEMIC_YEAR = "academic_year"
    CALENDAR_YEAR = "calendar_year"
    MONTH = "month"
    ALL = "all"
    #: Periods with names and days of their own: `NamedPeriod`.
    CUSTOM = "custom"


@dataclass(frozen=True)
class NamedPeriod:
    """A period of a code's own: local days of its institution, both included whole."""

    name: str
    starts_on: date
    ends_on: date


_SHAPES = {
    Calendar.ACADEMIC_YEAR: (re.compile(r"[0-9]{4}-[0-9]{2}"), "2026-27"),
    Calendar.CALENDAR_YEAR: (re.compile(r"[0-9]{4}"), "2027"),
    Calendar.MONTH: (re.compile(r"[0-9]{4}-[0-9]{2}"), "2027-03"),
    Calendar.ALL: (re.compile(r"all"), "all"),
}


_LONGEST_NAME = 32


def period_key(calendar: Calendar, at: datetime, zone: str, year_start: str) -> str:
    """
    The key of the period that a moment lies in.

    Args:
        calendar: The code's calendar; not ``custom``, whose periods are in the database.
        at: An aware datetime.
        zone: The institution's time zone.
        year_start: "MM-DD": the day on which its academic years start, at local midnight.
    """
    if at.tzinfo is None:
        raise ValueError("a moment needs a time zone: give an aware datetime")
    day = at.astimezone(ZoneInfo(zone)).date()
    match calendar:
        case Calendar.ACADEMIC_YEAR:
            year = day.year - (f"{day:%m-%d}" < year_start)
            return f"{year:04}-{(year + 1) % 100:02}"
        case Calendar.CALENDAR_YEAR:
            return f"{day.year:04}"
        case Calendar.MONTH:
            return f"{day.year:04}-{day.month:02}"
        case Calendar.ALL:
            return "all"
        case Calendar.CUSTOM:
            raise ValueError("named periods are in the database")


def is_key(calendar: Calendar, key: str) -> bool:
    """Whether a key is one of the calendar's; of ``custom``, whether it might be."""
    if calendar is Calendar.CUSTOM:
        return _is_name(key)
    good = _SHAPES[calendar][0].fullmatch(key) is not None and not key.startswith("0000")
    if good and calendar is Calendar.ACADEMIC_YEAR:
        return (int(key[:4]) + 1) % 100 == int(key[5:])
    if good and calendar is Calendar.MONTH:
        return 1 <= int(key[5:]) <= 12
    return good


def check_key(calendar: Calendar, key: str) -> str:
    """
    The key, if it is one of the calendar's.

    Raises:
        ValueError: It is not; the message shows what one looks like.
    """
    if not is_key(calendar, key):
        if calendar is Calendar.CUSTOM:
            raise ValueError(f"{key[:32]!r} is no name of a period")
        raise ValueError(f"{key[:32]!r} is no period of the calendar {calendar}: write it like {_SHAPES[calendar][1]}")
    return key


def check_name(text: str) -> str:
    """
    The name of a period, without the spaces around it.

    Raises:
        ValueError: It is too long, has other characters, or reads like a period of another calendar, so that one could
            be taken for the other.
    """
    name = text.strip()
    if not _is_name(name):
        if not 1 <= len(name) <= _LONGEST_NAME:
            raise ValueError(f"a period's name has 1 to {_LONGEST_NAME} characters")
        if _reads_like_a_key(name):
            raise ValueError(f"{name!r} reads like a period of another calendar: add a word, like Term {name}")
        raise ValueError("a period's name has letters, digits, dashes and single spaces")
    return name


def fold_name(name: str) -> str:
    """What two names have in common that read the same: without case, spaces and dashes."""
    return "".join(one for one in unicodedata.normalize("NFKC", name).casefold() if one.isalnum())


def _is_name(text: str) -> bool:
    return (
        1 <= len(text) <= _LONGEST_NAME
        and re.fullmatch(r"[^\W_]([^\W_]|[ -](?! ))*", text) is not None
        and text == text.strip() == unicodedata.normalize("NFC", text)
        and not _reads_like_a_key(text)
    )


def _reads_like_a_key(name: str) -> bool:
    key = re.sub(r"[ -]+", "-", unicodedata.normalize("NFKC", name).casefold())
    return any(shape.fullmatch(key) for shape, _ in _SHAPES.values())


def next_key(calendar: Calendar, key: str) -> str | None:
    """The period after this one; None for ``all`` and ``custom``, and after the last that can be written."""
    check_key(calendar, key)
    if calendar in (Calendar.ALL, Calendar.CUSTOM):
        return None
    year = int(key[:4])
    match calendar:
        case Calendar.ACADEMIC_YEAR:
            return f"{year + 1:04}-{(year + 2) % 100:02}" if year < 9999 else None
        case Calendar.CALENDAR_YEAR:
            return f"{year + 1:04}" if year < 9999 else None
        case Calendar.MONTH:
            month = int(key[5:])
            if month < 12:
                return f"{year:04}-{month + 1:02}"
            return f"{year + 1:04}-01" if year < 9999 else None


def period_days(calendar: Calendar, key: str, year_start: str) -> tuple[date, date] | None:
    """The first and the last day of a period, both within it; None for ``all``, which has no end."""
    check_key(calendar, key)
    match calendar:
        case Calendar.ACADEMIC_YEAR:
            month, day = (int(part) for part in check_year_start(year_start).split("-"))
            year = int(key[:4])
            following = date(year + 1, month, day) if year < date.max.year else None
            return date(year, month, day), following - timedelta(days=1) if following else date.max
        case Calendar.CALENDAR_YEAR:
            return date(int(key), 1, 1), date(int(key), 12, 31)
        case Calendar.MONTH:
            year, month = int(key[:4]), int(key[5:])
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        case Calendar.ALL:
            return None
        case Calendar.CUSTOM:
            raise ValueError("named periods are in the database")


def window(starts_on: date | None, ends_on: date | None, zone: str) -> tuple[datetime | None, datetime | None]:
    """
    When a window opens and closes, in UTC: the end is the first instant after it.

    Windows are local days of the institution, the end day included whole, however long the day is.
    """
    return (
        first_instant(starts_on, zone) if starts_on else None,
        first_instant(ends_on + timedelta(days=1), zone) if ends_on else None,
    )


def first_instant(day: date, zone: str) -> datetime:
    """The first instant of a local day, in UTC; also where the clocks skip midnight."""
    info = ZoneInfo(zone)
    # Of a local midnight that occurs twice, the first; of one that is skipped, a reading with the offset of before.
    moment = datetime.combine(day, time(), info).replace(fold=0).astimezone(UTC)
    if moment.astimezone(info).date() >= day:
        return moment
    # Skipped: the day begins when the clocks jump, which is where the offset of before meets the local day.
    after = datetime.combine(day, time(), info).replace(fold=1).astimezone(UTC)
    return max(moment, after)


def check_year_start(text: str) -> str:
    """
    The day a year starts on, as "MM-DD".

    Raises:
        ValueError: It is no day, or one that not every year has.
    """
    if not re.fullmatch(r"[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{text[:32]!r} is no start of a year: write month and day like 09-01")
    if text == "02-29":
        raise ValueError("02-29 is not in every year: a year starts on a day that every year has")
    month, day = (int(part) for part in text.split("-"))
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(2027, month)[1]:
        raise ValueError(f"{text!r} is no day of a year: write month and day like 09-01")
    return text


def check_zone(name: str) -> str:
    """
    The name of a time zone, as the IANA database spells it.

    Raises:
        ValueError: There is no such zone.
    """
    if name not in zones():
        raise ValueError(f"{name[:64]!r} is no time zone: use an IANA name such as Europe/London")
    return name


@cache
def zones() -> frozenset[str]:
    """The names that a time zone may have."""
    return frozenset(available_timezones()) - {"localtime", "Factory", "posixrules"}
