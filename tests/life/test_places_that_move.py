"""
Caps that are set, places that move, holds, payments and lapses, as a state machine over two codes and two periods.

What must hold whatever the order: a move changes the sum of the caps by nothing, a refusal changes nothing at all,
`remaining` is never negative, and no cap is never taken for 0, nor 0 for no cap.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.life.test_an_allocation import live
from tests.support.places import Verbs, code, school

from counterfoil import catalogue, errors, movable_clock, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code, Redemption, Shop
from counterfoil.moving import move_places
from counterfoil.periods import Calendar, next_key

CAPS = st.none() | st.integers(0, 4)
CODES = st.sampled_from(["NORTH", "SOUTH"])
PERIODS = st.sampled_from([0, 1])

#: What can happen.
ALL = {
    "moved", "not free", "no cap", "the same", "held", "spent", "let in without a cap", "0 admits nobody", "lowered",
    "completed", "lapsed",
}  # fmt: skip


@dataclass
class World:
    """The world of one run."""

    connection: psycopg.Connection[Any]
    shop: Shop
    seen: Counter[str] = field(default_factory=Counter)


def machine(world: World) -> type[RuleBasedStateMachine]:
    """A state machine in this world."""

    class Moves(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            for table in ("portal_notice", "checkout", "redemption", "allocation", "code", "institution", "attention"):
                world.connection.execute(f"DELETE FROM counterfoil.{table}".encode())
            self.do = Verbs(Psycopg(world.connection), world.shop)
            northfold = school(self.do.host)
            self.codes: dict[str, Code] = {
                name: code(self.do.host, name, cap=cap, of=northfold, per_buyer_limit=None)
                for name, cap in (("NORTH", 2), ("SOUTH", None))
            }
            now = self.codes["NORTH"].period
            self.periods = (now, str(next_key(Calendar.ACADEMIC_YEAR, now)))
            #: The caps as they must be, whoever asks.
            self.caps: dict[tuple[str, str], int | None] = {
                (name, period): one.cap for name, one in self.codes.items() for period in self.periods
            }
            self.claims: list[Redemption] = []
            self.buyers = 0
            row = world.connection.execute("SELECT ahead FROM counterfoil.clock_ahead").fetchone()
            assert row
            self.now: timedelta = row[0]

        def usage(self, name: str, period: str) -> Any:
            return self.do.host.run(verbs.usage(code=name, period=period))

        def rows(self) -> list[Any]:
            return world.connection.execute(
                "SELECT a.*, (SELECT count(*) FROM counterfoil.audit) FROM counterfoil.allocation AS a ORDER BY 1, 2"
            ).fetchall()

        @rule(name=CODES, which=PERIODS, cap=CAPS, confirmed=st.booleans())
        def set_cap(self, name: str, which: int, cap: int | None, confirmed: bool) -> None:
            period = self.periods[which]
            before = self.usage(name, period)
            used = before.completed + before.pending + before.held
            try:
                self.do.host.run(
                    catalogue.set_cap(
                        code=self.codes[name], period=period, cap=cap, note=None, confirmed=confirmed, shop=world.shop
                    )
                )
            except errors.CapBelowUsed:
                assert cap is not None
                assert cap < used
                assert not confirmed
                return
            world.seen["lowered"] += cap is not None and cap < used
            self.caps[name, period] = cap

        @rule(name=CODES, which=PERIODS, to=CODES, to_which=PERIODS, places=st.integers(1, 3))
        def move(self, name: str, which: int, to: str, to_which: int, places: int) -> None:
            source, target = (name, self.periods[which]), (to, self.periods[to_which])
            free = self.usage(*source).remaining
            before = self.rows()
            try:
                self.do.host.run(
                    move_places(
                        code=self.codes[name],
                        period=source[1],
                        to=self.codes[to],
                        to_period=target[1],
                        places=places,
                        note=None,
                        shop=world.shop,
                    )
                )
            except errors.NoCap:
                assert None in (self.caps[source], self.caps[target])
                world.seen["no cap"] += 1
            except errors.NotSoManyFree as refusal:
                assert places > free == refusal.fields["free"]
                world.seen["not free"] += 1
            except errors.CannotMove:
                assert source == target
                world.seen["the same"] += 1
            else:
                here, there = self.caps[source], self.caps[target]
                assert here is not None
                assert there is not None
                assert places <= free
                assert source != target
                self.caps[source], self.caps[target] = here - places, there + places
                world.seen["moved"] += 1
                return
            assert self.rows() == before

        @rule(name=CODES)
        def reserve(self, name: str) -> None:
            cap = self.caps[name, self.periods[0]]
            free = self.usage(name, self.periods[0]).remaining
            self.buyers += 1
            try:
                self.claims.append(self.do.reserve(f"buyer {self.buyers}", name))
            except (errors.AllocationSpent, errors.AllocationHeld, errors.Busy) as refusal:
                assert cap is not None
                # Of lapsed holds with a session, Stripe would be asked first.
                assert free == 0 or isinstance(refusal, errors.Busy)
                world.seen["0 admits nobody" if cap == 0 else "spent"] += 1
            else:
                assert cap is None or (cap > 0 and free)
                world.seen["held" if cap is not None else "let in without a cap"] += 1

        @rule(data=st.data(), verdict=st.sampled_from(["pending", "paid", "expired"]))
        def settle(self, data: Any, verdict: str) -> None:
            if not self.claims:
                return
            claim = self.do.read(data.draw(st.sampled_from(self.claims)))
            session = claim.session_id or f"cs_{claim.id}"
            if claim.session_id is None:
                self.do.attach(claim, session)
            world.seen[self.do.settle(claim, session, verdict).outcome] += 1

        @rule(minutes=st.sampled_from([10, 41]))
        def time_passes(self, minutes: int) -> None:
            self.now += timedelta(minutes=minutes)
            movable_clock.set_ahead(world.connection, self.now)
            world.seen["lapsed"] += any(self.do.read(claim).lapsed for claim in self.claims)

        @invariant()
        def every_cap_is_what_was_set_and_moved(self) -> None:
            for (name, period), cap in self.caps.items():
                usage = self.usage(name, period)
                assert usage.cap == cap
                taken = usage.completed + usage.pending + usage.held
                assert usage.remaining == (None if cap is None else max(0, cap - taken))

        @invariant()
        def the_counters_are_what_the_rows_say(self) -> None:
            assert self.do.recount() == []

    return Moves


@pytest.mark.parametrize(
    "examples", [8, pytest.param(1000, marks=[pytest.mark.deep, pytest.mark.timeout(3600)])], ids=["short", "long"]
)
def test_places_that_move(connection: psycopg.Connection[Any], shop: Shop, simulator: Any, examples: int) -> None:
    """And it saw everything that can happen."""
    world = World(connection, shop)
    live(machine(world), examples, 30, world.seen, ALL)
    movable_clock.set_ahead(connection, simulator.account.engine.clock.ahead)
