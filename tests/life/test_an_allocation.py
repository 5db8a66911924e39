"""
The life of one allocation, as a state machine against a model in plain Python.

The model knows the rules and no SQL. After every step the counter is recounted, and usage is what the model says.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

import psycopg
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.support.places import HOLD, Verbs, code

from counterfoil import catalogue, errors, movable_clock
from counterfoil.explanation import Explanation, explain
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code, Redemption, ReleaseReason, Shop

BUYERS = st.sampled_from("abcdef")


@dataclass
class Row:
    """What the model knows of a redemption."""

    claim: Redemption
    status: Literal["reserved", "pending", "completed", "released"]
    ends: timedelta
    session: bool = False
    over: bool = False


@dataclass
class World:
    """The world of one run: the database emptied, its clock where it stands, one code."""

    connection: psycopg.Connection[Any]
    shop: Shop
    seen: Counter[str] = field(default_factory=Counter)


def machine(world: World) -> type[RuleBasedStateMachine]:
    """A state machine in this world."""

    class Life(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            connection = world.connection
            for table in ("portal_notice", "checkout", "redemption", "allocation", "code", "institution", "attention"):
                connection.execute(f"DELETE FROM counterfoil.{table}".encode())
            self.do = Verbs(Psycopg(connection), world.shop)
            self.cap = 2
            self.code: Code = code(self.do.host, cap=self.cap)
            row = connection.execute("SELECT ahead FROM counterfoil.clock_ahead").fetchone()
            assert row
            self.now: timedelta = row[0]
            self.rows: list[Row] = []
            self.sessions = 0

        # --- the model's view -------------------------------------------------------------------------------------

        def live(self, row: Row) -> bool:
            return row.status == "reserved" and row.ends > self.now

        def spent(self) -> int:
            return sum(row.status in ("pending", "completed") for row in self.rows)

        def held(self) -> int:
            return sum(self.live(row) for row in self.rows)

        def own(self, buyer: str, *statuses: str) -> list[Row]:
            return [row for row in self.rows if row.claim.buyer == buyer and row.status in statuses]

        # --- steps ------------------------------------------------------------------------------------------------

        @rule(buyer=BUYERS, page=st.booleans())
        def reserve(self, buyer: str, page: bool) -> None:
            foretold = self.do.host.run(explain(code="NORTH", buyer=buyer))
            self.counts_of(foretold)
            try:
                claim = self.do.reserve(buyer)
            except errors.Refusal as refusal:
                world.seen[refusal.code] += 1
                self.was_foretold(foretold, refusal)
                match refusal:
                    case errors.BuyerLimitReached():
                        assert self.own(buyer, "pending", "completed")
                    case errors.AllocationSpent():
                        assert self.spent() >= self.cap
                    case errors.AllocationHeld():
                        assert self.spent() + self.held() >= self.cap > self.spent()
                        assert refusal.fields["held"] == self.held()
                    case errors.Busy():
                        # Only places of lapsed holds with a session are left: Stripe would be asked.
                        assert any(row.status == "reserved" and not self.live(row) and row.session for row in self.rows)
                    case _:
                        raise
                return
            mine = self.own(buyer, "reserved")
            assert foretold.refusal is None
            assert foretold.asks_first == 0
            assert foretold.decision.outcome == ("yours" if mine else "free")
            if mine:
                assert mine[0].claim.id == claim.id
                world.seen["yours"] += 1
                return
            assert self.spent() + self.held() < self.cap
            assert not self.own(buyer, "pending", "completed")
            # Whose lapsed places were taken back is the database's to say.
            for row in self.rows:
                if row.status == "reserved" and not self.live(row):
                    after = self.do.read(row.claim)
                    if after.status == "released":
                        assert after.release_reason is ReleaseReason.LAPSED
                        assert not row.session
                        row.status = "released"
                        world.seen["taken back"] += 1
            self.rows.append(Row(claim, "reserved", self.now + HOLD))
            world.seen["held"] += 1
            if page:
                self.attach_to(self.rows[-1])

        def counts_of(self, foretold: Explanation) -> None:
            """Every number of an explanation is the model's."""
            assert (foretold.held, foretold.completed + foretold.pending, foretold.cap) == (
                self.held(),
                self.spent(),
                self.cap,
            )
            assert foretold.lapsed == sum(row.status == "reserved" and not self.live(row) for row in self.rows)

        def was_foretold(self, foretold: Explanation, refusal: errors.Refusal) -> None:
            """What `reserve` then says is what the explanation said."""
            if isinstance(refusal, errors.Busy):
                assert foretold.refusal is None
                assert foretold.asks_first > 0
                return
            assert foretold.refusal is not None
            assert (foretold.refusal.code, foretold.refusal.fields) == (refusal.code, refusal.fields)

        def pick(self, data: Any, *statuses: str) -> Row | None:
            fitting = [row for row in self.rows if row.status in statuses]
            return data.draw(st.sampled_from(fitting)) if fitting else None

        @rule(data=st.data())
        def attach(self, data: Any) -> None:
            row = self.pick(data, "reserved")
            if row is not None and not row.session:
                self.attach_to(row)

        def attach_to(self, row: Row) -> None:
            self.sessions += 1
            row.claim = self.do.read(row.claim)
            assert self.do.attach(row.claim, f"cs_{self.sessions}") == "attached"
            row.session = True
            row.claim = self.do.read(row.claim)

        @rule(data=st.data(), verdict=st.sampled_from(["pending", "paid", "expired", "payment_failed"]))
        def settle(self, data: Any, verdict: str) -> None:
            row = self.pick(data, "reserved", "pending", "completed", "released")
            if row is not None and row.session:
                self.settle_as(row, verdict)

        def settle_as(self, row: Row, verdict: str) -> None:
            outcome = self.do.settle(row.claim, str(row.claim.session_id), verdict).outcome
            world.seen[outcome] += 1
            match verdict, row.status:
                case "paid", "reserved" | "pending":
                    assert outcome == "completed"
                    row.status = "completed"
                case "paid", "released":
                    assert outcome == "completed_late"
                    lapsed = sum(one.status == "reserved" and not self.live(one) for one in self.rows)
                    row.over = self.spent() + self.held() + lapsed >= self.cap
                    row.status = "completed"
                    assert self.do.read(row.claim).over_cap == row.over
                case "pending", "reserved":
                    assert outcome == "pending"
                    row.status = "pending"
                case "expired" | "payment_failed", "reserved" | "pending":
                    assert outcome == "released"
                    row.status = "released"
                case _:
                    assert outcome == "already_settled"

        @rule(data=st.data())
        def pay_late(self, data: Any) -> None:
            row = self.pick(data, "released")
            if row is not None and row.session:
                self.settle_as(row, "paid")

        @rule(data=st.data())
        def release(self, data: Any) -> None:
            row = self.pick(data, "reserved", "pending", "completed", "released")
            if row is None:
                return
            outcome = self.do.release(row.claim)
            if row.status in ("reserved", "pending"):
                assert outcome == "released"
                row.status = "released"
            else:
                assert outcome == "already_settled"

        @rule(data=st.data())
        def renew(self, data: Any) -> None:
            row = self.pick(data, "reserved")
            if row is None:
                return
            outcome = self.do.renew(self.do.read(row.claim), most=3)
            world.seen[outcome] += 1
            if outcome == "renewed":
                row.ends = self.now + HOLD
                row.claim = self.do.read(row.claim)
                # Its former session may be paid still: it is asked about, as one with a session.
                row.session = False
                if row.claim.former_sessions:
                    self.do.attach(row.claim, f"cs_again_{row.claim.id}_{row.claim.attempt}")
                    row.claim, row.session = self.do.read(row.claim), True

        @rule(minutes=st.sampled_from([1, 20, 41]))
        def time_passes(self, minutes: int) -> None:
            self.now += timedelta(minutes=minutes)
            movable_clock.set_ahead(world.connection, self.now)

        @precondition(lambda self: self.rows)
        @rule(cap=st.integers(0, 4))
        def change_cap(self, cap: int) -> None:
            used = self.spent() + self.held()
            period = self.rows[0].claim.period

            def change(*, confirmed: bool) -> None:
                self.do.host.run(
                    catalogue.set_cap(
                        code=self.code, period=period, cap=cap, note=None, confirmed=confirmed, shop=world.shop
                    )
                )

            try:
                change(confirmed=False)
            except errors.CapBelowUsed as refusal:
                assert cap < used == refusal.fields["used"]
                change(confirmed=True)
                world.seen["lowered"] += 1
            else:
                assert cap >= used
            self.cap = cap

        # --- what is always true ----------------------------------------------------------------------------------

        @invariant()
        def the_counter_is_what_the_rows_say(self) -> None:
            assert self.do.recount() == []

        @invariant()
        def usage_is_what_the_model_says(self) -> None:
            if not self.rows:
                return
            usage = self.do.usage()
            assert usage.cap == self.cap
            assert usage.completed == sum(row.status == "completed" for row in self.rows)
            assert usage.pending == sum(row.status == "pending" for row in self.rows)
            assert usage.held == self.held()
            assert usage.remaining == max(0, self.cap - self.spent() - self.held())

    return Life


