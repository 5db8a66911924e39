"""Discount arithmetic."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterfoil.errors import AmountTooLarge, AmountTooSmall, CurrencyMismatch, DiscountExceedsPrice
from counterfoil.pricing import MAXIMUM, AmountOff, FixedPrice, PercentOff, Price, apply, decimals, minimum


@pytest.mark.parametrize(
    ("percent", "list_amount", "off"),
    [
        ("50", 2000, 1000),
        ("50", 999, 500),  # 499.5 rounds up
        ("12.5", 1000, 125),
        ("33.33", 1000, 333),
        ("0.01", 4999, 0),  # 0.4999
        ("0.01", 5000, 1),  # 0.5
        ("100", 2000, 2000),
    ],
)
def test_percentages_round_half_up(percent: str, list_amount: int, off: int) -> None:
    assert apply(PercentOff(Decimal(percent)), list_amount, "gbp") == Price(list_amount, off, list_amount - off, "gbp")


@given(st.integers(0, MAXIMUM), st.integers(1, 10_000))
def test_a_percentage_is_exact(list_amount: int, hundredths: int) -> None:
    """Against fractions: half a minor unit goes up, and nothing else moves."""
    exact = Fraction(list_amount * hundredths, 10_000)
    rounded = int(exact + Fraction(1, 2))
    assume(list_amount - rounded == 0 or list_amount - rounded >= 30)
    price = apply(PercentOff(Decimal(hundredths) / 100), list_amount, "gbp")
    assert price.discount_amount == rounded
    assert price.amount + price.discount_amount == price.list_amount


def test_amounts_and_fixed_prices() -> None:
    assert apply(AmountOff(500, "gbp"), 2000, "gbp").amount == 1500
    assert apply(AmountOff(2000, "gbp"), 2000, "gbp").amount == 0
    assert apply(FixedPrice(900, "gbp"), 2900, "gbp") == Price(2900, 2000, 900, "gbp")
    assert apply(FixedPrice(0, "gbp"), 2900, "gbp").amount == 0
    assert apply(None, 2900, "gbp") == Price(2900, 0, 2900, "gbp")


@pytest.mark.parametrize("discount", [AmountOff(2001, "gbp"), FixedPrice(2001, "gbp")])
def test_a_discount_above_the_price_is_refused(discount: AmountOff | FixedPrice) -> None:
    with pytest.raises(DiscountExceedsPrice):
        apply(discount, 2000, "gbp")


def test_another_currency_is_refused() -> None:
    with pytest.raises(CurrencyMismatch) as refused:
        apply(AmountOff(500, "eur"), 2000, "gbp")
    assert refused.value.fields == {"expected": "eur", "got": "gbp"}


def test_a_total_between_nothing_and_the_minimum_is_refused() -> None:
    """29 pence cannot be charged; 30 can, and nothing can."""
    with pytest.raises(AmountTooSmall) as refused:
        apply(FixedPrice(29, "gbp"), 2000, "gbp")
    assert refused.value.fields == {"minimum": 30}
    assert apply(FixedPrice(30, "gbp"), 2000, "gbp").amount == 30
    with pytest.raises(AmountTooSmall):
        apply(None, 29, "gbp")
    assert minimum("usd") == 50


def test_a_total_above_the_maximum_is_no_amount() -> None:
    assert apply(None, MAXIMUM, "gbp").amount == MAXIMUM
    with pytest.raises((AmountTooLarge, ValueError), match=r"amount|total"):
        apply(None, MAXIMUM + 1, "gbp")


@pytest.mark.parametrize("percent", ["0", "-1", "100.01", "12.345", "NaN", "Infinity"])
def test_what_is_no_percentage_does_not_exist(percent: str) -> None:
    with pytest.raises(ValueError, match="percentage"):
        PercentOff(Decimal(percent))


@pytest.mark.parametrize("amount", [0, -5, True, 1.5, "5", MAXIMUM + 1])
def test_what_is_no_amount_off_does_not_exist(amount: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        AmountOff(amount, "gbp")  # type: ignore[arg-type]


@pytest.mark.parametrize("currency", ["GBP", "gb", "xxx", "", "gbp "])
def test_what_is_no_currency_is_refused(currency: str) -> None:
    with pytest.raises(ValueError, match="currency"):
        FixedPrice(100, currency)


def test_decimals_are_those_of_stripe() -> None:
    assert [decimals(one) for one in ("gbp", "jpy", "kwd", "huf", "isk")] == [2, 0, 3, 2, 2]
