"""What both pictures measure by: where a moment is, where the ticks are, and how wide a word may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

from counterfoil.service.pages.reader import Reader

#: About how wide a letter is, of the size that the style sheet gives to the words in a picture.
LETTER = 6.7

#: Between two ticks: months, or else so long.
_GRAINS: tuple[tuple[int, timedelta], ...] = (
    *((0, timedelta(minutes=minutes)) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *((0, timedelta(days=days)) for days in (1, 2, 7, 14)),
    *((months, timedelta(days=31 * months)) for months in (1, 2, 3, 6, 12, 24, 60, 120)),
)


@dataclass(frozen=True)
class Tick:
    """A tick and its label; *anchor* as SVG has it."""

    at: float
    label: str
    anchor: str = "middle"


def short(number: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    return f"{number:.1f}".removesuffix(".0")


def wide(text: str) -> float:
    """About how wide a text is drawn."""
    return len(text) * LETTER


def counts(top: int, most: int = 5) -> list[int]:
    """Whole numbers from 0 to at most *top*, evenly apart, at most so many above 0."""
    step = next(one for power in count() for factor in (1, 2, 5) if top <= most * (one := factor * 10**power))
    return list(range(0, top + 1, step))


def moments(since: datetime, until: datetime, zone: str, most: int, reader: Reader) -> list[tuple[datetime, str]]:
    """Round moments of a zone within a span, at most so many, and how each is written."""
    months, step = next((one for one in _GRAINS if (until - since) / one[1] <= most), _GRAINS[-1])
    found = [
        (at, _label(at, zone, months, step, reader))
        for at in _round(since.astimezone(ZoneInfo(zone)), until, months, step)
        if since <= at <= until
    ]
    if len(found) < 2:
        # It is over too soon for two round minutes.
        return [(at, reader.clock(at, zone, seconds=True)) for at in (since, until)]
    return found


def _round(local: datetime, until: datetime, months: int, step: timedelta) -> Iterator[datetime]:
    if months:
        month = (local.year * 12 + local.month - 1) // months * months
        while True:
            at = local.replace(month // 12, month % 12 + 1, 1, 0, 0, 0, 0, fold=0) if month // 12 < 9999 else until
            if at >= until:
                return
            yield at
            month += months
    # By the clock on the wall: a day of 23 hours has its noon at noon.
    wall = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None, fold=0)
    before = datetime.min.replace(tzinfo=UTC)
    while (at := wall.replace(tzinfo=local.tzinfo)) <= until:
        if at > before:
            yield at
            before = at.astimezone(UTC)
        wall += step


def _label(at: datetime, zone: str, months: int, step: timedelta, reader: Reader) -> str:
    local = at.astimezone(ZoneInfo(zone))
    if months:
        return reader.month(local.date())
    if step >= timedelta(days=1) or (local.hour, local.minute) == (0, 0):
        return reader.short_day(local.date())
    return reader.clock(at, zone)