#: What can happen in the life of an allocation.
ALL = {
    "held", "yours", "taken back", "busy", "allocation-held", "allocation-spent", "buyer-limit-reached", "completed",
    "completed_late", "pending", "released", "already_settled", "renewed", "worn_out", "lowered",
}  # fmt: skip


def live(machine: type[RuleBasedStateMachine], examples: int, steps: int, seen: Counter[str], wanted: set[str]) -> None:
    """
    Run the machine in so many stories, seed by seed until all that is wanted was seen; a long run is one.

    Which stories a seed draws changes with any source of ours: Hypothesis draws from the constants in it.
    """
    for number in range(20 if examples < 1000 else 1):
        run_state_machine_as_test(
            seed(number)(machine),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
        if {what for what, times in seen.items() if times} >= wanted:
            return
    assert {what for what, times in seen.items() if times} >= wanted


@pytest.mark.parametrize(
    "examples", [30, pytest.param(1500, marks=[pytest.mark.deep, pytest.mark.timeout(3600)])], ids=["short", "long"]
)
def test_the_life_of_an_allocation(
    connection: psycopg.Connection[Any], shop: Shop, simulator: Any, examples: int
) -> None:
    """And it saw everything that can happen."""
    world = World(connection, shop)
    live(machine(world), examples, 30, world.seen, ALL)
    # The next test's clocks stand together again.
    movable_clock.set_ahead(connection, simulator.account.engine.clock.ahead)
