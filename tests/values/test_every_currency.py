"""
Every currency of Stripe's: what is taken off, what is left, and how it is written.

Reckoned once more in fractions of the whole unit. There Stripe's rules are one: it charges whole units of some
currencies, hundredths of all others, and nothing finer, however many decimals an amount is written with.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from babel import Locale
from hypothesis import given
from hypothesis import strategies as st

from counterfoil import errors
from counterfoil.pricing import (
    CURRENCIES,
    MAXIMUM,
    AmountOff,
    Discount,
    FixedPrice,
    PercentOff,
    Price,
    apply,
    check_chargeable,
    minimum,
)
from counterfoil.service.pages.admin.forms import Form, written
from counterfoil.service.pages.reader import Reader
from counterfoil.simulator.money import MINIMUMS as OF_THE_SIMULATOR

#: Decimals that an amount is sent with, where they are not two; and what is charged in whole units all the same.
DECIMALS = dict.fromkeys("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(), 0)
DECIMALS |= dict.fromkeys("bhd jod kwd omr tnd".split(), 3)
WHOLE = {one for one, places in DECIMALS.items() if places == 0} | {"isk", "ugx"}

EVERY = sorted(CURRENCIES)
PERCENTAGES = ["0.01", "1", "12.5", "33.33", "49.99", "50", "66.67", "99.99", "100"]


def sent(currency: str, units: Fraction | int | str) -> int:
    """An amount in whole units, as Stripe is sent it."""
    exact = Fraction(units) * 10 ** DECIMALS.get(currency, 2)
    assert exact.denominator == 1
    return int(exact)


def smallest(currency: str) -> Fraction:
    """The least difference between two amounts that Stripe charges, in whole units."""
    return Fraction(1) if currency in WHOLE else Fraction(1, 100)


def half_up(exact: Fraction, currency: str) -> Fraction:
    """Rounded to what Stripe charges."""
    unit = smallest(currency)
    return (exact / unit + Fraction(1, 2)).__floor__() * unit


def outcome(discount: Discount | None, list_amount: int, currency: str) -> Price | str:
    """The price, or the problem code of why there is none."""
    try:
        return apply(discount, list_amount, currency)
    except errors.Refusal as refusal:
        return refusal.code


@pytest.mark.parametrize("currency", EVERY)
def test_a_percentage_in_every_currency(currency: str) -> None:
    for units, percent in product((0, 1, 5, 19, 999, 1234, 9_999), PERCENTAGES):
        listed = Fraction(units)
        off = half_up(listed * Fraction(percent) / 100, currency)
        amount = sent(currency, listed - off)
        expected = Price(sent(currency, listed), sent(currency, off), amount, currency)
        got = outcome(PercentOff(Decimal(percent)), sent(currency, listed), currency)
        assert got == ("amount-too-small" if 0 < amount < minimum(currency) else expected), (units, percent)


@pytest.mark.parametrize("currency", EVERY)
def test_an_amount_off_and_a_fixed_price_in_every_currency(currency: str) -> None:
    for listed, other in ((500, 499), (500, 500), (500, 100), (1, 2), (2000, 1)):
        whole, part = sent(currency, listed), sent(currency, other)
        for discount, amount in (
            (AmountOff(part, currency), whole - part),
            (FixedPrice(part, currency), part),
        ):
            expected: Price | str = Price(whole, whole - amount, amount, currency)
            if part > whole:
                expected = "discount-exceeds-price"
            elif 0 < amount < minimum(currency):
                expected = "amount-too-small"
            assert outcome(discount, whole, currency) == expected


@pytest.mark.parametrize("currency", EVERY)
def test_a_price_that_stripe_cannot_charge_is_refused(currency: str) -> None:
    """One minor unit more is charged only where that is what Stripe counts in; else it says what is."""
    large = sent(currency, 9_000)
    assert isinstance(outcome(None, large, currency), Price)
    charged = smallest(currency) * 10 ** DECIMALS.get(currency, 2) == 1
    assert isinstance(outcome(None, large + 1, currency), Price) == charged
    if not charged:
        with pytest.raises(errors.AmountNotChargeable) as refused:
            apply(None, large + 1, currency)
        step = refused.value.fields["step"]
        assert (f"{large} or {large + step}") in refused.value.detail
        assert isinstance(outcome(None, large + step, currency), Price)
        for discount in (AmountOff(step + 1, currency), FixedPrice(step + 1, currency)):
            with pytest.raises(ValueError, match="multiples of"):
                check_chargeable(discount)
            # One that is in the database from before is refused where it is used.
            assert outcome(discount, large, currency) == "invalid-request"
        with pytest.raises(ValueError, match="multiples of"):
            check_chargeable(PercentOff(Decimal(50), {currency: 1}))


def test_the_special_cases_by_hand() -> None:
    """As Stripe's page has them: 5.124 KWD is no amount, 5 ISK are sent as 500, HUF and TWD may have decimals."""
    half = PercentOff(Decimal(50))
    assert apply(half, 5130, "kwd") == Price(5130, 2570, 2560, "kwd")  # 2.565 is sent as 2.57
    assert outcome(half, 5124, "kwd") == "invalid-request"
    assert apply(half, 500, "isk") == Price(500, 300, 200, "isk")  # 2.5 are 3
    assert outcome(half, 550, "isk") == "invalid-request"
    assert apply(half, 700, "ugx") == Price(700, 400, 300, "ugx")
    assert apply(half, 999, "jpy") == Price(999, 500, 499, "jpy")
    assert apply(half, 40_001, "huf") == Price(40_001, 20_001, 20_000, "huf")
    assert apply(half, 9_999, "twd") == Price(9_999, 5_000, 4_999, "twd")


