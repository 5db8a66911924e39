"""
Discount arithmetic, in minor units, and what Stripe can charge.

Percentages round half up to the minor unit, in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from counterfoil.errors import AmountTooLarge, AmountTooSmall, CurrencyMismatch, DiscountExceedsPrice

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
    """*percent* of the list price, over 0 to 100, two decimals at most."""

    percent: Decimal

    def __post_init__(self) -> None:
        """Refuse what is no percentage."""
        if not isinstance(self.percent, Decimal) or not self.percent.is_finite() or not 0 < self.percent <= 100:
            raise ValueError(f"a percentage is over 0 and at most 100, not {self.percent}")
        if self.percent != self.percent.quantize(Decimal("0.01")):
            raise ValueError(f"a percentage has two decimals at most, {self.percent} has more")


@dataclass(frozen=True)
class AmountOff:
    """*amount_off* minor units off the list price."""

    amount_off: int
    currency: str

    def __post_init__(self) -> None:
        """Refuse what is no amount."""
        _check_amount(self.amount_off, at_least=1)
        check_currency(self.currency)


@dataclass(frozen=True)
class FixedPrice:
    """*price* minor units, whatever the list price."""

    price: int
    currency: str

    def __post_init__(self) -> None:
        """Refuse what is no price."""
        _check_amount(self.price, at_least=0)
        check_currency(self.currency)


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

    Raises:
        CurrencyMismatch: The discount is an amount in another currency.
        DiscountExceedsPrice: The amount off, or the fixed price, is above the list price.
        AmountTooSmall: The total is more than nothing and less than Stripe charges.
        AmountTooLarge: The total is more than Stripe charges.
        ValueError: The list price is no amount, or the currency none that Stripe charges in.
    """
    _check_amount(list_amount, at_least=0)
    check_currency(currency)
    match discount:
        case None:
            off = 0
        case PercentOff(percent):
            off = int((Decimal(list_amount) * percent / 100).quantize(Decimal(1), ROUND_HALF_UP))
        case AmountOff(amount_off, expected):
            _check_currencies(expected, currency)
            off = amount_off
        case FixedPrice(price, expected):
            _check_currencies(expected, currency)
            off = list_amount - price
    if not 0 <= off <= list_amount:
        raise DiscountExceedsPrice
    amount = list_amount - off
    if 0 < amount < minimum(currency):
        raise AmountTooSmall(minimum=minimum(currency))
    if amount > MAXIMUM:
        raise AmountTooLarge(maximum=MAXIMUM)
    return Price(list_amount, off, amount, currency)


def minimum(currency: str) -> int:
    """
    The least that Stripe charges in a currency, in minor units.

    For a currency whose minimum Stripe does not publish, one minor unit: Stripe judges it by conversion, and its answer
    is passed on as *stripe-unavailable*.
    """
    return MINIMUMS.get(currency, 1)


def decimals(currency: str) -> int:
    """How many decimals an amount of minor units has when it is written."""
    if currency in ZERO_DECIMAL:
        return 0
    return 3 if currency in THREE_DECIMAL else 2


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


def _check_currencies(expected: str, got: str) -> None:
    if expected != got:
        raise CurrencyMismatch(expected=expected, got=got)
