"""An event of Stripe's, in either shape, once its signature is good."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from counterfoil.errors import BadSignature
from counterfoil.model import Shop, StripeEvent
from counterfoil.procedure import Procedure
from counterfoil.settlement import settle_event
from counterfoil.verbs import Settled


def handle_event(body: bytes, signature: str | None, secrets: Sequence[str], shop: Shop) -> Procedure[Settled]:
    """
    Check an event's signature and settle it: what a webhook does, in whatever framework. Answer 2xx once this returns.

    Args:
        body: The request's body as it arrived.
        signature: The header ``Stripe-Signature``.
        secrets: The endpoint's secrets: several while one is being rotated.
        shop: The seller.

    Raises:
        BadSignature: Answer 400.
        StripeUnavailable, Busy: It could not be settled now. Answer an error, so that it comes again.
    """
    return (yield from settle_event(read_event(body, signature, secrets), shop))


def read_event(body: bytes, signature: str | None, secrets: Sequence[str]) -> StripeEvent:
    """
    Check the signature on the raw body, then read what the event is about.

    Snapshot and thin events are both accepted: only the id of the object is used, and Stripe is asked for the rest.

    Args:
        body: The request's body as it arrived.
        signature: The header ``Stripe-Signature``.
        secrets: The endpoint's secrets: several while one is being rotated.

    Raises:
        BadSignature: No secret fits, the signature is older than five minutes, or what it signs is no event.
    """
    # Imported when it is needed: it takes half a second.
    import stripe

    for secret in secrets:
        try:
            stripe.WebhookSignature.verify_header(
                body.decode(), signature or "", secret, stripe.Webhook.DEFAULT_TOLERANCE
            )
        except (stripe.SignatureVerificationError, ValueError):
            continue
        return _event(body)
    raise BadSignature


def read_document(doc: Mapping[str, Any]) -> StripeEvent:
    """
    What an event is about, from its document in either shape.

    Raises:
        BadSignature: It is no event.
    """
    try:
        thin = doc["object"] == "v2.core.event"
        about: Mapping[str, Any] = (doc.get("related_object") or {}) if thin else doc["data"]["object"]
        object_id, payment_intent = about.get("id"), about.get("payment_intent")
        created = doc.get("created")
        if not (isinstance(doc["id"], str) and isinstance(doc["type"], str) and isinstance(doc["livemode"], bool)):
            raise BadSignature
        if object_id is not None and not isinstance(object_id, str):
            raise BadSignature
        created_at = datetime.fromtimestamp(created, UTC) if isinstance(created, int) else None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, OSError) as error:
        raise BadSignature from error
    return StripeEvent(
        id=doc["id"],
        type=doc["type"].removeprefix("v1.") if thin else doc["type"],
        object_id=object_id,
        livemode=doc["livemode"],
        payment_intent=payment_intent if isinstance(payment_intent, str) else None,
        created_at=created_at,
    )


def _event(body: bytes) -> StripeEvent:
    try:
        doc = json.loads(body)
    except ValueError as error:
        raise BadSignature from error
    return read_document(doc)
