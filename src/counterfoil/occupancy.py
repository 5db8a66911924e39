"""
How many places of an allocation were occupied, and as what, at every moment of a span of time.

A step function. A row is *held* from when it is reserved until its hold ends; *lapsed* from then until it is taken
back, paid or renewed: its place is free for whoever asks, and the row is still counted; *pending* while a delayed
payment is under way; *completed* from when it was paid until it is refunded and returned. The moments are in the table
``step``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from counterfoil import errors, reading
from counterfoil.codes import fold
from counterfoil.statement import Row, Sql, Statement, document

#: In at most so many pieces a span is told, and from so many steps.
BUCKETS = 400
STEPS = 25_000

_ONE = timedelta(microseconds=1)


@dataclass(frozen=True)
class Stretch:
    """
    A piece of the span, and its highest moment: what was occupied then. Of an exact picture it was so all the time.

    Attributes:
        highest_at: That moment.
    """

    since: datetime
    until: datetime
    highest_at: datetime
    completed: int
    pending: int
    held: int
    lapsed: int

    @property
    def total(self) -> int:
        """Places that nobody else could have then: without the lapsed, which are free for whoever asks."""
        return self.completed + self.pending + self.held

    @property
    def counted(self) -> int:
        """With the lapsed, which the gate counts until they are taken back."""
        return self.total + self.lapsed


@dataclass(frozen=True)
class CapChange:
    """The cap was set. None is no cap."""

    at: datetime
    before: int | None
    after: int | None
    note: str | None


@dataclass(frozen=True)
class LatePayment:
    """A place taken without a hold, for money that had arrived: paid after it was given back, or a refund failed."""

    at: datetime
    redemption: UUID
    reinstated: bool
    over_cap: bool


@dataclass(frozen=True)
class Occupancy:
    """
    An allocation's occupancy from *since* to *until*.

    Attributes:
        exact: Each step by itself; else each stretch is its highest moment.
        shortened: It begins later than was asked: there are more steps than are told at once.
        stretches: They follow each other without a gap.
        lapses: When holds lapsed, within the span.
        caps: Every change of the cap, in its order, also outside the span.
    """

    period: str
    zone: str
    cap: int | None
    since: datetime
    until: datetime
    read_at: datetime
    exact: bool
    shortened: bool
    stretches: tuple[Stretch, ...]
    lapses: tuple[datetime, ...]
    late: tuple[LatePayment, ...]
    caps: tuple[CapChange, ...]

    def at(self, moment: datetime) -> Stretch:
        """What is told of a moment of the span."""
        place = bisect_right([stretch.since for stretch in self.stretches], moment) - 1
        return self.stretches[max(place, 0)]

    def cap_at(self, moment: datetime) -> int | None:
        """The cap as it was."""
        for change in reversed(self.caps):
            if change.at <= moment:
                return change.after
        return self.caps[0].before if self.caps else self.cap

    def cap_steps(self) -> list[tuple[datetime, datetime, int | None]]:
        """The cap over the span: from when, to when, what it was."""
        changed = [change.at for change in self.caps if self.since < change.at < self.until]
        starts = [self.since, *changed]
        return [(at, end, self.cap_at(at)) for at, end in zip(starts, [*changed, self.until], strict=True)]

    def over(self) -> list[Stretch]:
        """Where paid and paying places were more than the cap."""
        return [one for one in self.stretches if (cap := self.cap_at(one.highest_at)) is not None and one.total > cap]

    @property
    def highest(self) -> Stretch:
        """The stretch in which the most places were occupied; the first such."""
        return max(self.stretches, key=lambda one: one.total)


def occupancy(
    *,
    code: str,
    period: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    steps: int = STEPS,
    buckets: int = BUCKETS,
) -> Statement[Occupancy]:
    """
    The occupancy of a code's allocation in *period*, or in the one that is now; without a span, from its first step on.

    Raises (when run):
        CodeUnknown: No code reads like this.
    """

    def read(rows: Sequence[Row]) -> Occupancy:
        if not rows:
            raise errors.CodeUnknown(code)
        return _read(rows[0])

    return Statement(
        Sql.named("occupancy"),
        {
            "code": fold(code),
            "period": period,
            "since": since,
            "until": until,
            "steps": steps,
            "buckets": buckets,
        },
        read,
    )


def _read(row: Row) -> Occupancy:
    since, until = reading.moment(row["since"]), reading.moment(row["until"])
    lapses: list[tuple[int, int | None]] = [(a, b) for a, b in document(row["lapses"]) or ()]
    caps = tuple(
        CapChange(reading.moment(one["at"]), one["cap_before"], one["cap_after"], one["note"])
        for one in document(row["caps"]) or ()
    )
    return Occupancy(
        period=row["period"],
        zone=row["time_zone"],
        cap=row["cap"],
        since=since,
        until=until,
        read_at=reading.moment(row["read_at"]),
        exact=row["exact"],
        shortened=row["shortened"],
        stretches=tuple(_stretches(row, since, until, lapses, [(one.at - since) // _ONE for one in caps])),
        lapses=tuple(since + begins * _ONE for begins, _ in lapses if begins >= 0),
        late=tuple(
            LatePayment(
                reading.moment(one["at"]), UUID(one["redemption"]), one["kind"] == "reinstated", one["over_cap"]
            )
            for one in document(row["late"]) or ()
        ),
        caps=caps,
    )


@dataclass(frozen=True)
class _Level:
    """What is occupied from a moment on; times in microseconds of the span."""

    since: int
    until: int
    highest: int
    reserved: int
    pending: int
    completed: int
    #: It is so all the time, and not only at its highest.
    flat: bool = True


def _stretches(
    row: Row, since: datetime, until: datetime, lapses: Sequence[tuple[int, int | None]], caps: Sequence[int]
) -> Iterator[Stretch]:
    begins = sorted(start for start, _ in lapses)
    ends = sorted(end for _, end in lapses if end is not None)
    # Where nothing was written down, holds may still have lapsed. In buckets they are told of at the end of one.
    grain = 1 if row["exact"] and len(begins) <= BUCKETS else int(row["width"])
    for level in _levels(row, (until - since) // _ONE):
        cuts = [level.since]
        if level.flat:
            inside = begins[bisect_right(begins, level.since) : bisect_right(begins, level.until - 1)]
            cut_at = {cut for one in inside if (cut := -(-one // grain) * grain) < level.until}
            # What was under the cap may be over it from a moment on at which nothing else changed.
            cuts += sorted(cut_at | {one for one in caps if level.since < one < level.until})
        for start, end in zip(cuts, [*cuts[1:], level.until], strict=True):
            at = start if level.flat else level.highest
            lapsed = bisect_right(begins, at) - bisect_right(ends, at)
            yield Stretch(
                since + start * _ONE,
                since + end * _ONE,
                since + at * _ONE,
                completed=level.completed,
                pending=level.pending,
                held=level.reserved - lapsed,
                lapsed=lapsed,
            )


def _levels(row: Row, length: int) -> Iterator[_Level]:
    now = (int(row["reserved"]), int(row["pending"]), int(row["completed"]))
    reached = 0
    points: Iterable[Sequence[Any]] = document(row["points"]) or ()
    for start, at, reserved, pending, completed, *change in points:
        highest = (int(reserved), int(pending), int(completed))
        if start > reached:
            yield _Level(reached, start, reached, *now)
        after = (now[0] + change[0], now[1] + change[1], now[2] + change[2])
        if row["exact"]:
            reached, now = start, after
            continue
        end = min(start + row["width"], length)
        if sum(now) >= sum(highest):
            # It was highest just before it began, and from then on there was less.
            yield _Level(start, end, start - 1, *now, flat=False)
        else:
            # Not flat, also where its first moment was its highest.
            yield _Level(start, end, at, *highest, flat=False)
        reached, now = end, after
    if row["exact"] or reached < length:
        yield _Level(reached, length, reached, *now)


@dataclass(frozen=True)
class Step:
    """
    A moment of one redemption: it began or ceased to occupy a place, or came to occupy it as something else.

    Attributes:
        kind: reserved, renewed, pending, completed, completed_late, released, refunded or reinstated.
        lapsed_at: It left a hold that had lapsed by then.
        session_id: Of a renewal: the session that was let go of.
        attached_at: Since when the hold had that session.
    """

    at: datetime
    kind: str
    lapsed_at: datetime | None
    over_cap: bool
    session_id: str | None
    attached_at: datetime | None


_STEPS = """
SELECT s.at, s.kind, s.lapsed_at, s.over_cap, s.session_id, s.attached_at
FROM counterfoil.step AS s
WHERE s.counts_with = :counts_with::bigint AND s.redemption = :redemption::uuid
ORDER BY s.seq
"""


def steps_of(*, counts_with: int, redemption: UUID) -> Statement[list[Step]]:
    """The moments of one redemption, in their order."""

    def read(rows: Sequence[Row]) -> list[Step]:
        return [
            Step(
                reading.moment(row["at"]),
                row["kind"],
                reading.when(row["lapsed_at"]),
                row["over_cap"],
                row["session_id"],
                reading.when(row["attached_at"]),
            )
            for row in rows
        ]

    return Statement(Sql(_STEPS), {"counts_with": counts_with, "redemption": str(redemption)}, read)
