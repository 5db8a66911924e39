"""What the SDK answers and refuses, as our values: the same for both drivers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import stripe

from counterfoil.calls import (
    BelowFloor,
    CreateSession,
    ExpireRefused,
    ExpireSession,
    KeyReused,
    RateLimited,
    SessionUnknown,
    StillCreating,
    StripeCall,
)
from counterfoil.errors import StripeUnavailable
from counterfoil.model import Charge, Dispute, EventPage, Session, SessionPage
from counterfoil.stripe.events import read_document

log = logging.getLogger(__name__)


#: What is read along with a session: how its payment stands, and what has gone back of it.
EXPAND = "payment_intent.latest_charge"


def session(found: stripe.checkout.Session) -> Session:
    """A session as the SDK parsed it, as our value."""
    return _session(found.to_dict())


def session_page(found: Any) -> SessionPage:
    """A list of sessions as the SDK parsed it."""
    return SessionPage(tuple(session(one) for one in found.data), found.has_more)


def disputes(found: Any) -> tuple[Dispute, ...]:
    """A list of disputes as the SDK parsed it."""
    return tuple(Dispute(one["id"], one["status"], one["amount"]) for one in found.data)


def event_page(found: Any) -> EventPage:
    """A list of events as the SDK parsed it."""
    return EventPage(tuple(read_document(one.to_dict()) for one in found.data), found.has_more)


def _session(doc: Mapping[str, Any]) -> Session:
    intent = doc.get("payment_intent")
    return Session(
        id=doc["id"],
        status=doc["status"],
        payment_status=doc["payment_status"],
        url=doc.get("url"),
        created=datetime.fromtimestamp(doc["created"], UTC),
        expires_at=datetime.fromtimestamp(doc["expires_at"], UTC),
        amount_total=doc.get("amount_total"),
        currency=doc.get("currency"),
        payment_intent=_id(doc.get("payment_intent")),
        metadata=dict(doc.get("metadata") or {}),
        recovered_from=_id(doc.get("recovered_from")),
        livemode=doc["livemode"],
        intent_status=intent["status"] if isinstance(intent, Mapping) else None,
        charge=_charge(intent.get("latest_charge")) if isinstance(intent, Mapping) else None,
    )


def _charge(doc: Any) -> Charge | None:
    if not isinstance(doc, Mapping) or not doc["paid"]:
        return None
    return Charge(doc["amount"], doc["amount_refunded"], doc["disputed"])


def failure(call: StripeCall, error: stripe.StripeError) -> Exception:
    """
    What an error of the SDK's means for the call it answers.

    Matched on status and on ``error.code``: the attribute ``.code`` is empty on 409 and on idempotency errors
    (SDK 16.1.0), and ``error.type`` is reported both ways for 409.
    """
    status = error.http_status
    code = error.error.code if error.error else None
    if status == 404 and code == "resource_missing":
        return SessionUnknown(error.user_message, error.request_id)
    if isinstance(call, CreateSession):
        if status == 409 and code == "idempotency_key_in_use":
            return StillCreating(error.user_message, error.request_id)
        if status == 429:
            return RateLimited(error.user_message, error.request_id)
        if isinstance(error, stripe.IdempotencyError):
            return KeyReused(error.user_message, error.request_id)
        if status == 400 and error.error and error.error.param == "expires_at":
            return BelowFloor(error.user_message, error.request_id)
    if isinstance(call, ExpireSession) and status == 400 and not isinstance(error, stripe.IdempotencyError):
        return ExpireRefused(error.user_message, error.request_id)
    log.warning(
        "%s: Stripe could not do it (%s): %s", type(call).__name__, status or "no answer", error.__cause__ or error
    )
    return StripeUnavailable(
        answered=status is not None,
        stripe_code=code,
        stripe_message=error.user_message if status is not None else None,
        request_id=error.request_id,
        http_status=status,
    )


def _id(value: Any) -> str | None:
    """The id of what may have been expanded into an object."""
    found: str | None = value["id"] if isinstance(value, Mapping) else value
    return found