def test_minimums_are_amounts_that_can_be_charged() -> None:
    """And the simulator, which has its own copy of Stripe's table, agrees."""
    for currency in EVERY:
        assert apply(None, minimum(currency), currency).amount == minimum(currency) > 0
    assert OF_THE_SIMULATOR.items() <= {one: minimum(one) for one in EVERY}.items()


def test_at_most() -> None:
    """Fifty per cent, at most £20.00: and where nobody said what "at most" is, nothing."""
    capped = PercentOff(Decimal(50), {"gbp": 2000, "eur": 2500})
    assert apply(capped, 3000, "gbp") == Price(3000, 1500, 1500, "gbp")
    assert apply(capped, 4000, "gbp").discount_amount == 2000
    assert apply(capped, 9900, "gbp") == Price(9900, 2000, 7900, "gbp")
    assert apply(capped, 9900, "eur") == Price(9900, 2500, 7400, "eur")
    with pytest.raises(errors.CurrencyMismatch) as refused:
        apply(capped, 9900, "usd")
    assert refused.value.fields == {"expected": "gbp", "currencies": ["gbp", "eur"], "got": "usd"}


def test_an_amount_for_each_currency() -> None:
    off = AmountOff(500, "gbp", {"eur": 600, "jpy": 900})
    assert [apply(off, 5000, one).discount_amount for one in ("gbp", "eur", "jpy")] == [500, 600, 900]
    price = FixedPrice(1500, "gbp", {"eur": 0})
    assert [apply(price, 5000, one).amount for one in ("gbp", "eur")] == [1500, 0]
    for discount in (off, price):
        assert outcome(discount, 5000, "usd") == "currency-mismatch"


@pytest.mark.parametrize(
    ("others", "wrong"),
    [
        ({"gbp": 5}, "twice"),
        ({"xxx": 5}, "no currency"),
        ({"eur": -1}, "whole number"),
        ({"eur": True}, "whole number"),
    ],
)
def test_what_is_no_amount_for_a_currency_does_not_exist(others: Mapping[str, Any], wrong: str) -> None:
    for make in (AmountOff, FixedPrice):
        with pytest.raises(ValueError, match=wrong):
            make(500, "gbp", others)
    if "gbp" not in others:
        with pytest.raises(ValueError, match=wrong):
            PercentOff(Decimal(5), others)


percentages = st.integers(1, 10_000).map(lambda hundredths: Decimal(hundredths) / 100)


@st.composite
def discounts(draw: st.DrawFn) -> tuple[Discount | None, str]:
    """A discount that may be, and a currency it is for."""
    currency = draw(st.sampled_from(EVERY))
    amount = draw(st.integers(1, 50_000)) * sent(currency, smallest(currency))
    kind = draw(st.sampled_from(["none", "percent", "capped", "amount", "price"]))
    return {
        "none": None,
        "percent": PercentOff(draw(percentages)),
        "capped": PercentOff(draw(percentages), {currency: amount}),
        "amount": AmountOff(amount, currency),
        "price": FixedPrice(amount, currency),
    }[kind], currency


@given(discounts(), st.lists(st.integers(0, 100_000), min_size=2, max_size=20))
def test_the_laws_of_a_price(given: tuple[Discount | None, str], counts: list[int]) -> None:
    """
    What is left and what is taken off make up the list price; neither is below nothing; a total is nothing, or one that
    Stripe charges; and dearer things cost no less and save no less.
    """
    discount, currency = given
    unit = sent(currency, smallest(currency))
    before: Price | None = None
    for listed in sorted({min(count * unit, MAXIMUM // unit * unit) for count in counts}):
        price = outcome(discount, listed, currency)
        if isinstance(price, str):
            assert price in ("amount-too-small", "discount-exceeds-price")
            continue
        assert price.list_amount == listed == price.amount + price.discount_amount
        assert price.amount >= 0 <= price.discount_amount
        assert price.amount == 0 or price.amount >= minimum(currency)
        assert price.amount % unit == 0
        if before is not None:
            assert price.amount >= before.amount
            assert price.discount_amount >= before.discount_amount
        before = price


@pytest.mark.parametrize("currency", EVERY)
def test_it_is_written_with_its_decimals(currency: str) -> None:
    """On pages, and in a field that it is typed into and read back from."""
    places = DECIMALS.get(currency, 2)
    amount = sent(currency, 1234)
    plain = "1234" + ("." + "0" * places if places else "")
    digits = re.sub(r"[^0-9.]", "", Reader(Locale("en", "GB")).money(amount, currency))
    assert digits == plain
    assert written(amount, currency) == plain
    form = Form({"amount": plain})
    assert form.money("amount", currency) == amount
