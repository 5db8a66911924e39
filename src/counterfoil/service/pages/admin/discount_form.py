"""A code's discount as a form: how it is typed, what is wrong with it, and how it is written into the fields again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from counterfoil.pricing import CURRENCIES, AmountOff, Discount, FixedPrice, PercentOff
from counterfoil.service.pages.admin.forms import Form, amount_of, written

#: The three kinds of discount, as they are chosen.
KINDS = {"percent": "Per cent off", "amount_off": "An amount off", "price": "A fixed price"}


def read(form: Form) -> Discount | None:
    """The discount that was typed, or None with what is wrong said in the form."""
    kind = form.one_of("kind", list(KINDS))
    if kind is None:
        return None
    if kind == "percent":
        return _percentage(form)
    if form.typed("at_most").strip():
        form.wrong("at_most", "A bound is for a percentage. Empty it, or choose Per cent off.")
    currency = form.one_of("currency", sorted(CURRENCIES))
    least = 1 if kind == "amount_off" else 0
    amount = form.money("value", currency, least=least)
    others = _lines(form, "currencies", least=least)
    if currency is not None and currency in others:
        form.wrong("currencies", f"{currency.upper()} is given above already.")
    if currency is None or amount is None or form.errors.keys() & {"currencies", "at_most"}:
        return None
    return AmountOff(amount, currency, others) if kind == "amount_off" else FixedPrice(amount, currency, others)


def filled(discount: Discount) -> dict[str, str]:
    """The fields as the discount is now."""
    match discount:
        case PercentOff(percent, at_most):
            return {"kind": "percent", "value": f"{percent.normalize():f}", "at_most": _written(at_most)}
        case AmountOff(amount, currency, others):
            kind = "amount_off"
        case FixedPrice(amount, currency, others):
            kind = "price"
    return {
        "kind": kind, "value": written(amount, currency), "currency": currency, "currencies": _written(others)
    }  # fmt: skip


def _percentage(form: Form) -> Discount | None:
    text = form.typed("value").strip().removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,2})?", text, re.ASCII) or not 0 < Decimal(text) <= 100:
        form.wrong("value", "Write a percentage over 0 and up to 100, with two decimals at most.")
    if form.typed("currencies").strip():
        form.wrong("currencies", "A percentage is the same in all currencies. Empty this, or choose an amount.")
    at_most = _lines(form, "at_most", least=1)
    if form.errors.keys() & {"value", "currencies", "at_most"}:
        return None
    return PercentOff(Decimal(text), at_most)


def _lines(form: Form, name: str, *, least: int) -> dict[str, int]:
    """Amounts by currency, one a line: EUR 6.00, or 6.00 EUR."""
    amounts: dict[str, int] = {}
    for line in filter(None, map(str.strip, form.typed(name).splitlines())):
        parts = re.fullmatch(r"([A-Za-z]{3})\s*:?\s*([0-9].*)|([0-9].*?)\s*([A-Za-z]{3})", line, re.ASCII)
        currency = ((parts[1] or parts[4]) if parts else "").lower()
        if parts is None or currency not in CURRENCIES:
            form.wrong(name, f"Write one currency and its amount on each line, like EUR 6.00; not “{line[:40]}”.")
        elif currency in amounts:
            form.wrong(name, f"{currency.upper()} is given twice.")
        else:
            try:
                amounts[currency] = amount_of(parts[2] or parts[3], currency, least=least)
            except ValueError as wrong:
                form.wrong(name, str(wrong))
    return amounts


def _written(amounts: Mapping[str, int]) -> str:
    return "\n".join(f"{one.upper()} {written(amount, one)}" for one, amount in sorted(amounts.items()))
