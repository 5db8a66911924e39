"""Two buyers, one place: arranged, not hoped for."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.support.places import HOLD, Verbs, code, lapse
from tests.support.races import beside, wait_until_blocked

from counterfoil import catalogue, errors, replacing, verbs
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import RedemptionStatus, Shop

#: Long enough for a race to be arranged.
PATIENT = Shop(clocks=Clocks(lock_timeout=timedelta(seconds=30)), livemode=False)

_RESERVE = (
    "SELECT outcome, (claim).expires_at FROM counterfoil.reserve(%s, %s, NULL, NULL, %s, %s, interval '40 minutes', "
    "interval '30 seconds', NULL)"
)


class Two:
    """The first buyer, whose transaction is held open by hand, and the second, on a host as in life."""

    def __init__(self, url: str) -> None:
        self.first = psycopg.connect(url)
        self.second = psycopg.connect(url, autocommit=True)
        self.watcher = psycopg.connect(url, autocommit=True)
        self.do = Verbs(Psycopg(self.second), PATIENT)

    def reserve_first(self, buyer: str = "a") -> str:
        row = self.first.execute(_RESERVE, (uuid4(), "n0rth", buyer, buyer)).fetchone()
        assert row
        return str(row[0])

    def wait_until_the_second_waits(self) -> None:
        wait_until_blocked(self.watcher, self.second.info.backend_pid, self.first.info.backend_pid)

    def close(self) -> None:
        for connection in (self.first, self.second, self.watcher):
            connection.close()


@pytest.fixture
def two(database: str, host: Psycopg) -> Any:
    """A code with one place, whose allocation exists, and two buyers."""
    code(host, cap=1)
    host._source.execute(
        "INSERT INTO counterfoil.allocation (code_id, period, cap) "
        "SELECT id, counterfoil.period_key('academic_year', '09-01', 'Europe/London', counterfoil.clock()), 1 "
        "FROM counterfoil.code"
    )
    pair = Two(database)
    yield pair
    pair.close()


def test_the_second_waits_and_is_told_the_truth(two: Two) -> None:
    """It sees the place that the first took while it waited."""
    assert two.reserve_first() == "held"
    with beside(lambda: two.do.reserve("b")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        with pytest.raises(errors.AllocationHeld):
            answer.result(30)
    assert two.do.usage().held == 1


def test_the_second_gets_the_place_if_the_first_lets_go(two: Two) -> None:
    two.reserve_first()
    with beside(lambda: two.do.reserve("b")) as answer:
        two.wait_until_the_second_waits()
        two.first.rollback()
        assert answer.result(30).buyer == "b"


def test_who_waits_too_long_is_told_busy_and_never_full(two: Two) -> None:
    two.reserve_first()
    impatient = Verbs(two.do.host, Shop(clocks=Clocks(lock_timeout=timedelta(seconds=1)), livemode=False))
    with pytest.raises(errors.Busy):
        impatient.reserve("b")


def test_who_waited_gets_no_shorter_hold(two: Two) -> None:
    """The expiry is stamped after the lock was won."""
    two.reserve_first()
    with beside(lambda: two.do.reserve("b")) as answer:
        two.wait_until_the_second_waits()
        row = two.watcher.execute("SELECT counterfoil.clock()").fetchone()
        assert row
        freed: datetime = row[0]
        two.first.rollback()
        claim = answer.result(30)
    assert claim.reserved_at >= freed
    assert claim.expires_at >= freed + HOLD


def test_one_buyer_in_two_tabs_holds_one_place(two: Two) -> None:
    """Both ask in the same instant, with room for two: one hold, and the counter is right."""
    two.watcher.execute("UPDATE counterfoil.allocation SET cap = 2")
    two.reserve_first("a")
    with beside(lambda: two.do.reserve("a")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30).buyer == "a"
    assert two.do.usage().held == 1
    assert two.do.recount() == []


def test_the_first_two_buyers_of_a_period_make_its_allocation_once(two: Two) -> None:
    """Neither finds it; one makes it, and the other counts in it."""
    two.watcher.execute("DELETE FROM counterfoil.allocation")
    assert two.reserve_first() == "held"
    with beside(lambda: two.do.reserve("b")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        with pytest.raises(errors.AllocationHeld):
            answer.result(30)
    assert two.do.recount() == []


def test_a_payment_that_meets_a_take_back_is_honoured(two: Two) -> None:
    """The place is taken back first: the payment waits for the row, finds it released, and re-enters over the cap."""
    late = two.do.reserve("a")
    lapse(two.watcher, late)
    assert two.reserve_first("b") == "held"
    with beside(lambda: two.do.settle(late, "cs_1", "paid")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30).outcome == "completed_late"
    assert two.do.read(late).over_cap
    assert (two.do.usage().completed, two.do.usage().held) == (1, 1)
    assert two.do.recount() == []


def test_a_take_back_that_meets_a_payment_takes_nothing(two: Two) -> None:
    """The payment comes first: the taker waits for the row, finds it completed, and is told that all is spent."""
    paid = two.do.reserve("a")
    lapse(two.watcher, paid)
    two.first.execute(
        "UPDATE counterfoil.redemption SET status = 'completed', completed_at = now() WHERE id = %s", (paid.id,)
    )
    with beside(lambda: two.do.reserve("b")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        with pytest.raises(errors.AllocationSpent):
            answer.result(30)
    assert two.do.recount() == []


def test_two_late_payments_of_one_place_are_both_honoured(two: Two) -> None:
    """Each over the cap, each counted once, whichever is first."""
    claims = []
    for buyer in ("a", "b"):
        claim = two.do.reserve(buyer)
        two.do.release(claim)
        claims.append(claim)
    holder = two.do.reserve("c")
    two.first.execute(
        "SELECT * FROM counterfoil.complete(%s, %s, 'cs_a', NULL, '30 s')", (claims[0].counts_with, claims[0].id)
    )
    with beside(lambda: two.do.settle(claims[1], "cs_b", "paid")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30).outcome == "completed_late"
    assert two.do.settle(holder, "cs_c", "paid").outcome == "completed"
    assert (two.do.usage().completed, two.do.usage().over) == (3, 2)
    assert two.do.recount() == []


def test_the_same_payment_settled_twice_at_once_is_one(two: Two) -> None:
    claim = two.do.reserve("a")
    two.first.execute("SELECT * FROM counterfoil.complete(%s, %s, 'cs_1', NULL, '30 s')", (claim.counts_with, claim.id))
    with beside(lambda: two.do.settle(claim, "cs_1", "paid")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30).outcome == "already_settled"
    assert two.do.read(claim).status is RedemptionStatus.COMPLETED


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_no_place_is_decided_above_read_committed(two: Two, level: str) -> None:
    """A clear error, before anybody waits."""
    two.second.execute(f"SET default_transaction_isolation = '{level}'")
    with pytest.raises(psycopg.errors.InvalidTransactionState, match="READ COMMITTED"):
        two.do.reserve("a")


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_the_counter_refuses_what_a_snapshot_would_allow(two: Two, level: str) -> None:
    """The gate alone, at each level: the second either sees the first's place or fails; it never oversells."""
    gate = "UPDATE counterfoil.allocation SET used = used + 1 WHERE used < cap"
    two.first.execute(gate)
    two.second.autocommit = False
    two.second.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    two.second.execute("SELECT 1")
    with beside(lambda: two.second.execute(gate).rowcount) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        try:
            assert answer.result(30) == 0
            assert level == "read committed"
        except psycopg.errors.SerializationFailure:
            assert level != "read committed"
    two.second.rollback()


