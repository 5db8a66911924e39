"""
Discount arithmetic, in minor units, and what Stripe can charge.

What a percentage takes off is rounded half up, in exact arithmetic, to what Stripe can charge in that currency: a minor
unit, ten of them where the last digit must be 0, a hundred where only whole units are charged. See `step`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from counterfoil.errors import (
    AmountNotChargeable,
    AmountTooLarge,
    AmountTooSmall,
    CurrencyMismatch,
    DiscountExceedsPrice,
)

#: The most that Stripe charges at once, in minor units (docs.stripe.com/currencies: eight digits).
MAXIMUM = 99_999_999

#: Currencies whose minor unit is the whole unit at Stripe (docs.stripe.com/currencies).
ZERO_DECIMAL = frozenset("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split())
#: Currencies with three decimals, whose last digit must be 0 (docs.stripe.com/currencies).
THREE_DECIMAL = frozenset("bhd jod kwd omr tnd".split())
#: Written with two decimals for compatibility, charged in whole units (docs.stripe.com/currencies: special cases).
WHOLE_UNITS = frozenset("isk ugx".split())

#: The least that Stripe charges, in minor units (docs.stripe.com/currencies, "minimum charge amounts"). Stripe judges
#: it in the account's settlement currency after conversion, so what is above it here may still be refused there.
MINIMUMS = {
    "usd": 50, "aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500, "dkk": 250, "eur": 50,
    "gbp": 30, "hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000, "myr": 200, "nok": 300, "nzd": 50,
    "pln": 200, "ron": 200, "sek": 300, "sgd": 50, "thb": 1000,
}  # fmt: skip

#: The currencies that Stripe charges in (docs.stripe.com/currencies: presentment currencies).
CURRENCIES = frozenset(
    """
    aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd cad cdf chf clp cny
    cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gnf gtq gyd hkd hnl htg huf idr ils inr isk jmd
    jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mur mvr mwk mxn myr mzn nad
    ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp sle sos srd std szl
    thb tjs tnd top try ttd twd tzs uah ugx usd uyu uzs vnd vuv wst xaf xcd xof xpf yer zar zmw
    """.split()
)


@dataclass(frozen=True)
class PercentOff:
    """
    *percent* of the list price, over 0 to 100, two decimals at most.

    *at_most* bounds what it takes off, in minor units by currency. Where there is such a bound, a price in a currency
    without one is refused: nobody said what "at most" is there.
    """

    percent: Decimal
    at_most: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is no percentage."""
        if not isinstance(self.percent, Decimal) or not self.percent.is_finite() or not 0 < self.percent <= 100:
            raise ValueError(f"a percentage is over 0 and at most 100, not {self.percent}")
        if self.percent != self.percent.quantize(Decimal("0.01")):
            raise ValueError(f"a percentage has two decimals at most, {self.percent} has more")
        for currency, most in self.at_most.items():
            check_currency(currency)
            _check_amount(most, at_least=1)


@dataclass(frozen=True)
class AmountOff:
    """*amount_off* minor units off the list price; in other currencies what *currencies* says."""

    amount_off: int
    currency: str
    currencies: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is no amount."""
        _check_amounts(self.amount_off, self.currency, self.currencies, at_least=1)

    def amounts(self) -> dict[str, int]:
        """What is taken off, by currency."""
        return {self.currency: self.amount_off, **self.currencies}


@dataclass(frozen=True)
class FixedPrice:
    """*price* minor units, whatever the list price; in other currencies what *currencies* says."""

    price: int
    currency: str
    currencies: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what is no price."""
        _check_amounts(self.price, self.currency, self.currencies, at_least=0)

    def amounts(self) -> dict[str, int]:
        """The price, by currency."""
        return {self.currency: self.price, **self.currencies}


Discount = PercentOff | AmountOff | FixedPrice


@dataclass(frozen=True)
class Price:
    """What is asked for: *amount* is *list_amount* less *discount_amount*, in minor units."""

    list_amount: int
    discount_amount: int
    amount: int
    currency: str


