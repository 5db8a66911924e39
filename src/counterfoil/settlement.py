"""
Settling: to carry what Stripe says of a session into our rows.

Whoever hears of a session, by an event, by asking or by ending it, settles what Stripe says of it *now*. So the order
and the age of events do not matter, and doing it twice is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from counterfoil import verbs
from counterfoil.calls import ExpireRefused, ExpireSession, RetrieveSession, SessionUnknown
from counterfoil.errors import StripeUnavailable
from counterfoil.model import Session, Shop, StripeEvent
from counterfoil.procedure import Procedure
from counterfoil.verbs import Settled

log = logging.getLogger(__name__)

#: The events that decide. Refunds and disputes come after them; an intent that failed is not an ending.
SESSION_EVENTS = frozenset(
    {
        "checkout.session.completed",
        "checkout.session.expired",
        "checkout.session.async_payment_succeeded",
        "checkout.session.async_payment_failed",
    }
)


def settle_event(event: StripeEvent, shop: Shop) -> Procedure[Settled]:
    """
    Settle an event whose signature was good. Returns only once it is settled, or known to be none of ours.

    Raises:
        StripeUnavailable: The session could not be read. Answer the event with an error, so that it comes again.
        Busy: The same.
    """
    if event.type not in SESSION_EVENTS or event.livemode != shop.livemode or event.object_id is None:
        return Settled("ignored")
    if (yield verbs.record_event(event=event)):
        return Settled("already_settled")
    try:
        session: Session = yield RetrieveSession(event.object_id)
    except SessionUnknown:
        # An account we have no key of, or a key of another account. If a row has this session, it is the latter.
        absent = _absent(event.object_id, "open")
        settled: Settled = yield verbs.settle(session=absent, verdict="open", reference=reference(absent), shop=shop)
        if settled.outcome != "foreign":
            raise StripeUnavailable(
                answered=True, stripe_code="resource_missing", stripe_message=f"No such session: {event.object_id}"
            ) from None
        yield verbs.close_event(event=event, outcome="foreign")
        return settled
    return (yield from settle_session(session, shop, event=event))


def settle_session(session: Session, shop: Shop, *, event: StripeEvent | None = None) -> Procedure[Settled]:
    """Settle what a session says of itself, and end the other session of its row if there is one left."""
    settled: Settled = yield verbs.settle(
        session=session,
        verdict=verdict(session, event.type if event else None),
        reference=reference(session),
        shop=shop,
        event=event.id if event else None,
    )
    if settled.stray_session:
        yield from end_session(settled.stray_session)
    return settled


def end_session(session_id: str) -> Procedure[Session]:
    """
    End a session at Stripe, and believe what Stripe then says of it.

    If it is refused, it is not open any more: ``expired``, or ``complete``, which is paid or paying and never
    cancelled. A session that Stripe does not know counts as expired.

    Raises:
        StripeUnavailable: Stripe could not say.
    """
    session: Session
    try:
        try:
            session = yield ExpireSession(session_id)
        except ExpireRefused:
            session = yield RetrieveSession(session_id)
    except SessionUnknown:
        # Nobody can pay what Stripe does not know.
        log.warning("Stripe knows no session %s: taken as ended", session_id)
        session = _absent(session_id, "expired")
    return session


def verdict(session: Session, event_type: str | None = None) -> str:
    """
    What a session means: ``paid``, ``pending``, ``expired``, ``payment_failed`` or ``open``.

    After a delayed payment failed the session still says complete and unpaid, the same as one that is waiting: the
    event tells them apart, unless the session says paid by now.
    """
    if session.status == "complete":
        if session.payment_status in ("paid", "no_payment_required"):
            return "paid"
        return "payment_failed" if event_type == "checkout.session.async_payment_failed" else "pending"
    return "expired" if session.status == "expired" else "open"


def reference(session: Session) -> Mapping[str, Any]:
    """The ids of our rows in a session's metadata, each None if it is missing or not an id of ours."""
    return {
        "checkout": _uuid(session.metadata.get("counterfoil_checkout")),
        "redemption": _uuid(session.metadata.get("counterfoil_redemption")),
        "counts_with": _integer(session.metadata.get("counterfoil_counts_with")),
        "attempt": _integer(session.metadata.get("counterfoil_attempt")),
    }


def _uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _integer(text: str | None) -> int | None:
    return int(text) if text and len(text) < 19 and text.isascii() and text.isdigit() else None


def _absent(session_id: str, status: str) -> Session:
    """A session that Stripe does not know."""
    never = datetime.fromtimestamp(0, UTC)
    return Session(
        id=session_id,
        status=status,
        payment_status="unpaid",
        url=None,
        created=never,
        expires_at=never,
        amount_total=None,
        currency=None,
        payment_intent=None,
        metadata={},
        recovered_from=None,
        livemode=False,
    )
