"""What a person is told of a matter, whatever its detail has in it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from counterfoil.attention import KINDS, Matter

NOW = datetime(2026, 10, 1, tzinfo=UTC)


def matter(kind: str, **detail: Any) -> Matter:
    return Matter(1, kind, "the-subject", detail, NOW, None)


@pytest.mark.parametrize("kind", [*KINDS, "of a later version"])
def test_every_kind_says_something_of_any_detail(kind: str) -> None:
    for detail in ({}, {"extra": [1, {"a": None}]}, {"amount": "much", "currency": 5}):
        told = matter(kind, **detail)
        assert told.sentence.endswith(".")
        assert told.mend.endswith(".")
        assert "{" not in told.sentence + told.mend


def test_money_is_written_as_people_write_it() -> None:
    differs = matter("amount-differs", asked=1000, currency="gbp", paid=1500, paid_currency="jpy", session="cs_1")
    assert "asked for 10.00 GBP, and 1500 JPY was paid in session cs_1" in differs.sentence


def test_text_of_others_is_only_text() -> None:
    assert "{kind}" in matter("dispute", checkout="{kind}", disputes={}).sentence


def test_what_several_say() -> None:
    told = matter("dispute", checkout=None, disputes={"dp_1": "lost", "dp_2": "won"})
    assert told.sentence.endswith("of checkout none: dp_1 lost, dp_2 won.")
