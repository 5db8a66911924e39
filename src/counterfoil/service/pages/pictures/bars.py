"""
Where the lines of one redemption's timeline go: its place and its payment pages as bars on one axis, filled as long as
they were and outlined as long as they may be. Where for long nothing happens the axis is broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from counterfoil.model import Redemption
from counterfoil.occupancy import Step
from counterfoil.service.pages.pictures.area import WIDTHS
from counterfoil.service.pages.pictures.axis import Tick, wide
from counterfoil.service.pages.reader import Reader

_PAD, _BAR, _LANE, _LABELS = 10.0, 18.0, 30.0, 19.0
#: A break of the axis, and how long nothing must happen for one, at the least.
_BREAK, _LONG = 44.0, timedelta(minutes=90)

#: What a step makes of the place, and what it is called.
_STATES = {
    "reserved": ("held", "reserved"),
    "renewed": ("held", "renewed"),
    "pending": ("pending", "payment under way"),
    "completed": ("completed", "paid"),
    "completed_late": ("completed", "paid late"),
    "released": (None, "released"),
    "refunded": (None, "place returned"),
    "reinstated": ("completed", "refund failed"),
}


@dataclass(frozen=True)
class Part:
    """So long it was this: held, lapsed, pending, completed; page for a payment page."""

    kind: str
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Moment:
    """What happened, or will. *kind*: plain, good, bad, ahead, now."""

    at: datetime
    word: str
    kind: str = "plain"


@dataclass(frozen=True)
class Bar:
    """A bar of the drawing; *kind* may be whole: the outline of what may be."""

    kind: str
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Label:
    """A moment's line and its words."""

    line: float
    text: Tick
    y: float
    kind: str


@dataclass(frozen=True)
class Bars:
    """One of the two drawings."""

    size: str
    width: int
    height: int
    tall: float
    bars: tuple[Bar, ...]
    titles: tuple[tuple[str, float], ...]
    labels: tuple[Label, ...]
    breaks: tuple[float, ...]
    top: float
    bottom: float


@dataclass(frozen=True)
class TimelinePicture:
    """
    All that the template needs.

    Attributes:
        hold: The hold as it is or would have been, if the row still says so.
        page: The payment page that counts.
        unknown: Payment pages of which is not known since when they were open.
    """

    place: tuple[Part, ...]
    pages: tuple[Part, ...]
    hold: Part | None
    page: Part | None
    moments: tuple[Moment, ...]
    unknown: int
    drawings: tuple[Bars, ...]

    @property
    def spare(self) -> timedelta | None:
        """By how much the payment page ends before the hold."""
        return self.hold.until - self.page.until if self.hold and self.page else None


def timeline_picture(claim: Redemption, steps: Sequence[Step], zone: str, reader: Reader) -> TimelinePicture:
    """The picture, in both widths."""
    place = tuple(_place(claim, steps))
    hold, ended = _hold(claim, steps), _ended(claim)
    pages, page, unknown = _pages(claim, steps, ended)
    moments = tuple(sorted(_moments(claim, steps, hold, page, ended), key=lambda one: one.at))
    whole = TimelinePicture(place, pages, hold, page, moments, unknown, ())
    return replace(
        whole, drawings=tuple(_Pen(whole, zone, reader, size, width).drawing() for size, width in WIDTHS.items())
    )


def length_of(length: timedelta) -> str:
    """How long it is, in the largest unit that says it well."""
    minutes = round(length / timedelta(minutes=1))
    if minutes < 1:
        return f"{max(round(length / timedelta(seconds=1)), 0)} s"
    if minutes <= 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours <= 48 else f"{round(hours / 24)} days"


def _ended(claim: Redemption) -> datetime | None:
    """When its payment page had no more to wait for."""
    return min(filter(None, (claim.pending_at, claim.completed_at, claim.released_at)), default=None)


def _place(claim: Redemption, steps: Sequence[Step]) -> Iterator[Part]:
    kind: str | None = None
    since = claim.reserved_at
    for step in steps:
        if kind:
            yield from _occupied(kind, since, step.at, step.lapsed_at)
        kind, since = _STATES[step.kind][0], step.at
    if kind:
        yield from _occupied(kind, since, claim.read_at, claim.expires_at if claim.lapsed else None)


def _occupied(kind: str, since: datetime, until: datetime, lapsed_at: datetime | None) -> Iterator[Part]:
    if lapsed_at is not None and since <= lapsed_at <= until:
        yield Part(kind, since, lapsed_at)
        yield Part("lapsed", lapsed_at, until)
    elif since < until:
        yield Part(kind, since, until)


def _hold(claim: Redemption, steps: Sequence[Step]) -> Part | None:
    began = next((step.at for step in reversed(steps) if step.kind in ("reserved", "renewed")), None)
    # A delayed payment puts its own deadline in place of the hold's.
    ends = claim.expires_at if claim.pending_at is None else None
    if ends is None:
        ends = next((step.lapsed_at for step in steps if step.kind == "pending"), None)
    return Part("whole", began, ends) if began and ends and began < ends else None


def _pages(
    claim: Redemption, steps: Sequence[Step], ended: datetime | None
) -> tuple[tuple[Part, ...], Part | None, int]:
    """Its payment pages as long as they were open; the one that counts, as long as it may be; how many are unknown."""
    former: dict[str, tuple[datetime | None, datetime]] = {
        step.session_id: (step.attached_at, step.at) for step in steps if step.session_id
    }
    own = former.pop(claim.session_id, (claim.attached_at, claim.read_at))[0] if claim.session_id else None
    until = claim.session_expires_at
    page = Part("whole", own, until) if own and until and own < until else None
    if claim.session_id and own != claim.attached_at and claim.attached_at:
        # An earlier one was paid: the last one had been opened after it.
        former[""] = (claim.attached_at, ended or claim.read_at)
    open_until = min(filter(None, (until, ended, claim.read_at)))
    found = [Part("page", since, end) for since, end in former.values() if since and since < end]
    if page and page.since < open_until:
        found.append(Part("page", page.since, open_until))
    known = sum(since is not None for since, _ in former.values()) + (own is not None)
    unknown = len(former) + (claim.session_id is not None) - known
    return tuple(sorted(found, key=lambda one: one.since)), page, unknown


