"""A completed place for which nothing was paid, given back by hand."""

import pytest
from tests.support.places import Verbs, code

from counterfoil import errors, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Redemption, RedemptionStatus, Shop


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Verbs:
    return Verbs(host, shop)


def back(do: Verbs, claim: Redemption) -> tuple[str, Redemption]:
    return do.host.run(verbs.return_place(claim=claim, shop=do.shop))


def spent(do: Verbs, buyer: str) -> Redemption:
    claim = do.reserve(buyer)
    do.attach(claim, f"cs_{claim.id}")
    do.settle(claim, f"cs_{claim.id}", "paid")
    return do.read(claim)


def test_returned_once_and_its_place_is_free(do: Verbs) -> None:
    code(do.host)
    claim = spent(do, "a")
    with pytest.raises(errors.AllocationSpent):
        do.reserve("b")
    outcome, after = back(do, claim)
    assert (outcome, after.status) == ("returned", RedemptionStatus.REFUNDED)
    assert after.refunded_at
    outcome, again = back(do, claim)
    assert (outcome, again.refunded_at) == ("already_settled", after.refunded_at)
    assert do.usage().remaining == 1
    assert do.recount() == []
    # The buyer's own limit is free again as well.
    assert spent(do, "a").id != claim.id


def test_only_a_spent_place(do: Verbs) -> None:
    code(do.host, cap=2)
    held, released = do.reserve("a"), do.reserve("b")
    do.release(released)
    for claim, status in ((held, RedemptionStatus.RESERVED), (released, RedemptionStatus.RELEASED)):
        outcome, after = back(do, claim)
        assert (outcome, after.status) == ("not_completed", status)
    do.attach(held, "cs_a")
    do.settle(held, "cs_a", "pending")
    assert back(do, held)[0] == "not_completed"
    assert do.usage().pending == 1
    assert do.recount() == []


def test_what_was_over_the_cap_shrinks_with_it(do: Verbs) -> None:
    code(do.host)
    late = do.reserve("a")
    do.release(late)
    spent(do, "b")
    assert do.settle(late, "cs_a", "paid").outcome == "completed_late"
    assert do.usage().over == 1
    assert back(do, do.read(late))[0] == "returned"
    assert (do.usage().over, do.usage().remaining) == (0, 0)
    assert do.recount() == []


def test_hearing_once_more_that_it_was_paid_takes_nothing(do: Verbs) -> None:
    """An event that comes again after the place went back."""
    code(do.host)
    claim = spent(do, "a")
    back(do, claim)
    assert do.settle(claim, f"cs_{claim.id}", "paid").outcome == "already_settled"
    assert do.read(claim).status is RedemptionStatus.REFUNDED
    assert do.usage().remaining == 1
