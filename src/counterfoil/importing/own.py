"""
Our own table of codes: what is written into it is read out of it again. A plain file of codes is the same with fewer
columns: what it does not say is said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from counterfoil.catalogue import CodeTerms
from counterfoil.codes import check_code, check_typed
from counterfoil.importing import wanted
from counterfoil.importing.cells import defused
from counterfoil.importing.wanted import Given, Wanted
from counterfoil.model import BuyerIdentity, Code, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import CURRENCIES, MAXIMUM, AmountOff, Discount, FixedPrice, PercentOff

#: As they are written.
COLUMNS = (
    "institution", "code", "cap", "percent", "at_most", "amount_off", "price", "currency", "currencies", "calendar",
    "per_buyer_limit",
    "starts_on", "ends_on", "products", "refund_policy", "counts_with", "paused", "buyer_identity",
)  # fmt: skip
DISCOUNT = ("percent", "at_most", "amount_off", "price", "currency", "currencies")


def line(code: Code, counts_with: str | None) -> list[str]:
    """The cells of a code, in the order of `COLUMNS`."""
    discount = code.discount
    cells = {
        "institution": code.institution,
        "code": code.code,
        "cap": "none" if code.cap is None else str(code.cap),
        "percent": f"{discount.percent.normalize():f}" if isinstance(discount, PercentOff) else "",
        "at_most": _by_currency(discount.at_most) if isinstance(discount, PercentOff) else "",
        "amount_off": str(discount.amount_off) if isinstance(discount, AmountOff) else "",
        "price": str(discount.price) if isinstance(discount, FixedPrice) else "",
        "currency": "" if isinstance(discount, PercentOff) else discount.currency,
        "currencies": "" if isinstance(discount, PercentOff) else _by_currency(discount.currencies),
        "calendar": str(code.calendar),
        "per_buyer_limit": "none" if code.per_buyer_limit is None else str(code.per_buyer_limit),
        "starts_on": code.starts_on.isoformat() if code.starts_on else "",
        "ends_on": code.ends_on.isoformat() if code.ends_on else "",
        "products": "all" if code.products is None else " ".join(code.products),
        "refund_policy": str(code.refund_policy),
        "counts_with": counts_with or "",
        "paused": "yes" if code.paused else "no",
        "buyer_identity": str(code.buyer_identity),
    }
    return [defused(cells[name]) for name in COLUMNS]


def read(cells: Mapping[str, str], given: Given) -> Wanted:
    """
    What a line asks for.

    Raises:
        ValueError: It asks for nothing that there can be; in words.
    """
    # A column that the file has decides, also by an empty cell.
    known = {name: cells[name.replace("_", " ")] for name in COLUMNS if name.replace("_", " ") in cells}
    beside = dict(given.cells)
    if any(name in known for name in ("percent", "amount_off", "price")):
        for name in DISCOUNT:
            beside.pop(name, None)
    cell = beside | known
    if cell.get("institution", given.institution.slug) != given.institution.slug:
        raise ValueError(f"it is a code of {cell['institution']}, and not of {given.institution.slug}")
    code = check_code(cell["code"])
    if "cap" not in cell:
        raise ValueError("no cap is said: add a column cap, or say one for all lines")
    starts_on, ends_on = (wanted.day(cell.get(name, ""), name) for name in ("starts_on", "ends_on"))
    if starts_on and ends_on and starts_on > ends_on:
        raise ValueError("its last day lies before its first")
    return Wanted(
        code=code,
        terms=CodeTerms(
            cap=wanted.cap(cell["cap"]),
            discount=discount(cell),
            per_buyer_limit=wanted.per_buyer(cell.get("per_buyer_limit", "1")),
            starts_on=starts_on,
            ends_on=ends_on,
            products=_products(cell.get("products", "all")),
            refund_policy=RefundPolicy(_one_of("refund_policy", cell.get("refund_policy", "keep"), list(RefundPolicy))),
            paused=wanted.yes(cell.get("paused", "no"), "paused"),
        ),
        calendar=Calendar(_one_of("calendar", cell.get("calendar", "academic_year"), list(Calendar))),
        counts_with=check_typed(cell["counts_with"]) if cell.get("counts_with") else None,
        buyer_identity=BuyerIdentity(
            _one_of("buyer_identity", cell.get("buyer_identity", "address"), list(BuyerIdentity))
        ),
    )


def discount(cell: Mapping[str, str]) -> Discount:
    """The one discount of a line, amounts in minor units."""
    said = [name for name in ("percent", "amount_off", "price") if cell.get(name)]
    if len(said) != 1:
        has = " and ".join(said) or "no discount"
        raise ValueError(f"it has {has}: it takes exactly one of percent, amount_off and price")
    currency = cell.get("currency", "").lower()
    others, at_most = (_amounts(cell.get(name, ""), name) for name in ("currencies", "at_most"))
    if said[0] == "percent":
        if currency or others:
            raise ValueError("a percentage has no currency: at_most bounds it in some")
        return PercentOff(wanted.percent(cell["percent"]).percent, at_most)
    if at_most:
        raise ValueError("at_most bounds a percentage, and not an amount")
    if currency not in CURRENCIES:
        raise ValueError(f"{currency!r} is no currency" if currency else "an amount needs its currency")
    amount = wanted.whole(cell[said[0]], said[0], most=MAXIMUM)
    return AmountOff(amount, currency, others) if said[0] == "amount_off" else FixedPrice(amount, currency, others)


def _by_currency(amounts: Mapping[str, int]) -> str:
    return " ".join(f"{currency}={amount}" for currency, amount in sorted(amounts.items()))


def _amounts(text: str, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in text.split():
        currency, _, amount = part.lower().partition("=")
        if currency not in CURRENCIES or currency in found:
            raise ValueError(f"{name} has {part!r}: write each currency once with its minor units, like eur=600")
        found[currency] = wanted.whole(amount, f"{name} in {currency}", most=MAXIMUM)
    return found


def _products(text: str) -> tuple[str, ...] | None:
    if text.lower() == "all":
        return None
    if not text:
        raise ValueError("products is empty: write their ids with spaces between, or the word all")
    ids = tuple(dict.fromkeys(text.split()))
    for id in ids:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
            raise ValueError(f"{id!r} is no id of a product")
    return ids


def _one_of(name: str, text: str, allowed: list[Calendar] | list[RefundPolicy] | list[BuyerIdentity]) -> str:
    if text not in [str(one) for one in allowed]:
        raise ValueError(f"{name} {text!r} is none of {', '.join(map(str, allowed))}")
    return text