def _moments(
    claim: Redemption, steps: Sequence[Step], hold: Part | None, page: Part | None, ended: datetime | None
) -> Iterator[Moment]:
    good, bad = ("completed",), ("completed_late", "reinstated")
    for step in steps:
        word = _STATES[step.kind][1] + (", over the cap" if step.over_cap else "")
        yield Moment(step.at, word, "good" if step.kind in good else "bad" if step.kind in bad else "plain")
        if step.lapsed_at is not None:
            yield Moment(step.lapsed_at, "hold lapsed")
    if claim.lapsed:
        yield Moment(claim.expires_at, "hold lapsed")
    elif hold and (ended is None or claim.released_at) and not any(step.lapsed_at == hold.until for step in steps):
        yield Moment(hold.until, "hold ends" if ended is None else "hold would have ended", "ahead")
    if page:
        yield Moment(page.since, "payment page opens")
        if ended is None or page.until < ended:
            yield Moment(page.until, "payment page ends", "ahead" if page.until > claim.read_at else "plain")
    if claim.refunded_at and claim.completed_at and not any(step.at == claim.refunded_at for step in steps):
        yield Moment(claim.refunded_at, "money went back")
    if ended is None and not claim.lapsed:
        yield Moment(claim.read_at, "now", "now")


class _Pen:
    def __init__(self, of: TimelinePicture, zone: str, reader: Reader, size: str, width: int) -> None:
        self.of, self.zone, self.reader, self.size, self.width = of, zone, reader, size, width
        wholes = [one for one in (of.hold, of.page) if one]
        self.knots = sorted(
            {one.at for one in of.moments}
            | {at for part in (*of.place, *of.pages, *wholes) for at in (part.since, part.until)}
        )
        longest = max((part.until - part.since for part in wholes), default=_LONG)
        self.long = max(_LONG, 1.5 * longest)
        gaps = [after - before for before, after in zip(self.knots, self.knots[1:], strict=False)]
        even = sum((gap for gap in gaps if gap <= self.long), timedelta())
        room = width - 2 * _PAD - _BREAK * sum(gap > self.long for gap in gaps)
        self.at, x = dict[datetime, float](), _PAD
        self.breaks: list[float] = []
        for knot, gap in zip(self.knots, [*gaps, timedelta()], strict=True):
            self.at[knot] = x
            if gap > self.long:
                self.breaks.append(x + _BREAK / 2)
                x += _BREAK
            elif even:
                x += room * (gap / even)

    def drawing(self) -> Bars:
        of, bars, titles = self.of, list[Bar](), list[tuple[str, float]]()
        y = 14.0
        titles.append(("Place" + (f", held for at most {self._length(of.hold)}" if of.hold else ""), y))
        y += 7
        bars += [self._bar(part, y) for part in of.place]
        if of.hold:
            bars.append(self._bar(of.hold, y))
        if of.pages or of.page:
            y += _BAR + 21
            titles.append(("Payment page" + (f", open for at most {self._length(of.page)}" if of.page else ""), y))
            y += 7
            rows: list[datetime] = []
            for part in of.pages:
                row = next((place for place, free in enumerate(rows) if free <= part.since), len(rows))
                rows[row : row + 1] = [part.until]
                bars.append(self._bar(part, y + row * _LANE))
                if of.page and part.since == of.page.since:
                    bars.append(self._bar(of.page, y + row * _LANE))
            y += (max(len(rows), 1) - 1) * _LANE
        bottom = y + _BAR
        labels = self._labels(bottom)
        return Bars(
            size=self.size,
            width=self.width,
            height=int(max((one.y for one in labels), default=bottom) + 10),
            tall=_BAR,
            bars=tuple(bars),
            titles=tuple(titles),
            labels=labels,
            breaks=tuple(self.breaks),
            top=21.0,
            bottom=bottom,
        )

    def _bar(self, part: Part, y: float) -> Bar:
        start, end = self.at[part.since], self.at[part.until]
        return Bar(part.kind, start, y, max(end - start, 1.5))

    def _length(self, part: Part | None) -> str:
        return length_of(part.until - part.since) if part else ""

    def _labels(self, bottom: float) -> tuple[Label, ...]:
        """Words under the bars, in as many rows as they need: the last in the first, so that no line crosses a word."""
        rows: list[float] = []
        found = []
        today = self.knots[0].astimezone(ZoneInfo(self.zone)).date()
        for moment in reversed(self.of.moments):
            day = moment.at.astimezone(ZoneInfo(self.zone)).date()
            when = self.reader.clock(moment.at, self.zone) if day == today else self.reader.short_day(day)
            text, at = f"{moment.word} {when}", self.at[moment.at]
            start, anchor = at, "start"
            if at + wide(text) > self.width - 2:
                start, anchor = max(at - wide(text), 0), "end"
            end = start + wide(text) + 10
            row = next((place for place, free in enumerate(rows) if end <= free), len(rows))
            rows[row : row + 1] = [start]
            found.append(Label(at, Tick(at, text, anchor), bottom + 22 + row * _LABELS, moment.kind))
        return tuple(found)
