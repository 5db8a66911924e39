"""
Money, numbers and times as the reader writes them. The words of our pages are English; how a number or a day is written
is the reader's own, as their browser tells it.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import UnknownLocaleError
from babel.dates import format_date, format_skeleton, format_time
from babel.numbers import format_decimal

from counterfoil.pricing import decimals

DEFAULT = Locale("en", "GB")

#: Languages that are looked at: a browser sends a handful.
_MOST = 10


@dataclass(frozen=True)
class Reader:
    """
    Who reads a page: how they write numbers and days, and what time it is by the clock that decides.

    *now* is the database's; without it no page can say whether a moment is today.
    """

    locale: Locale = DEFAULT
    now: datetime | None = None

    def money(self, amount: int, currency: str) -> str:
        """An amount of minor units, with as many decimals as Stripe counts: Babel's own differ (ISK, HUF, UGX)."""
        places = decimals(currency)
        # A copy: the locale's pattern is shared, and this one has other decimals.
        pattern = copy.copy(self.locale.currency_formats["standard"])
        pattern.frac_prec = (places, places)
        written: str = pattern.apply(
            Decimal(amount).scaleb(-places), self.locale, currency=currency.upper(), currency_digits=False
        )
        return written

    def number(self, count: int) -> str:
        """A whole number."""
        return str(format_decimal(count, locale=self.locale))

    def time(self, moment: datetime, zone: str) -> str:
        """
        The time of day in a zone, and the day if it is another one than today there.

        Raises:
            ValueError: Nobody said what time it is now.
        """
        if self.now is None:
            raise ValueError("a page that says when something is must be given now=, the database's clock")
        local, today = moment.astimezone(ZoneInfo(zone)), self.now.astimezone(ZoneInfo(zone)).date()
        clock = str(format_time(local.time(), "short", locale=self.locale))
        if local.date() == today:
            return clock
        skeleton = "MMMMd" if local.year == today.year else "yMMMMd"
        return f"{clock} on {format_skeleton(skeleton, local.date(), locale=self.locale)}"

    def moment(self, moment: datetime, zone: str) -> str:
        """The day and the time in a zone, whatever day it is."""
        local = moment.astimezone(ZoneInfo(zone))
        return f"{self.day(local.date())}, {format_time(local.time(), 'short', locale=self.locale)}"

    def day(self, day: date) -> str:
        """A day, with its year."""
        return str(format_date(day, "long", locale=self.locale))

    def clock(self, moment: datetime, zone: str, *, seconds: bool = False) -> str:
        """The time of day in a zone, whatever day it is."""
        local = moment.astimezone(ZoneInfo(zone))
        return str(format_time(local.time(), "medium" if seconds else "short", locale=self.locale))

    def short_day(self, day: date) -> str:
        """A day without its year, as short as it gets: for an axis."""
        return str(format_skeleton("MMMd", day, locale=self.locale))

    def month(self, day: date) -> str:
        """The month of a day, with its year: for an axis."""
        return str(format_skeleton("yMMM", day, locale=self.locale))


def reading(accept_language: str, now: datetime | None = None) -> Reader:
    """The reader whose browser sent this header: the first of their languages that there is a way of writing for."""
    return Reader(next(filter(None, map(_locale, _preferred(accept_language))), DEFAULT), now)


def _preferred(accept_language: str) -> list[str]:
    """Language tags, most wanted first."""
    wanted: list[tuple[float, str]] = []
    for part in accept_language.split(",")[:_MOST]:
        found = re.fullmatch(r"\s*([A-Za-z0-9-]{2,35})\s*(?:;\s*q\s*=\s*(\d(?:\.\d{1,3})?)\s*)?", part)
        if found and (quality := float(found[2] or 1)) > 0:
            wanted.append((-quality, found[1]))
    return [tag for _, tag in sorted(wanted, key=lambda one: one[0])]


def _locale(tag: str) -> Locale | None:
    if tag.lower() == "en":
        return DEFAULT
    try:
        return Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError):
        return None