def test_counting_with_the_lock_in_one_statement_oversells(two: Two) -> None:
    """The control: the count reads the snapshot from before the wait. This is what the gate is for."""
    two.watcher.execute("CREATE TABLE IF NOT EXISTS public.control (buyer text); TRUNCATE public.control")
    naive = (
        "WITH locked AS MATERIALIZED (SELECT cap FROM counterfoil.allocation FOR UPDATE) "
        "INSERT INTO public.control SELECT %s FROM locked WHERE (SELECT count(*) FROM public.control) < locked.cap"
    )
    two.first.execute(naive, ("a",))
    with beside(lambda: two.second.execute(naive, ("b",)).rowcount) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30) == 1
    row = two.watcher.execute("SELECT count(*) FROM public.control").fetchone()
    two.watcher.execute("DROP TABLE public.control")
    assert row == (2,)


def test_a_caller_s_transaction_is_no_place_to_decide_in(two: Two) -> None:
    """The lock would be held over the network, and a rollback would take the row."""
    for connection in (two.first, two.second):
        with pytest.raises(errors.InsideTransaction), connection.transaction():
            Verbs(Psycopg(connection), PATIENT).reserve("a")
    assert two.do.usage().held == 0


def test_reading_and_recording_join_a_callers_transaction(two: Two) -> None:
    with two.first.transaction():
        assert Psycopg(two.first).run(verbs.usage(code="NORTH")).held == 0


