"""
Where the lines of an allocation's occupancy go: what was occupied, one on another, under the cap as it was.

It is drawn in columns of two pixels, each of them the highest moment within it: a peak that lasted a minute of a year
is seen as well as one that lasted a month.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from counterfoil.occupancy import CapChange, LatePayment, Occupancy, Stretch
from counterfoil.service.pages.pictures.axis import Tick, counts, moments, short, wide
from counterfoil.service.pages.reader import Reader

#: Drawn widths: on a desk, and on a phone.
WIDTHS = {"desk": 1000, "phone": 330}
#: Rows of the table beneath.
ROWS = 40

_LEFT, _RIGHT, _TOP, _TALL, _LANE = 54, 12, 26, 220, 26
_COLUMN = 2
#: Marks nearer than this are one, with their number.
_NEAR = 30
#: A cap so many times higher than all that is drawn would press it to the ground.
_FAR = 6


@dataclass(frozen=True)
class Mark:
    """Of what happened about then: how often, and in words. *kind*: lapsed, late, over."""

    at: float
    kind: str
    times: int
    said: str


@dataclass(frozen=True)
class Drawing:
    """One of the two: numbers of the SVG. Paths by the names of their classes, in the order they are drawn."""

    size: str
    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    areas: tuple[tuple[str, str], ...]
    cap: str
    cap_labels: tuple[Tick, ...]
    cap_heights: tuple[float, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    lanes: tuple[tuple[str, float, tuple[Mark, ...]], ...]


@dataclass(frozen=True)
class Over:
    """
    For so long more places were paid for, or being paid for, than the cap.

    Attributes:
        late: A payment of the time that was honoured over it.
        lowered: A change of the time that lowered it.
    """

    since: datetime
    until: datetime
    most: Stretch
    cap: int
    late: LatePayment | None
    lowered: CapChange | None


@dataclass(frozen=True)
class Row:
    """Of a piece of the span its highest moment."""

    since: datetime
    highest: Stretch
    cap: int | None


@dataclass(frozen=True)
class OccupancyPicture:
    """All that the template needs. *far*: the highest cap of those that are too high to be drawn."""

    of: Occupancy
    drawings: tuple[Drawing, ...]
    over: tuple[Over, ...]
    rows: tuple[Row, ...]
    far: int | None

    @property
    def empty(self) -> bool:
        """Nobody ever had a place."""
        return not (self.of.lapses or self.of.late or any(one.counted for one in self.of.stretches))

    @property
    def lapsed(self) -> bool:
        """Whether there is anything hatched in it."""
        return any(one.lapsed for one in self.of.stretches)


def occupancy_picture(of: Occupancy, reader: Reader) -> OccupancyPicture:
    """The picture, in both widths."""
    drawings = tuple(_Pen(of, reader, size, width).drawing() for size, width in WIDTHS.items())
    each = [(one.since, one) for one in of.stretches]
    if len(each) > ROWS:
        each = [(since, one) for since, _, one in _pieces(of, ROWS)]
    rows = tuple(Row(since, one, of.cap_at(one.highest_at)) for since, one in each)
    return OccupancyPicture(of, drawings, tuple(_overs(of)), rows, far=_caps(of)[1])


def _caps(of: Occupancy) -> tuple[int, int | None]:
    """How far up it is drawn: to all that was counted, and to caps that are not far above; and the highest of those."""
    counted = max((one.counted for one in of.stretches), default=0)
    caps = [cap for _, _, cap in of.cap_steps() if cap is not None]
    far = max((cap for cap in caps if cap > max(counted, 1) * _FAR), default=None)
    near = [cap for cap in caps if cap <= max(counted, 1) * _FAR]
    # Where no cap is above it, what is free is seen as room all the same.
    return max(counted, *near, 1) if near else max(counted + counted // 3 + 1, 5), far


def _weight(of: Occupancy, one: Stretch) -> tuple[int, int, int]:
    cap = of.cap_at(one.highest_at)
    return (0 if cap is None else max(one.total - cap, 0), one.total, one.counted)


def _pieces(of: Occupancy, most: int) -> list[tuple[datetime, datetime, Stretch]]:
    """At most so many pieces, each one or more of the same length, and of each its highest stretch."""
    stretches = of.stretches
    span = max(of.until - of.since, timedelta(microseconds=1))
    found: list[tuple[datetime, datetime, Stretch]] = []
    first = 0
    for index in range(most):
        # Each by itself, so that what is rounded away does not add up, and the last one ends where all ends.
        since, until = (of.since + span * end / most for end in (index, index + 1))
        last = first
        while last + 1 < len(stretches) and stretches[last + 1].since < until:
            last += 1
        highest = max(stretches[first : last + 1], key=lambda one: _weight(of, one))
        if found and found[-1][2] is highest:
            found[-1] = (found[-1][0], until, highest)
        else:
            found.append((since, until, highest))
        # The one that goes on beyond the end of the piece is in the next one too.
        first = last if stretches[last].until > until or last + 1 == len(stretches) else last + 1
    return found


def _overs(of: Occupancy) -> list[Over]:
    found: list[Over] = []
    for one in of.over():
        cap = of.cap_at(one.highest_at)
        if cap is None:
            continue
        if found and found[-1].until == one.since:
            before = found.pop()
            more = one.total - cap > before.most.total - before.cap
            found.append(
                Over(before.since, one.until, one if more else before.most, cap if more else before.cap, None, None)
            )
        else:
            found.append(Over(one.since, one.until, one, cap, None, None))
    return [
        Over(
            one.since,
            one.until,
            one.most,
            one.cap,
            next((late for late in of.late if late.over_cap and one.since <= late.at <= one.until), None),
            next((change for change in of.caps if _lowered(change) and one.since <= change.at <= one.until), None),
        )
        for one in found
    ]


def _lowered(change: CapChange) -> bool:
    return change.after is not None and (change.before is None or change.after < change.before)


class _Pen:
    def __init__(self, of: Occupancy, reader: Reader, size: str, width: int) -> None:
        self.of, self.reader, self.size, self.width = of, reader, size, width
        self.left, self.right = float(_LEFT), float(width - _RIGHT)
        self.bottom = float(_TOP + _TALL)
        self.ceiling, _ = _caps(of)
        self.length = max(of.until - of.since, timedelta(microseconds=1))

    def x(self, moment: datetime) -> float:
        part = (moment - self.of.since) / self.length
        return self.left + min(max(part, 0.0), 1.0) * (self.right - self.left)

    def y(self, count: float) -> float:
        return self.bottom - count / self.ceiling * _TALL

    def drawing(self) -> Drawing:
        most = int((self.right - self.left) / _COLUMN)
        columns = [(self.x(since), self.x(until), one) for since, until, one in _pieces(self.of, most)]
        names: dict[str, tuple[Callable[[Stretch], int], Callable[[Stretch], int]]] = {
            "completed": (lambda _: 0, lambda one: one.completed),
            "pending": (lambda one: one.completed, lambda one: one.completed + one.pending),
            "held": (lambda one: one.completed + one.pending, lambda one: one.total),
            "lapsed": (lambda one: one.total, lambda one: one.counted),
            "over": (self._cap_under, lambda one: one.total),
        }
        areas = [
            (name, path)
            for name, (lower, upper) in names.items()
            if (path := self._area([(a, b, lower(one), upper(one)) for a, b, one in columns]))
        ]
        cap, labels, heights = self._cap()
        lanes, y = [], self.bottom + 40
        for label, kinds in (("lapsed", ("lapsed",)), ("late", ("late", "over"))):
            if marks := self._marks(kinds):
                lanes.append((label, y, marks))
                y += _LANE
        return Drawing(
            size=self.size,
            width=self.width,
            height=int(y - 12),
            left=self.left,
            right=self.right,
            top=float(_TOP),
            bottom=self.bottom,
            areas=tuple(areas),
            cap=cap,
            cap_labels=labels,
            cap_heights=heights,
            across=self._across(),
            up=tuple(Tick(self.y(count), self.reader.number(count), "end") for count in counts(self.ceiling)),
            lanes=tuple(lanes),
        )

    def _cap_under(self, one: Stretch) -> int:
        cap = self.of.cap_at(one.highest_at)
        return one.total if cap is None else min(cap, one.total)

    def _area(self, columns: Sequence[tuple[float, float, int, int]]) -> str:
        """A path around each run of columns that have a height."""
        runs: list[list[tuple[float, float, int, int]]] = []
        for one in columns:
            if one[2] == one[3]:
                continue
            if runs and runs[-1][-1][1] == one[0]:
                last = runs[-1][-1]
                if last[2:] == one[2:]:
                    runs[-1][-1] = (last[0], one[1], *one[2:])
                else:
                    runs[-1].append(one)
            else:
                runs.append([one])
        path = []
        for run in runs:
            path.append(f"M{short(run[0][0])} {short(self.y(run[0][2]))}")
            path += [f"V{short(self.y(upper))}H{short(end)}" for _, end, _, upper in run]
            path += [f"V{short(self.y(lower))}H{short(start)}" for start, _, lower, _ in reversed(run)]
            path.append("Z")
        return "".join(path)

    def _cap(self) -> tuple[str, tuple[Tick, ...], tuple[float, ...]]:
        """The line, and its labels where there is room for them."""
        path, steps = [], list[tuple[float, float, int]]()
        drawn = False
        for since, until, cap in self.of.cap_steps():
            if cap is None or cap > self.ceiling:
                drawn = False
                continue
            start, end, y = self.x(since), self.x(until), self.y(cap)
            path.append((f"V{short(y)}" if drawn else f"M{short(start)} {short(y)}") + f"H{short(end)}")
            steps.append((start, end, cap))
            drawn = True
        labels, heights, taken = list[Tick](), list[float](), list[tuple[float, float]]()
        # The longest first: where there is room for one, it is of what was so for longer.
        for start, _, cap in sorted(steps, key=lambda one: one[0] - one[1]):
            label = f"cap {self.reader.number(cap)}"
            at = min(start + 4, self.right - wide(label))
            end = at + wide(label) + 8
            if all(end <= left or at >= right for left, right in taken):
                labels.append(Tick(at, label, "start"))
                heights.append(self.y(cap) - 6)
                taken.append((at, end))
        return "".join(path), tuple(labels), tuple(heights)

    def _across(self) -> tuple[Tick, ...]:
        most = max(2, int((self.right - self.left) / 66))
        ticks: list[Tick] = []
        free = 0.0
        for moment, label in moments(self.of.since, self.of.until, self.of.zone, most, self.reader):
            at, half = self.x(moment), wide(label) / 2
            anchor = "middle"
            if at + half > self.width:
                anchor = "end"
            start = at - 2 * half if anchor == "end" else at - half
            if start >= free:
                ticks.append(Tick(at, label, anchor))
                free = start + 2 * half + 10
        return tuple(ticks)

    def _marks(self, kinds: Sequence[str]) -> tuple[Mark, ...]:
        happened = (
            [(at, "lapsed") for at in self.of.lapses if at <= self.of.until]
            if "lapsed" in kinds
            else [(one.at, "over" if one.over_cap else "late") for one in self.of.late]
        )
        groups: list[list[tuple[datetime, str]]] = []
        for one in sorted(happened):
            if groups and self.x(one[0]) - self.x(groups[-1][0][0]) < _NEAR:
                groups[-1].append(one)
            else:
                groups.append([one])
        return tuple(
            Mark(
                self.x(group[0][0]),
                "over" if any(kind == "over" for _, kind in group) else group[0][1],
                len(group),
                self._said([at for at, _ in group]),
            )
            for group in groups
        )

    def _said(self, at: Sequence[datetime]) -> str:
        first, last = (self.reader.moment(one, self.of.zone) for one in (at[0], at[-1]))
        return first if first == last else f"{first} to {last}"
