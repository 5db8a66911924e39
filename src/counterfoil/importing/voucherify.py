"""
Voucherify's table of discount coupons, with the columns that its import takes and its templates have.

A coupon's limit is for ever, so it becomes one allocation for ever, with what is left of it.
https://docs.voucherify.io/build/discount-code-import
"""

from __future__ import annotations

from collections.abc import Mapping

from counterfoil.catalogue import CodeTerms
from counterfoil.codes import check_code
from counterfoil.importing import wanted
from counterfoil.importing.stripe import left
from counterfoil.importing.wanted import Given, Wanted
from counterfoil.periods import Calendar
from counterfoil.pricing import CURRENCIES, AmountOff, Discount, FixedPrice

#: These, and a code, make a file one of Voucherify's.
TELLING = ("voucher type", "discount type")


def read(cells: Mapping[str, str], given: Given) -> Wanted:
    """
    What a line asks for.

    Raises:
        ValueError: It asks for what cannot be kept here; in words.
    """
    code = check_code(cells["code"])
    notes: list[str] = []
    kind = cells.get("voucher type", "")
    if kind != "DISCOUNT_VOUCHER":
        raise ValueError(f"it is a {kind or 'voucher of no type'}, and only a DISCOUNT_VOUCHER is a code")
    effect = cells.get("discount effect", "")
    if effect not in ("", "APPLY_TO_ORDER"):
        raise ValueError(f"its effect is {effect}, and here a code lowers the price of one product")
    if cells.get("validation rule id") or cells.get("formula"):
        raise ValueError("at Voucherify it has a rule or a formula of its own, which cannot be kept here")
    zone = given.institution.time_zone
    starts_on = ends_on = None
    if cells.get("start date"):
        starts_on, told = wanted.first_day(cells["start date"], "the start date", zone)
        notes += [told] if told else []
    if cells.get("expiration date"):
        ends_on, told = wanted.last_day(cells["expiration date"], "the expiration date", zone)
        notes += [told] if told else []
    if starts_on and ends_on and starts_on > ends_on:
        raise ValueError("its last day lies before its first")
    return Wanted(
        code=code,
        terms=CodeTerms(
            # Voucherify says of a limit that is missing that there is none.
            cap=left(cells.get("redemption limit", ""), cells.get("redeemed quantity"), notes),
            discount=_discount(cells, given),
            per_buyer_limit=wanted.per_buyer(given.cells.get("per_buyer_limit", "1")),
            starts_on=starts_on,
            ends_on=ends_on,
            paused=not wanted.yes(cells.get("active") or "true", "active"),
        ),
        calendar=Calendar(given.cells.get("calendar", "all")),
        notes=tuple(notes),
    )


def _discount(cells: Mapping[str, str], given: Given) -> Discount:
    value, kind = cells.get("value", ""), cells["discount type"]
    if not value:
        raise ValueError("it has no value")
    if kind == "PERCENT":
        return wanted.percent(value)
    if kind not in ("AMOUNT", "FIXED"):
        raise ValueError(f"its discount type is {kind or 'missing'}: only PERCENT, AMOUNT and FIXED can be kept here")
    currency = given.cells.get("currency", "").lower()
    if currency not in CURRENCIES:
        raise ValueError("the file does not say the currency of its amounts: say it for all lines")
    amount = wanted.amount(value, currency, given)
    return AmountOff(amount, currency) if kind == "AMOUNT" else FixedPrice(amount, currency)
