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
    SessionUnknown,
    StillCreating,
    StripeCall,
)
from counterfoil.errors import StripeUnavailable
from counterfoil.model import Session

log = logging.getLogger(__name__)


def session(found: stripe.checkout.Session) -> Session:
    """A session as the SDK parsed it, as our value."""
    doc: Mapping[str, Any] = found.to_dict()
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
    )


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
    )


def _id(value: Any) -> str | None:
    """The id of what may have been expanded into an object."""
    found: str | None = value["id"] if isinstance(value, Mapping) else value
    return found
