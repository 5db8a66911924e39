"""A leaked code is replaced: the old lets nobody in any more, and what was counted stays counted."""

from dataclasses import replace as changed
from datetime import date

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.life.test_opening import Till, till
from tests.support.places import code

from counterfoil import catalogue, errors, replacing
from counterfoil.catalogue import CodeTerms
from counterfoil.model import Code, RedemptionStatus, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff
from counterfoil.simulator import Running

__all__ = ["till"]


def replace(till: Till, old: str = "NORTH", new: str = "SAFE") -> Code:
    return till.host.run(replacing.replace_code(old=old, new=new))


def test_the_old_stops_at_once_and_the_new_works(till: Till) -> None:
    replace(till)
    with pytest.raises(errors.CodePaused):
        till.open("a", "NORTH")
    assert till.open("a", "SAFE").checkout.amount == 1000


def test_the_count_carries_over(till: Till) -> None:
    claim = till.do.reserve("a")
    till.do.attach(claim, "cs_1")
    till.do.settle(claim, "cs_1", "paid")
    replace(till)
    usage = till.do.usage("SAFE")
    assert (usage.code, usage.cap, usage.completed, usage.remaining) == ("SAFE", 1, 1, 0)
    with pytest.raises(errors.AllocationSpent):
        till.do.reserve("b", "SAFE")
    assert till.do.recount() == []


def test_whoever_holds_a_place_may_finish(till: Till) -> None:
    claim = till.do.reserve("a")
    till.do.attach(claim, "cs_1")
    replace(till)
    assert till.do.settle(claim, "cs_1", "paid").outcome == "completed"
    assert (till.do.read(claim).code, till.do.usage("SAFE").completed) == ("NORTH", 1)


def test_the_same_buyer_takes_the_place_along(till: Till, simulator: Running) -> None:
    """There is one place, and it is theirs: typing the new code, they get it, with one page to pay on."""
    before = till.open("a", "NORTH").checkout
    replace(till)
    after = till.open("a", "SAFE").checkout
    assert after.redemption
    assert (after.redemption.code, till.do.usage("SAFE").held) == ("SAFE", 1)
    assert [one["id"] for one in simulator.sessions() if one["status"] == "open"] == [after.session_id]
    assert till.read(before).session_id != after.session_id
    with pytest.raises(errors.AllocationHeld):
        till.open("b", "SAFE")


def test_what_a_buyer_used_carries_over(till: Till, connection: psycopg.Connection[object]) -> None:
    claim = till.do.reserve("a")
    till.do.attach(claim, "cs_1")
    till.do.settle(claim, "cs_1", "paid")
    connection.execute("UPDATE counterfoil.allocation SET cap = 10")
    replace(till)
    with pytest.raises(errors.BuyerLimitReached):
        till.do.reserve("a", "SAFE")
    assert till.do.reserve("b", "SAFE")


def test_all_the_terms_are_the_new_one_s(till: Till, connection: psycopg.Connection[object]) -> None:
    """Whatever column a code has: those that are its own are named here."""
    northfold = till.host.run(catalogue.institution("northfold"))
    terms = CodeTerms(
        cap=7,
        discount=AmountOff(300, "gbp"),
        per_buyer_limit=3,
        starts_on=date(2020, 1, 1),
        ends_on=date(2099, 1, 1),
        products=("hub",),
        refund_policy=RefundPolicy.RETURN,
    )
    old = till.host.run(
        catalogue.add_code(institution=northfold, code="RICH", terms=terms, calendar=Calendar.CALENDAR_YEAR)
    )
    new = replace(till, "RICH", "RICHER")
    assert catalogue.terms_of(new) == terms
    own = {"id", "code", "folded", "counts_with", "paused_at", "replaced_by", "version", "created_at", "batch_id"}
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute("SELECT * FROM counterfoil.code WHERE code LIKE 'RICH%%' ORDER BY id").fetchall()
    assert {name for name in rows[0] if rows[0][name] != rows[1][name]} <= own
    assert (new.counts_with, new.paused, new.version, new.id > old.id) == ("RICH", False, 1, True)


def test_one_that_is_paused_is_replaced_by_one_that_works(till: Till) -> None:
    """Who hears of a leak pauses first."""
    leaked = till.host.run(catalogue.code("NORTH"))
    till.host.run(catalogue.change_code(code=leaked, terms=changed(catalogue.terms_of(leaked), paused=True)))
    assert replace(till).paused is False
    assert till.do.reserve("a", "SAFE")


def test_replaced_twice(till: Till) -> None:
    """The third counts where the first did, and both others lead to it."""
    claim = till.do.reserve("a")
    replace(till, "NORTH", "SAFE")
    replace(till, "SAFE", "SAFER")
    assert (till.do.usage("SAFER").held, till.do.usage("SAFER").cap) == (1, 1)
    assert [till.host.run(catalogue.code(one)).replaced_by for one in ("NORTH", "SAFE", "SAFER")] == [
        "SAFER", "SAFER", None
    ]  # fmt: skip
    for stopped in ("NORTH", "SAFE"):
        with pytest.raises(errors.CodePaused):
            till.do.reserve("b", stopped)
    assert till.do.reserve("a", "SAFER").id == claim.id


