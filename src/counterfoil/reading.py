"""How rows become nouns: one function per noun, over the documents that ``sql/functions/documents.sql`` makes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from counterfoil import model
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, Discount, FixedPrice, PercentOff
from counterfoil.statement import document


def when(value: Any) -> datetime | None:
    """A time of a row or a document, in UTC."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC)


def moment(value: Any) -> datetime:
    """A time that is always there, in UTC."""
    found = when(value)
    if found is None:
        raise ValueError("a time is missing in the row")
    return found


def day(value: Any) -> date | None:
    """A local day of a row or a document."""
    return date.fromisoformat(value) if isinstance(value, str) else value


def redemption(value: Any) -> model.Redemption:
    """A redemption out of its document."""
    doc: Mapping[str, Any] = document(value)
    return model.Redemption(
        id=UUID(doc["id"]),
        code=doc["code"],
        counts_with=doc["counts_with"],
        period=doc["period"],
        status=model.RedemptionStatus(doc["status"]),
        buyer=doc["buyer"],
        reserved_at=moment(doc["reserved_at"]),
        expires_at=moment(doc["expires_at"]),
        attempt=doc["attempt"],
        session_id=doc["session_id"],
        session_url=doc["session_url"],
        session_expires_at=when(doc["session_expires_at"]),
        former_sessions=tuple(doc["former_sessions"]),
        completed_at=when(doc["completed_at"]),
        released_at=when(doc["released_at"]),
        release_reason=model.ReleaseReason(doc["release_reason"]) if doc["release_reason"] else None,
        refunded_at=when(doc["refunded_at"]),
        over_cap=doc["over_cap"],
        read_at=moment(doc["read_at"]),
        pending_at=when(doc["pending_at"]),
        attached_at=when(doc["attached_at"]),
    )


def checkout(value: Any, claim: model.Redemption | None = None) -> model.Checkout:
    """A checkout out of its document; *claim* where the document does not carry its redemption."""
    doc: Mapping[str, Any] = document(value)
    if claim is None and doc.get("redemption"):
        claim = redemption(doc["redemption"])
    return model.Checkout(
        id=UUID(doc["id"]),
        counts_with=doc["counts_with"],
        redemption=claim,
        product=doc["product_id"],
        name=doc["name"],
        buyer=doc["buyer"],
        list_amount=doc["list_amount"],
        discount_amount=doc["discount_amount"],
        amount=doc["amount"],
        currency=doc["currency"],
        status=model.CheckoutStatus(doc["status"]),
        success_url=doc["success_url"],
        cancel_url=doc["cancel_url"],
        metadata=model.metadata_of(doc["metadata"]),
        browser=doc["browser"],
        session_id=doc["session_id"],
        session_url=doc["session_url"],
        session_expires_at=when(doc["session_expires_at"]),
        payment_intent=doc["payment_intent"],
        livemode=doc["livemode"],
        created_at=moment(doc["created_at"]),
        paid_at=when(doc["paid_at"]),
    )


def discount(doc: Mapping[str, Any]) -> Discount:
    """A code's one discount."""
    if doc["percent"] is not None:
        return PercentOff(Decimal(doc["percent"]), doc["at_most"])
    if doc["amount_off"] is not None:
        return AmountOff(doc["amount_off"], doc["currency"], doc["currencies"])
    return FixedPrice(doc["price"], doc["currency"], doc["currencies"])


def code(value: Any) -> model.Code:
    """A code out of its document."""
    doc: Mapping[str, Any] = document(value)
    return model.Code(
        id=doc["id"],
        institution=doc["institution"],
        institution_name=doc["institution_name"],
        time_zone=doc["time_zone"],
        code=doc["code"],
        cap=doc["cap"],
        discount=discount(doc),
        calendar=Calendar(doc["calendar"]),
        per_buyer_limit=doc["per_buyer_limit"],
        starts_on=day(doc["starts_on"]),
        ends_on=day(doc["ends_on"]),
        products=tuple(doc["products"]) if doc["products"] is not None else None,
        refund_policy=model.RefundPolicy(doc["refund_policy"]),
        counts_with=doc["counts_with"],
        paused=doc["paused_at"] is not None,
        version=doc["version"],
        created_at=moment(doc["created_at"]),
        period=doc["period"],
        replaced_by=doc["replaced_by"],
        buyer_identity=model.BuyerIdentity(doc["buyer_identity"]),
    )


def product(value: Any) -> model.Product:
    """A product out of its document."""
    doc: Mapping[str, Any] = document(value)
    return model.Product(
        id=doc["id"],
        name=doc["name"],
        description=doc["description"],
        amount=doc["amount"],
        currency=doc["currency"],
        unlocks=tuple(doc["unlocks"]),
        created_at=moment(doc["created_at"]),
        version=doc["version"],
    )


def institution(value: Any) -> model.Institution:
    """An institution out of its document."""
    doc: Mapping[str, Any] = document(value)
    return model.Institution(
        id=doc["id"],
        slug=doc["slug"],
        name=doc["name"],
        time_zone=doc["time_zone"],
        year_start=doc["year_start"],
        created_at=moment(doc["created_at"]),
    )


def entitlement(value: Any) -> model.Entitlement:
    """An entitlement out of its row."""
    doc: Mapping[str, Any] = document(value)
    return model.Entitlement(
        unlock=doc["unlock"],
        product=doc["product_id"],
        checkout=UUID(doc["checkout_id"]),
        buyer=doc["buyer"],
        granted_at=moment(doc["granted_at"]),
        revoked_at=when(doc["revoked_at"]),
    )


def usage(value: Any) -> model.Usage:
    """How full an allocation is, out of its row or its document."""
    doc: Mapping[str, Any] = document(value)
    return model.Usage(
        code=doc["code"],
        period=doc["period"],
        cap=doc["cap"],
        completed=doc["completed"],
        pending=doc["pending"],
        held=doc["held"],
        next_release_at=when(doc["next_release_at"]),
        note=doc["note"],
        # What was written down of it once has no days.
        starts_on=day(doc.get("starts_on")),
        ends_on=day(doc.get("ends_on")),
    )