class TestAStoppedCode:
    """The first holds the allocation's lock; the second waits for it while the code is stopped."""

    @pytest.fixture(params=["paused", "replaced"])
    def stop(self, request: pytest.FixtureRequest, two: Two) -> Any:
        def stop() -> None:
            if request.param == "paused":
                two.watcher.execute("UPDATE counterfoil.code SET paused_at = now(), version = version + 1")
            else:
                Psycopg(two.watcher).run(replacing.replace_code(old="NORTH", new="SAFE"))

        return stop

    def test_whoever_waited_is_not_let_in_by_it(self, two: Two, stop: Any) -> None:
        two.watcher.execute("UPDATE counterfoil.allocation SET cap = 5")
        two.reserve_first()
        with beside(lambda: two.do.reserve("b")) as answer:
            two.wait_until_the_second_waits()
            stop()
            two.first.commit()
            with pytest.raises(errors.CodePaused):
                answer.result(30)
        assert (two.do.usage().held, two.do.recount()) == (1, [])

    def test_the_place_it_was_moving_to_leaves_the_place_where_it_was(self, two: Two, stop: Any) -> None:
        """A buyer changes to another product: the older claim is theirs still."""
        two.watcher.execute("UPDATE counterfoil.allocation SET cap = 5")
        older = two.do.reserve("b")
        two.reserve_first()
        moving = _RESERVE.replace("NULL)", "%s)")
        with beside(lambda: two.second.execute(moving, (uuid4(), "n0rth", "b", "b", older.id)).fetchone()) as answer:
            two.wait_until_the_second_waits()
            stop()
            two.first.commit()
            row = answer.result(30)
            assert row
            assert row[0] == "paused"
        assert two.do.read(older).status is RedemptionStatus.RESERVED
        assert (two.do.usage().held, two.do.recount()) == (2, [])

    def test_two_who_replace_it_at_once_leave_one_in_force(self, two: Two) -> None:
        two.first.execute("SELECT outcome FROM counterfoil.replace_code('n0rth', 'SAFE', 'safe')")
        with beside(lambda: Psycopg(two.second).run(replacing.replace_code(old="NORTH", new="OTHER"))) as answer:
            two.wait_until_the_second_waits()
            two.first.commit()
            with pytest.raises(errors.CodeReplaced, match="SAFE"):
                answer.result(30)

    def test_whoever_resumes_it_meanwhile_resumes_nothing(self, two: Two) -> None:
        """Read before, changed after: the change waits, and finds that it is another code by now."""
        read = Psycopg(two.second).run(catalogue.code("NORTH"))
        two.first.execute("SELECT outcome FROM counterfoil.replace_code('n0rth', 'SAFE', 'safe')")
        resume = catalogue.change_code(code=read, terms=replace(catalogue.terms_of(read), paused=False))
        with beside(lambda: Psycopg(two.second).run(resume)) as answer:
            two.wait_until_the_second_waits()
            two.first.commit()
            assert answer.result(30) is None
        with pytest.raises(errors.CodePaused):
            two.do.reserve("b")


def test_two_addresses_of_one_mailbox_share_its_last_place(two: Two) -> None:
    """Both ask in the same instant, with room for two, at a code that counts by mailboxes: one gets in."""
    two.watcher.execute(
        "UPDATE counterfoil.allocation SET cap = 2; UPDATE counterfoil.code SET buyer_identity = 'mailbox'"
    )
    row = two.first.execute(
        "SELECT outcome FROM counterfoil.reserve(%s, 'n0rth', NULL, NULL, 'ann+1@x.test', 'ann+1@x.test', "
        "interval '40 minutes', interval '30 seconds', NULL, mailbox_key => 'ann@x.test')",
        (uuid4(),),
    ).fetchone()
    assert row == ("held",)
    with beside(lambda: two.do.reserve("ann+2@x.test")) as answer:
        two.wait_until_the_second_waits()
        two.first.commit()
        assert answer.result(30).buyer == "ann+1@x.test"
    assert two.do.usage().held == 1
    assert two.do.recount() == []
