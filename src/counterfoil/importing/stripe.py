"""
Stripe's promotion codes: the fields of a promotion code and of its coupon, as the columns of a table.

A promotion code's limit is for ever, so it becomes one allocation for ever, with what is left of it.
https://docs.stripe.com/api/promotion_codes/object
"""

from __future__ import annotations

from collections.abc import Mapping

from counterfoil.catalogue import CodeTerms
from counterfoil.codes import check_code
from counterfoil.importing import own, wanted
from counterfoil.importing.wanted import Given, Wanted
from counterfoil.periods import Calendar
from counterfoil.pricing import CURRENCIES, AmountOff, Discount

#: One of these, and a code, make a file one of Stripe's.
TELLING = ("max redemptions", "times redeemed", "coupon", "coupon id", "percent off", "coupon percent off")


def read(cells: Mapping[str, str], given: Given) -> Wanted:
    """
    What a line asks for.

    Raises:
        ValueError: It asks for what cannot be kept here; in words.
    """
    code = check_code(cells["code"])
    notes: list[str] = []
    if cells.get("customer") or cells.get("customer id"):
        raise ValueError("at Stripe it is for one customer alone, which cannot be kept here")
    for name in ("restrictions first time transaction", "first time transaction"):
        if cells.get(name) and wanted.yes(cells[name], "first_time_transaction"):
            raise ValueError("at Stripe it is for a customer's first purchase alone, which cannot be kept here")
    for name in ("restrictions minimum amount", "minimum amount"):
        if cells.get(name):
            raise ValueError("at Stripe it needs a minimum amount, which cannot be kept here")
    cap = left(cells.get("max redemptions"), cells.get("times redeemed"), notes)
    ends_on = None
    if cells.get("expires at"):
        ends_on, told = wanted.last_day(cells["expires at"], "expires_at", given.institution.time_zone)
        notes += [told] if told else []
    return Wanted(
        code=code,
        terms=CodeTerms(
            cap=cap,
            discount=_discount(cells, given),
            per_buyer_limit=wanted.per_buyer(given.cells.get("per_buyer_limit", "1")),
            ends_on=ends_on,
            paused=not wanted.yes(cells.get("active") or "true", "active"),
        ),
        calendar=Calendar(given.cells.get("calendar", "all")),
        notes=tuple(notes),
    )


def left(limit: str | None, used: str | None, notes: list[str]) -> int | None:
    """What is left of a limit: nobody is let in where it is used up, and everybody only where the file has none."""
    if limit is None:
        raise ValueError("the file has no column for the limit, so what is left of it is not known")
    if not limit:
        notes.append("the file has no limit for it")
        return None
    most = wanted.whole(limit, "limit", most=wanted.MOST_CAP)
    spent = wanted.whole(used, "number of uses", most=wanted.MOST_CAP) if used else 0
    if spent:
        notes.append(f"{spent:,} of {most:,} were used before")
    return max(0, most - spent)


def _discount(cells: Mapping[str, str], given: Given) -> Discount:
    columns = {
        name: next((cells[one] for one in (name, f"coupon {name}") if one in cells), None)
        for name in ("percent off", "amount off", "currency")
    }
    percent, amount = columns["percent off"], columns["amount off"]
    if percent is None and amount is None:
        # Of its coupon a file may have nothing but the name.
        if not any(given.cells.get(name) for name in own.DISCOUNT):
            raise ValueError("the file does not say what its coupon takes off: say the discount for all lines")
        return own.discount(given.cells)
    if bool(percent) == bool(amount):
        raise ValueError("it takes off either a percentage or an amount, and the file says both or neither")
    if percent:
        return wanted.percent(percent)
    currency = (columns["currency"] or given.cells.get("currency", "")).lower()
    if currency not in CURRENCIES:
        raise ValueError("an amount needs its currency")
    return AmountOff(wanted.amount(amount or "", currency, given), currency)
