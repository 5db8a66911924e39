"""
Who may redeem what: institutions, products, codes and their allocations.

Like the verbs, each function makes one statement; none of these decides about a place but `set_cap`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from counterfoil import errors, reading
from counterfoil.buyers import buyer_key
from counterfoil.codes import check_code, fold
from counterfoil.model import BuyerIdentity, Code, Entitlement, Institution, Product, RefundPolicy, Shop
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, Discount, FixedPrice, PercentOff
from counterfoil.statement import Row, Sql, Statement


@dataclass(frozen=True)
class CodeTerms:
    """What a code grants: everything about it that may be changed later."""

    cap: int | None
    discount: Discount
    per_buyer_limit: int | None = 1
    starts_on: date | None = None
    ends_on: date | None = None
    products: tuple[str, ...] | None = None
    refund_policy: RefundPolicy = RefundPolicy.KEEP
    paused: bool = False


def terms_of(code: Code) -> CodeTerms:
    """The terms that a code has now."""
    return CodeTerms(
        cap=code.cap,
        discount=code.discount,
        per_buyer_limit=code.per_buyer_limit,
        starts_on=code.starts_on,
        ends_on=code.ends_on,
        products=code.products,
        refund_policy=code.refund_policy,
        paused=code.paused,
    )


@dataclass(frozen=True)
class Seen:
    """The cap that somebody saw before they changed it."""

    cap: int | None


def slug_of(name: str) -> str:
    """A short name for addresses: lower-case letters, digits and dashes."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


def add_institution(*, name: str, time_zone: str, year_start: str, slug: str) -> Statement[Institution]:
    """
    A new institution. Zone and year start are checked by ``periods.py``.

    Raises (when run):
        AlreadyExists: The slug is taken.
    """
    return Statement(
        Sql(
            "INSERT INTO counterfoil.institution AS i (slug, name, time_zone, year_start) "
            "VALUES (:slug::text, :name::text, :time_zone::text, :year_start::text) "
            "RETURNING to_jsonb(i) AS institution"
        ),
        {"slug": slug, "name": name, "time_zone": time_zone, "year_start": year_start},
        lambda rows: reading.institution(rows[0]["institution"]),
    )


def change_institution(
    *, institution: Institution, name: str, time_zone: str, year_start: str
) -> Statement[Institution | None]:
    """
    Give an institution another name, or another calendar; None if somebody else changed it since it was read.

    Zone and start of the year say which period is now from now on. No redemption changes, and no allocation: what was
    counted keeps the period, and the days, that it was counted in.
    """
    return Statement(
        Sql(
            "UPDATE counterfoil.institution AS i SET name = :name::text, time_zone = :time_zone::text, "
            "year_start = :year_start::text WHERE i.id = :id::bigint AND i.name = :was_name::text "
            "AND i.time_zone = :was_time_zone::text AND i.year_start = :was_year_start::text "
            "RETURNING to_jsonb(i) AS institution"
        ),
        {
            "id": institution.id,
            "was_name": institution.name,
            "was_time_zone": institution.time_zone,
            "was_year_start": institution.year_start,
            "name": name,
            "time_zone": time_zone,
            "year_start": year_start,
        },
        lambda rows: reading.institution(rows[0]["institution"]) if rows else None,
    )


def institutions(*, after: int | None = None, most: int = 100) -> Statement[list[Institution]]:
    """Institutions, newest first, those with an id below *after*."""
    return Statement(
        Sql.named("institutions"),
        {"key": None, "after": after, "most": most},
        lambda rows: [reading.institution(row["institution"]) for row in rows],
    )


def institution(key: str) -> Statement[Institution]:
    """
    One institution, by its slug or id.

    Raises (when run):
        InstitutionUnknown: There is none.
    """

    def read(rows: Sequence[Row]) -> Institution:
        if not rows:
            raise errors.InstitutionUnknown(key)
        return reading.institution(rows[0]["institution"])

    return Statement(Sql.named("institutions"), {"key": key, "after": None, "most": 1}, read)


def add_product(
    *, id: str, name: str, amount: int, currency: str, unlocks: Sequence[str], description: str = ""
) -> Statement[Product]:
    """
    A new product.

    Raises (when run):
        AlreadyExists: The id is taken.
    """
    return Statement(
        Sql(
            "INSERT INTO counterfoil.product AS p (id, name, description, amount, currency, unlocks) VALUES "
            "(:id::text, :name::text, :description::text, :amount::bigint, :currency::text, :unlocks::text[]) "
            "RETURNING to_jsonb(p) AS product"
        ),
        {
            "id": id,
            "name": name,
            "description": description,
            "amount": amount,
            "currency": currency,
            "unlocks": list(unlocks),
        },
        lambda rows: reading.product(rows[0]["product"]),
    )