def test_replaced_before_is_said_with_what_is_in_force(till: Till) -> None:
    replace(till)
    with pytest.raises(errors.CodeReplaced) as refused:
        replace(till, "NORTH", "OTHER")
    assert refused.value.fields == {"replaced_by": "SAFE"}
    with pytest.raises(errors.CodeUnknown):
        till.host.run(catalogue.code("OTHER"))


@pytest.mark.parametrize("taken", ["SAFE", "s a f e", "north", "N0RTH."])
def test_by_one_that_reads_like_another(till: Till, taken: str) -> None:
    """Also like itself: it is the one that leaked."""
    code(till.host, "SAFE", of=till.host.run(catalogue.institution("northfold")))
    with pytest.raises(errors.AlreadyExists):
        replace(till, "NORTH", taken)
    assert till.do.reserve("a", "NORTH")


def test_none_there_is_none(till: Till) -> None:
    with pytest.raises(errors.CodeUnknown):
        replace(till, "NOBODYS", "SAFE")


@pytest.mark.parametrize("paused", [True, False])
def test_it_is_never_resumed(till: Till, paused: bool) -> None:
    """Neither by whoever knows that it was replaced, nor by whoever read it before."""
    before = till.host.run(catalogue.code("NORTH"))
    replace(till)
    terms = changed(catalogue.terms_of(before), paused=paused)
    assert till.host.run(catalogue.change_code(code=before, terms=terms)) is None
    with pytest.raises(errors.CodeReplaced, match="SAFE"):
        till.host.run(catalogue.change_code(code=till.host.run(catalogue.code("NORTH")), terms=terms))
    with pytest.raises(errors.CodePaused):
        till.do.reserve("a", "NORTH")


class TestOfAPool:
    """NORTH, and WITH beside it, share two places."""

    @pytest.fixture(autouse=True)
    def _beside(self, till: Till, connection: psycopg.Connection[object]) -> None:
        connection.execute("UPDATE counterfoil.code SET cap = 2")
        code(till.host, "WITH", cap=9, of=till.host.run(catalogue.institution("northfold")), counts_with="NORTH")

    @pytest.mark.parametrize("leaked", ["NORTH", "WITH"])
    def test_what_counted_together_still_does(self, till: Till, leaked: str) -> None:
        others = ("SAFE", "WITH" if leaked == "NORTH" else "NORTH")
        till.do.reserve("a", leaked)
        replace(till, leaked, "SAFE")
        till.do.reserve("b", others[1])
        for one in others:
            assert (till.do.usage(one).held, till.do.usage(one).cap) == (2, 2)
            with pytest.raises(errors.AllocationHeld):
                till.do.reserve("c", one)
        assert till.do.recount() == []

    def test_one_that_joins_the_old_joins_the_new(self, till: Till) -> None:
        replace(till)
        northfold = till.host.run(catalogue.institution("northfold"))
        for name, pool in (("JOINS", "NORTH"), ("ALSO", "SAFE")):
            code(till.host, name, of=northfold, counts_with=pool)
        till.do.reserve("a", "JOINS")
        till.do.reserve("b", "ALSO")
        with pytest.raises(errors.AllocationHeld):
            till.do.reserve("c", "SAFE")


def test_a_new_period_starts_with_the_cap_of_the_code_in_force(till: Till) -> None:
    """The allocations are still those of the code that began: its cap is changed with the new one's."""
    replace(till, "NORTH", "SAFE")
    new = replace(till, "SAFE", "SAFER")
    till.host.run(catalogue.change_code(code=new, terms=changed(catalogue.terms_of(new), cap=5)))
    assert till.do.usage("SAFER").cap == 5
    till.do.reserve("a", "SAFER")
    till.do.reserve("b", "SAFER")
    assert till.do.usage("SAFER").cap == 5


def test_the_cap_of_a_pool_is_no_other_member_s(till: Till) -> None:
    joined = code(till.host, "WITH", cap=9, of=till.host.run(catalogue.institution("northfold")), counts_with="NORTH")
    replace(till)
    till.host.run(catalogue.change_code(code=joined, terms=changed(catalogue.terms_of(joined), cap=50)))
    assert till.do.usage("SAFE").cap == 1


def test_it_is_written_down(till: Till, connection: psycopg.Connection[object]) -> None:
    replace(till)
    assert connection.execute(
        "SELECT subject, before ->> 'code', after ->> 'code' FROM counterfoil.audit WHERE action = 'code.replaced'"
    ).fetchall() == [("NORTH", "NORTH", "SAFE")]


def test_redemptions_stay_those_of_the_code_they_were_made_with(till: Till) -> None:
    claim = till.do.reserve("a")
    replace(till)
    assert till.do.read(claim).code == "NORTH"
    assert till.do.read(claim).status is RedemptionStatus.RESERVED
