"""Invented buyers cannot keep a school's last places; a class that pays is let in."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.life.test_opening import Till, till
from tests.support.places import code
from tests.support.races import beside, wait_until_blocked

from counterfoil import catalogue, checkout, ending, errors
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Checkout
from counterfoil.simulator import Running

__all__ = ["till"]


class Crowd:
    """Buyers on pages, each from an address, at one code."""

    def __init__(self, till: Till, cap: int | None) -> None:
        self.till = till
        code(till.host, "CLASS", cap=cap, of=till.host.run(catalogue.institution("northfold")))

    def open(self, buyer: str, origin: str | None = "one") -> Checkout:
        order = replace(self.till.order(buyer, "CLASS"), origin=origin, browser=f"browser of {buyer}")
        opened: checkout.Opened = self.till.run(checkout.open_checkout(order, self.till.shop))
        return opened.checkout

    def let_in(self, buyers: range, origin: str | None = "one") -> list[Checkout]:
        """The checkouts of those who get a place, until the first who does not."""
        opened = []
        for number in buyers:
            try:
                opened.append(self.open(f"{origin}-{number}", origin))
            except errors.TooManyHolds:
                break
        return opened


def test_one_address_leaves_the_last_place_to_another(till: Till) -> None:
    crowd = Crowd(till, cap=6)
    assert len(crowd.let_in(range(20))) == 5
    with pytest.raises(errors.TooManyHolds) as refused:
        crowd.open("one more")
    assert refused.value.unpaid == 5
    assert refused.value.until is None, "they may still be paid"
    assert crowd.open("somebody", "another address")


def test_holding_again_and_again_runs_dry(till: Till, clock: Any) -> None:
    """What lapsed unpaid counts for a day, whether anybody took the place or not."""
    crowd = Crowd(till, cap=6)
    for round in range(8):
        held = crowd.let_in(range(100 * round, 100 * round + 20))
        assert len(held) == (5 if round == 0 else 0)
        clock.advance(minutes=41)
    with pytest.raises(errors.TooManyHolds) as refused:
        crowd.open("one more")
    assert refused.value.until
    assert crowd.open("somebody", "another address")
    clock.advance(hours=24)
    assert crowd.open("tomorrow")


def test_a_class_behind_one_address_that_pays_is_let_in(till: Till, simulator: Running) -> None:
    """Thirty pupils in one room, and thirty places."""
    simulator.add_endpoint("http://127.0.0.1:9/nobody")
    crowd = Crowd(till, cap=30)
    waiting = list(range(30))
    for _ in range(30):
        opened = crowd.let_in(range(waiting[0], 30)) if waiting else []
        for sale in opened:
            simulator.call(lambda sale=sale: simulator.account.engine.pay(str(sale.session_id)))
            till.run(ending.refresh(sale, till.shop))
        waiting = waiting[len(opened) :]
    assert waiting == []
    assert till.do.usage("CLASS").completed == 30


def test_while_places_are_free_nobody_is_refused(till: Till) -> None:
    crowd = Crowd(till, cap=100)
    assert len(crowd.let_in(range(40))) == 40


def test_without_a_cap_there_are_no_last_places(till: Till) -> None:
    assert len(Crowd(till, cap=None).let_in(range(12))) == 12


def test_a_caller_with_a_key_is_not_limited(till: Till) -> None:
    assert len(Crowd(till, cap=9).let_in(range(9), origin=None)) == 9


def test_switched_off(till: Till) -> None:
    till.shop = replace(till.shop, holds_per_address=0)
    assert len(Crowd(till, cap=9).let_in(range(9))) == 9


def test_what_we_gave_up_ourselves_does_not_count(till: Till, simulator: Running) -> None:
    """The buyer did nothing wrong: Stripe was down."""
    crowd = Crowd(till, cap=6)
    for sale in crowd.let_in(range(5)):
        assert sale.redemption
        till.do.release(sale.redemption)
    assert crowd.open("again")


def test_it_is_put_before_the_seller(till: Till, connection: psycopg.Connection[Any]) -> None:
    Crowd(till, cap=6).let_in(range(20))
    found = connection.execute("SELECT kind, subject, detail ->> 'unpaid' FROM counterfoil.attention").fetchall()
    assert found == [("hoarding", "CLASS", "5")]


def test_many_that_ask_at_once_are_counted_one_by_one(
    till: Till, database: str, connection: psycopg.Connection[Any]
) -> None:
    """The sixth looked before the fifth had committed, and waits at the gate: it is counted again there."""
    crowd = Crowd(till, cap=7)
    held = crowd.let_in(range(4))
    claim = held[0].redemption
    assert claim
    with (
        psycopg.connect(database) as first,
        psycopg.connect(database, autocommit=True) as other,
    ):
        first.execute(
            "UPDATE counterfoil.allocation SET used = used + 1 WHERE code_id = %s AND period = %s",
            (claim.counts_with, claim.period),
        )
        first.execute(
            "INSERT INTO counterfoil.redemption (id, code_id, counts_with, period, status, buyer, buyer_key, "
            "reserved_at, expires_at, origin) SELECT gen_random_uuid(), code_id, counts_with, period, 'reserved', "
            "'fifth', 'fifth', reserved_at, expires_at, origin FROM counterfoil.redemption WHERE id = %s",
            (claim.id,),
        )

        def sixth() -> Any:
            late = Till(Psycopg(other), till.stripe, till.shop)
            order = replace(late.order("sixth", "CLASS"), origin="one")
            return late.run(checkout.open_checkout(order, late.shop))

        with beside(sixth) as waiting:
            wait_until_blocked(connection, other.info.backend_pid, first.info.backend_pid)
            first.commit()
            with pytest.raises(errors.TooManyHolds):
                waiting.result(20)
    assert till.do.recount() == []
