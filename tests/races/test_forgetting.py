"""Forgetting a buyer while something of theirs is settled."""

from typing import Any

import psycopg
import pytest
from tests.support.places import Verbs, code
from tests.support.races import beside, wait_until_blocked

from counterfoil.forgetting import Forgotten, StillBuying, erase
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop

WHO = "ann@school.test"


@pytest.fixture
def late(database: str, host: Psycopg, shop: Shop) -> Any:
    """A place that was given back, and whose payment arrives in a transaction that is held open."""
    code(host, cap=5)
    claim = Verbs(host, shop).reserve(WHO)
    Verbs(host, shop).release(claim)
    with psycopg.connect(database) as first:
        first.execute("SELECT * FROM counterfoil.complete(%s, %s, 'cs_a', NULL, '30 s')", (claim.counts_with, claim.id))
        yield first


def test_an_event_that_is_written_just_now_is_erased_too(
    late: psycopg.Connection[Any], database: str, host: Psycopg, shop: Shop
) -> None:
    """Who forgets waits for whoever settles, and finds the event of it."""
    with psycopg.connect(database, autocommit=True) as second, psycopg.connect(database, autocommit=True) as watcher:
        with beside(lambda: Psycopg(second).run(erase(buyer=WHO, shop=shop))) as answer:
            wait_until_blocked(watcher, second.info.backend_pid, late.info.backend_pid)
            late.commit()
            done = answer.result(30)
        assert isinstance(done, Forgotten)
        assert done.erased["events"] == 3
        row = watcher.execute("SELECT count(*) FROM counterfoil.event WHERE data::text LIKE '%school%'").fetchone()
        assert row == (0,)
    assert Verbs(host, shop).usage().completed == 1
    assert Verbs(host, shop).recount() == []


def test_a_hold_is_not_forgotten(database: str, host: Psycopg, shop: Shop) -> None:
    code(host, cap=5)
    claim = Verbs(host, shop).reserve(WHO)
    found = host.run(erase(buyer=WHO, shop=shop))
    assert isinstance(found, StillBuying)
    assert found.redemptions == (claim.id,)
    assert Verbs(host, shop).read(claim).buyer == WHO
