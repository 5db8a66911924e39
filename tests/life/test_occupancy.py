"""
The past of an allocation, against what its rows were at the time.

The stories are those of the state machine in test_an_allocation, with refunds: after every step the rows are counted,
and in the end occupancy must say of each of those moments what was counted then.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from tests.life.test_an_allocation import World, live, machine

from counterfoil import movable_clock
from counterfoil.model import Shop
from counterfoil.occupancy import Occupancy, Stretch, occupancy

#: What the stories must have told of.
SEEN = {"lapsed", "over, paid late", "over, lowered", "refunded", "reinstated", "shortened"}

_COUNT = """
SELECT now.moment,
    count(*) FILTER (WHERE r.status = 'completed'),
    count(*) FILTER (WHERE r.status = 'pending'),
    count(*) FILTER (WHERE r.status = 'reserved' AND r.expires_at > now.moment),
    count(*) FILTER (WHERE r.status = 'reserved' AND r.expires_at <= now.moment)
FROM (SELECT counterfoil.clock() AS moment OFFSET 0) AS now
LEFT JOIN counterfoil.redemption AS r ON true
GROUP BY now.moment
"""


@dataclass(frozen=True)
class Sample:
    """What the rows were at a moment."""

    at: datetime
    counts: tuple[int, int, int, int]


def counts(of: Stretch) -> tuple[int, int, int, int]:
    """In the order of a sample."""
    return of.completed, of.pending, of.held, of.lapsed


def sample(connection: psycopg.Connection[Any]) -> Sample:
    """Count the rows."""
    row = connection.execute(_COUNT).fetchone()
    assert row
    return Sample(row[0], row[1:])


def watched(world: World, told: Counter[str]) -> Any:
    """The machine, with refunds, and with a witness."""

    class Watched(machine(world)):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            world.connection.execute(
                # Both only grow, and tell of another story.
                "SET session_replication_role = replica; DELETE FROM counterfoil.step; DELETE FROM counterfoil.audit; "
                "RESET session_replication_role"
            )
            world.connection.execute("UPDATE counterfoil.code SET refund_policy = 'return'")
            self.samples: list[Sample] = []

        def money(self, row: Any, *, back: bool) -> str:
            found = world.connection.execute(
                "SELECT outcome FROM counterfoil.settle_refund(%s, %s, NULL, %s, %s, false, '3 s')",
                (row.claim.counts_with, row.claim.id, self.do.read(row.claim).session_id, back),
            ).fetchone()
            assert found
            return str(found[0])

        @rule(data=st.data(), taken=st.booleans())
        def refund(self, data: Any, taken: bool) -> None:
            row = self.pick(data, "completed", "refunded")
            if row is None:
                return
            if row.status == "completed":
                assert self.money(row, back=True) == "refunded"
                row.status = "refunded"
                told["refunded"] += 1
                if taken:
                    return
                self.the_rows_are_counted()
            # The refund fails. Somebody else may have the place by now.
            assert self.money(row, back=False) == "reinstated"
            row.status = "completed"
            told["reinstated"] += 1

        @invariant()
        def the_rows_are_counted(self) -> None:
            self.samples.append(sample(world.connection))

        def teardown(self) -> None:
            if self.rows:
                self.compare()

        def of(self, **more: Any) -> Occupancy:
            found: Occupancy = self.do.host.run(occupancy(code="NORTH", **more))
            return found

        def compare(self) -> None:
            whole = self.of()
            assert whole.exact
            for one in self.samples:
                if one.at >= whole.since:
                    assert counts(whole.at(one.at)) == one.counts, one
            without_gaps(whole)
            nothing_over_that_is_not_marked(whole, told)
            told["lapsed"] += any(one.lapsed for one in whole.stretches)
            # The same in fewer pieces, of a part, and of what is left when there is too much.
            coarse(whole, self.of(buckets=5))
            for part in (
                self.of(steps=3),
                self.of(since=self.samples[len(self.samples) // 2].at),
                self.of(until=self.samples[-len(self.samples) // 3].at),
            ):
                told["shortened"] += part.shortened
                without_gaps(part)
                for one in self.samples:
                    if max(part.since, whole.since) <= one.at < part.until:
                        assert counts(part.at(one.at)) == one.counts, (one, part.since)

    return Watched


def without_gaps(whole: Occupancy) -> None:
    """From its beginning to its end, in order."""
    assert whole.stretches[0].since == whole.since
    assert whole.stretches[-1].until == whole.until
    for before, after in zip(whole.stretches, whole.stretches[1:], strict=False):
        assert before.until == after.since


def nothing_over_that_is_not_marked(whole: Occupancy, told: Counter[str]) -> None:
    """More than the cap was counted only after a payment over it that is marked, or after the cap was lowered."""
    for one in whole.stretches:
        cap = whole.cap_at(one.since)
        assert cap is not None
        if one.counted > cap:
            late = any(mark.over_cap and mark.at <= one.since for mark in whole.late)
            lowered = any(change.at <= one.since and (change.after or 0) < one.counted for change in whole.caps)
            assert late or lowered
            told["over, paid late" if late else "over, lowered"] += 1


def coarse(exact: Occupancy, buckets: Occupancy) -> None:
    """In buckets: no peak has vanished, none was made up, and it says of which moment it tells."""
    without_gaps(buckets)
    if buckets.exact:
        return
    for one in buckets.stretches:
        inside = [
            fine for fine in exact.stretches
            if fine.since < one.until and (fine.until > one.since or fine.since >= one.since)
        ]  # fmt: skip
        assert one.counted >= max((fine.counted for fine in inside), default=0)
        if one.highest_at >= exact.since:
            assert counts(exact.at(one.highest_at)) == counts(one)


@pytest.mark.parametrize(
    "examples", [25, pytest.param(1000, marks=[pytest.mark.deep, pytest.mark.timeout(3600)])], ids=["short", "long"]
)
def test_the_past_is_what_was_counted_then(
    connection: psycopg.Connection[Any], shop: Shop, simulator: Any, examples: int
) -> None:
    """And it saw lapses, late payments over the cap, caps lowered, refunds and their failures."""
    told: Counter[str] = Counter()
    world = World(connection, shop)
    live(watched(world, told), examples, 40, told, SEEN)
    movable_clock.set_ahead(connection, simulator.account.engine.clock.ahead)
