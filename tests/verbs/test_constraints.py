"""The invariants that the database holds by itself, whoever writes: constraints, named by a true sentence."""

from typing import Any

import psycopg
import pytest
from tests.support.places import Verbs, code

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Redemption, Shop

COPY = (
    "INSERT INTO counterfoil.redemption (id, code_id, counts_with, period, status, buyer, buyer_key, reserved_at, "
    "expires_at, session_id, session_expires_at) SELECT gen_random_uuid(), code_id, counts_with, period, 'reserved', "
)
AMOUNT = "UPDATE counterfoil.code SET percent = NULL, amount_off = 500, currency = 'gbp', currencies = "


@pytest.fixture
def claim(host: Psycopg, shop: Shop) -> Redemption:
    """A hold with a session, on a code for two."""
    do = Verbs(host, shop)
    code(host, cap=2)
    claim = do.reserve("a")
    assert do.attach(claim, "cs_1") == "attached"
    return claim


@pytest.mark.parametrize(
    ("name", "change"),
    [
        # 1: at every instant what occupies a place is within the cap, or marked as over it
        ("the_cap_holds", "UPDATE counterfoil.allocation SET used = 3"),
        ("the_cap_holds", "UPDATE counterfoil.allocation SET cap = 0"),
        ("no_place_is_given_back_twice", "UPDATE counterfoil.allocation SET used = used - 2"),
        # 3: a session never outlives its hold
        ("session_dies_before_its_hold", "UPDATE counterfoil.redemption SET session_expires_at = expires_at"),
        ("session_dies_before_its_hold", "UPDATE counterfoil.redemption SET expires_at = session_expires_at"),
        ("session_dies_before_its_hold", "UPDATE counterfoil.redemption SET session_expires_at = 'infinity'"),
        ("a_session_has_an_end", "UPDATE counterfoil.redemption SET session_expires_at = NULL"),
        # 5: one current session for a redemption, one redemption for a session
        (
            "a_session_has_one_redemption",
            COPY + "'b', 'b', reserved_at, expires_at, session_id, session_expires_at FROM counterfoil.redemption",
        ),
        # 6: one open claim of a buyer, by code and period
        (
            "a_buyer_has_one_open_claim",
            COPY + "'A', buyer_key, reserved_at, expires_at, NULL, NULL FROM counterfoil.redemption",
        ),
        # 7: the period is that of the allocation the place was reserved in
        ("a_place_is_of_the_period_it_was_reserved_in", "UPDATE counterfoil.redemption SET period = '2099-00'"),
        ("a_place_is_of_the_period_it_was_reserved_in", "UPDATE counterfoil.allocation SET period = '2099-00'"),
        ("a_place_is_of_the_period_it_was_reserved_in", "DELETE FROM counterfoil.allocation"),
        # what a status says is there
        ("a_redemption_status_is_known", "UPDATE counterfoil.redemption SET status = 'lapsed'"),
        ("a_completed_one_says_when", "UPDATE counterfoil.redemption SET status = 'completed'"),
        ("a_released_place_says_why", "UPDATE counterfoil.redemption SET status = 'released', released_at = now()"),
        (
            "a_release_reason_is_known",
            "UPDATE counterfoil.redemption SET status = 'released', released_at = now(), release_reason = 'why not'",
        ),
        # 8: 0 and null are a cap each, and nothing below is
        ("an_allocation_is_zero_or_more", "UPDATE counterfoil.allocation SET cap = -1, used = 0"),
        ("a_cap_is_zero_or_more", "UPDATE counterfoil.code SET cap = -1"),
        ("a_code_has_one_discount", "UPDATE counterfoil.code SET price = 5, currency = 'gbp'"),
        ("a_percentage_is_over_0_to_100", "UPDATE counterfoil.code SET percent = 100.01"),
        # a discount says one thing of each currency, in whole minor units
        ("other_currencies_are_of_an_amount", "UPDATE counterfoil.code SET currencies = '{\"eur\": 600}'"),
        ("a_currency_is_given_once", AMOUNT + "'{\"gbp\": 600}'"),
        ("each_currency_has_a_whole_amount", AMOUNT + "'[]'"),
        ("each_currency_has_a_whole_amount", AMOUNT + "'5'"),
        ("each_currency_has_a_whole_amount", AMOUNT + "'{\"eur\": 0}'"),
        ("each_currency_has_a_whole_amount", AMOUNT + "'{\"eur\": 1.5}'"),
        ("each_currency_has_a_whole_amount", AMOUNT + '\'{"eur": "600"}\''),
        ("each_currency_has_a_whole_amount", AMOUNT + "'{\"eur\": null}'"),
        ("each_currency_has_a_whole_amount", AMOUNT + "'{\"EUR\": 600}'"),
        ("only_a_percentage_is_bounded", AMOUNT + "'{}', at_most = '{\"gbp\": 600}'"),
        ("each_bound_is_a_whole_amount", "UPDATE counterfoil.code SET at_most = '{\"gbp\": 0}'"),
        ("each_bound_is_a_whole_amount", "UPDATE counterfoil.code SET at_most = '{\"gbp\": true}'"),
        ("each_bound_is_a_whole_amount", 'UPDATE counterfoil.code SET at_most = \'{"gbp": 5, "euro": 5}\''),
        ("a_code_counts_with_another", "UPDATE counterfoil.code SET counts_with = id"),
        ("a_limit_lets_somebody_in", "UPDATE counterfoil.code SET per_buyer_limit = 0"),
    ],
)
def test_the_database_refuses(connection: psycopg.Connection[Any], claim: Redemption, name: str, change: str) -> None:
    with pytest.raises(psycopg.IntegrityError) as refused:
        connection.execute(change.encode())
    assert refused.value.diag.constraint_name == name


def test_the_order_of_the_two_expiries_is_a_check(connection: psycopg.Connection[Any], claim: Redemption) -> None:
    """SQLSTATE 23514, as the contract says."""
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute("UPDATE counterfoil.redemption SET session_expires_at = expires_at + interval '1 second'")
    assert refused.value.sqlstate == "23514"