def change_product(
    *, product: Product, name: str, amount: int, currency: str, unlocks: Sequence[str], description: str
) -> Statement[Product | None]:
    """
    Change what is sold; None if somebody else changed it since it was read.

    A checkout keeps what it was opened with: its name, its price and what it unlocks.
    """
    return Statement(
        Sql(
            "UPDATE counterfoil.product AS p SET name = :name::text, description = :description::text, "
            "amount = :amount::bigint, currency = :currency::text, unlocks = :unlocks::text[], version = p.version + 1 "
            "WHERE p.id = :id::text AND p.version = :version::bigint RETURNING to_jsonb(p) AS product"
        ),
        {
            "id": product.id,
            "version": product.version,
            "name": name,
            "description": description,
            "amount": amount,
            "currency": currency,
            "unlocks": list(unlocks),
        },
        lambda rows: reading.product(rows[0]["product"]) if rows else None,
    )


def products(
    *, after: tuple[datetime, str] | None = None, most: int = 100, id: str | None = None
) -> Statement[list[Product]]:
    """Products, newest first."""
    return Statement(
        Sql.named("products"),
        {
            "id": id,
            "after_at": after[0] if after else None,
            "after_id": after[1] if after else None,
            "most": most,
        },
        lambda rows: [reading.product(row["product"]) for row in rows],
    )


def check_products(ids: Sequence[str]) -> Statement[None]:
    """
    Nothing, if there are products of all these ids.

    Raises (when run):
        ProductUnknown: Naming the first that is none.
    """

    def read(rows: Sequence[Row]) -> None:
        if rows:
            raise errors.ProductUnknown(rows[0]["id"])

    return Statement(
        Sql(
            "SELECT given.id FROM unnest(:ids::text[]) WITH ORDINALITY AS given (id, place) "
            "WHERE NOT EXISTS (SELECT FROM counterfoil.product AS p WHERE p.id = given.id) ORDER BY given.place LIMIT 1"
        ),
        {"ids": list(ids)},
        read,
    )


def add_code(
    *,
    institution: Institution,
    code: str,
    terms: CodeTerms,
    calendar: Calendar,
    counts_with: str | None = None,
    batch: UUID | None = None,
    buyer_identity: BuyerIdentity | None = None,
) -> Statement[Code]:
    """
    A new code of an institution. *counts_with* names another code: both count against that one's allocations, and tell
    buyers apart by that one's rule (`check_identity`). *batch*: it is one of several that are made together.

    Raises (when run):
        AlreadyExists: A code that reads the same was given before.
        CodeUnknown: There is no code to count with.
    """
    stored = check_code(code)

    def read(rows: Sequence[Row]) -> Code:
        if not rows:
            raise errors.CodeUnknown(counts_with or "")
        return reading.code(rows[0]["code"])

    parameters = _terms_parameters(terms) | {
        "institution": institution.id,
        "code": stored,
        "folded": fold(stored),
        "calendar": str(calendar),
        "counts_with": fold(counts_with) if counts_with is not None else None,
        "batch": batch,
        "buyer_identity": str(buyer_identity) if buyer_identity is not None else None,
    }
    return Statement(Sql.named("add_code"), parameters, read)


def check_identity(*, counts_with: str | None, buyer_identity: BuyerIdentity | None) -> Statement[None]:
    """
    Nothing, if a code that counts with another may tell buyers apart like this. The rule of that one never changes.

    Raises (when run):
        IdentityDiffers: That one has another rule.
    """

    def read(rows: Sequence[Row]) -> None:
        if rows and buyer_identity is not None and rows[0]["rule"] != buyer_identity:
            raise errors.IdentityDiffers(counts_with=rows[0]["code"], rule=rows[0]["rule"])

    return Statement(
        Sql(
            "SELECT c.code, root.buyer_identity AS rule FROM counterfoil.code AS c "
            "JOIN counterfoil.code AS root ON root.id = coalesce(c.counts_with, c.id) "
            "WHERE c.folded = :counts_with::text"
        ),
        {"counts_with": fold(counts_with) if counts_with is not None else None},
        read,
    )


def change_code(*, code: Code, terms: CodeTerms, calendar: Calendar | None = None) -> Statement[Code | None]:
    """
    Give a code other terms; None if somebody else changed it since it was read. *calendar*: from now on it is counted
    by another one, unless None.

    Allocations that exist keep their caps, and redemptions their prices and their periods.

    Raises:
        CodeReplaced: Another code is in its place. It is changed no more, and above all not resumed.
        CountsElsewhere: The code counts with another one, whose calendar it is.
    """
    # Replacing raises the version: whoever read the code before that changes nothing either.
    # guard: what-was-replaced-stays-stopped
    if code.replaced_by is not None:
        raise errors.CodeReplaced(code.code, replaced_by=code.replaced_by)
    if calendar is not None and calendar is not code.calendar and code.counts_with is not None:
        raise errors.CountsElsewhere(code.counts_with)
    return Statement(
        Sql.named("change_code"),
        _terms_parameters(terms)
        | {"id": code.id, "version": code.version, "calendar": None if calendar is None else str(calendar)},
        lambda rows: reading.code(rows[0]["code"]) if rows else None,
    )