def apply(discount: Discount | None, list_amount: int, currency: str) -> Price:
    """
    The price with a discount, or without one.

    A dearer thing never costs less at the same code: neither the amount nor what is taken off falls as the list price
    rises. Docs and proof by cases: docs/explanation/discounts.md and tests/values/test_every_currency.py.

    Raises:
        CurrencyMismatch: The discount says nothing of this currency.
        DiscountExceedsPrice: The amount off, or the fixed price, is above the list price.
        AmountNotChargeable: The list price, or what is left of it, is no multiple of what Stripe charges.
        AmountTooSmall: The total is more than nothing and less than Stripe charges.
        AmountTooLarge: The total is more than Stripe charges.
        ValueError: The list price is no amount, or the currency none that Stripe charges in.
    """
    _check_amount(list_amount, at_least=0)
    check_currency(currency)
    _check_step(list_amount, currency)
    match discount:
        case None:
            off = 0
        case PercentOff(percent, at_most):
            off = _percentage(percent, list_amount, step(currency))
            if at_most:
                off = min(off, _amount_in(at_most, currency))
        case AmountOff():
            off = _amount_in(discount.amounts(), currency)
        case FixedPrice():
            off = list_amount - _amount_in(discount.amounts(), currency)
    if not 0 <= off <= list_amount:
        raise DiscountExceedsPrice
    amount = list_amount - off
    _check_step(amount, currency)
    if 0 < amount < minimum(currency):
        raise AmountTooSmall(minimum=minimum(currency))
    if amount > MAXIMUM:
        raise AmountTooLarge(maximum=MAXIMUM)
    return Price(list_amount, off, amount, currency)


def minimum(currency: str) -> int:
    """
    The least that Stripe charges in a currency, in minor units.

    For a currency whose minimum Stripe does not publish, the smallest step: Stripe judges it by conversion, and its
    answer is passed on as *stripe-unavailable*.
    """
    return MINIMUMS.get(currency, step(currency))


def step(currency: str) -> int:
    """Stripe charges whole multiples of this, in minor units (docs.stripe.com/currencies: special cases)."""
    if currency in THREE_DECIMAL:
        return 10
    return 100 if currency in WHOLE_UNITS else 1


def decimals(currency: str) -> int:
    """How many decimals an amount of minor units has when it is written."""
    if currency in ZERO_DECIMAL:
        return 0
    return 3 if currency in THREE_DECIMAL else 2


def check_chargeable(discount: Discount) -> Discount:
    """
    A discount, if its amounts leave Stripe something it can charge.

    A code from before this was looked at may have others: it can be read, and `apply` refuses it.

    Raises:
        ValueError: One of its amounts is no multiple of what Stripe charges in its currency.
    """
    for currency, amount in (discount.at_most if isinstance(discount, PercentOff) else discount.amounts()).items():
        if amount % step(currency):
            raise ValueError(
                AmountNotChargeable(amount=amount, currency=currency, step=step(currency)).detail.rstrip(".")
            )
    return discount


def check_currency(currency: str) -> str:
    """
    A lower-case ISO code that Stripe charges in.

    Raises:
        ValueError: It is none.
    """
    if currency not in CURRENCIES:
        raise ValueError(f"{currency[:16]!r} is no currency that Stripe charges in: write it like gbp")
    return currency


def _check_amount(amount: int, *, at_least: int) -> None:
    if isinstance(amount, bool) or not isinstance(amount, int) or not at_least <= amount <= MAXIMUM:
        raise ValueError(f"an amount is a whole number of minor units from {at_least} to {MAXIMUM}, not {amount!r}")


def _check_amounts(amount: int, currency: str, others: Mapping[str, int], *, at_least: int) -> None:
    _check_amount(amount, at_least=at_least)
    check_currency(currency)
    for other, there in others.items():
        if other == currency:
            raise ValueError(f"an amount in {currency} is given twice")
        check_currency(other)
        _check_amount(there, at_least=at_least)


def _check_step(amount: int, currency: str) -> None:
    if amount % step(currency):
        raise AmountNotChargeable(amount=amount, currency=currency, step=step(currency))


def _percentage(percent: Decimal, list_amount: int, unit: int) -> int:
    return int((Decimal(list_amount // unit) * percent / 100).quantize(Decimal(1), ROUND_HALF_UP)) * unit


def _amount_in(amounts: Mapping[str, int], currency: str) -> int:
    if currency not in amounts:
        raise CurrencyMismatch(expected=tuple(amounts), got=currency)
    return amounts[currency]