def codes(*, institution: int | None = None, after: int | None = None, most: int = 100) -> Statement[list[Code]]:
    """Codes, newest first, of one institution or all."""
    return Statement(
        Sql.named("codes"),
        {"folded": None, "institution": institution, "after": after, "most": most},
        lambda rows: [reading.code(row["code"]) for row in rows],
    )


def code(typed: str) -> Statement[Code]:
    """
    One code, however it is typed.

    Raises (when run):
        CodeUnknown: No code reads like this.
    """

    def read(rows: Sequence[Row]) -> Code:
        if not rows:
            raise errors.CodeUnknown(typed)
        return reading.code(rows[0]["code"])

    return Statement(Sql.named("codes"), {"folded": fold(typed), "institution": None, "after": None, "most": 1}, read)


def periods_of(*, code: str, after: str | None = None, most: int = 100) -> Statement[list[str]]:
    """The periods of a code that have an allocation of their own, newest first."""
    return Statement(
        Sql.named("periods"),
        {"code": fold(code), "after": after, "most": most},
        lambda rows: [row["period"] for row in rows],
    )


def set_cap(
    *,
    code: Code,
    period: str,
    cap: int | None,
    note: str | None,
    confirmed: bool,
    shop: Shop,
    known: int | None = None,
    seen: Seen | None = None,
) -> Statement[None]:
    """
    Set the cap of one period, making its allocation if need be. The note is this change's own.

    *confirmed*: also below what is in use. *known*: also that, while no more than so many are. *seen*: only while the
    cap is still that.

    Raises (when run):
        CapBelowUsed: More places are in use, and it was not confirmed.
        CapMoved: It is another cap by now than the one that was seen.
        Busy: The allocation's lock was not won in time.
    """

    def read(rows: Sequence[Row]) -> None:
        if rows[0]["outcome"] == "moved":
            raise errors.CapMoved(cap=rows[0]["stands"])
        if rows[0]["outcome"] == "below_used":
            raise errors.CapBelowUsed(used=rows[0]["occupied"])

    return Statement(
        Sql(
            "SELECT outcome, occupied, stands FROM counterfoil.set_cap(counts_with => (SELECT "
            "coalesce(c.counts_with, c.id) FROM counterfoil.code AS c WHERE c.id = :code::bigint), "
            "period => :period::text, cap => :cap::bigint, "
            "note => :note::text, confirmed => :confirmed::boolean, lock_timeout => :lock_timeout::interval, "
            "known => :known::bigint, is_seen => :is_seen::boolean, was => :was::bigint)"
        ),
        {
            "code": code.id,
            "period": period,
            "cap": cap,
            "note": note,
            "confirmed": confirmed,
            "lock_timeout": shop.lock_timeout,
            "known": known,
            "is_seen": seen is not None,
            "was": seen.cap if seen else None,
        },
        read,
        alone=True,
    )


def entitlements(
    *, buyer: str, all: bool = False, after: tuple[datetime, UUID, str] | None = None, most: int = 100
) -> Statement[list[Entitlement]]:
    """What a buyer's paid checkouts opened: what is current, or with *all* also what was taken back."""
    return Statement(
        Sql.named("entitlements"),
        {
            "buyer_key": buyer_key(buyer),
            "all": all,
            "after_at": after[0] if after else None,
            "after_id": after[1] if after else None,
            "after_unlock": after[2] if after else None,
            "most": most,
        },
        lambda rows: [reading.entitlement(row["entitlement"]) for row in rows],
    )


def _terms_parameters(terms: CodeTerms) -> dict[str, Any]:
    discount = terms.discount
    return {
        "cap": terms.cap,
        "percent": discount.percent if isinstance(discount, PercentOff) else None,
        "amount_off": discount.amount_off if isinstance(discount, AmountOff) else None,
        "price": discount.price if isinstance(discount, FixedPrice) else None,
        "currency": None if isinstance(discount, PercentOff) else discount.currency,
        "currencies": json.dumps({} if isinstance(discount, PercentOff) else dict(discount.currencies)),
        "at_most": json.dumps(dict(discount.at_most) if isinstance(discount, PercentOff) else {}),
        "per_buyer_limit": terms.per_buyer_limit,
        "starts_on": terms.starts_on,
        "ends_on": terms.ends_on,
        "products": list(terms.products) if terms.products is not None else None,
        "refund_policy": str(terms.refund_policy),
        "paused": terms.paused,
    }
