"""
What Stripe says of a session, asked for and believed: the only ground on which a row is moved.

Whoever wants a session to be over ends it at Stripe, and then goes by what it turned out to be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from counterfoil.calls import ExpireRefused, ExpireSession, RetrieveSession, SessionUnknown, Together
from counterfoil.errors import StripeUnavailable
from counterfoil.model import Session
from counterfoil.procedure import Procedure

log = logging.getLogger(__name__)

#: The event that says that a delayed payment failed.
FAILED = "checkout.session.async_payment_failed"


def end_session(session_id: str) -> Procedure[Session]:
    """
    End a session at Stripe, and believe what Stripe then says of it.

    If it is refused, it is not open any more: ``expired``, or ``complete``, which is paid or paying and never
    cancelled. A session that Stripe does not know counts as expired: nobody can pay it there.

    Raises:
        StripeUnavailable: Stripe could not say, or would not end it: it may be paid still.
    """
    session: Session
    try:
        try:
            session = yield ExpireSession(session_id)
        except ExpireRefused:
            session = yield RetrieveSession(session_id)
            # guard: what-is-open-still-is-not-over
            if session.status == "open":
                raise _open_still(session_id) from None
    except SessionUnknown:
        session = _unknown(session_id)
    return session


def end_sessions(session_ids: Sequence[str]) -> Procedure[list[Session | StripeUnavailable]]:
    """Like `end_session`, for several at the same time: each session as it then is, or why Stripe could not say."""
    answers: list[Any] = yield Together(tuple(map(ExpireSession, session_ids)))
    refused = [id for id, answer in zip(session_ids, answers, strict=True) if isinstance(answer, ExpireRefused)]
    if refused:
        read: list[Any] = yield Together(tuple(map(RetrieveSession, refused)))
        found = dict(zip(refused, read, strict=True))
        answers = [found.get(id, answer) for id, answer in zip(session_ids, answers, strict=True)]
    return [_believed(id, answer) for id, answer in zip(session_ids, answers, strict=True)]


def _believed(session_id: str, answer: Any) -> Session | StripeUnavailable:
    if isinstance(answer, SessionUnknown):
        return _unknown(session_id)
    # guard: what-is-open-still-is-let-to-nobody
    if isinstance(answer, Session) and answer.status == "open":
        return _open_still(session_id)
    if isinstance(answer, Exception) and not isinstance(answer, StripeUnavailable):
        raise answer
    believed: Session | StripeUnavailable = answer
    return believed


def _open_still(session_id: str) -> StripeUnavailable:
    return StripeUnavailable(
        answered=True, stripe_message=f"session {session_id} could not be ended, and is open still"
    )


def verdict(session: Session, event_type: str | None = None) -> str:
    """
    What a session means: ``paid``, ``pending``, ``expired``, ``payment_failed`` or ``open``.

    After a delayed payment failed the session still says complete and unpaid, the same as one that is waiting. The
    event tells them apart, unless the session says paid by now; without it, the payment intent does: it waits for
    another payment method, or was given up.
    """
    if session.status == "complete":
        if session.payment_status in ("paid", "no_payment_required"):
            return "paid"
        failed = event_type == FAILED or session.intent_status in ("requires_payment_method", "canceled")
        return "payment_failed" if failed else "pending"
    return "expired" if session.status == "expired" else "open"


def paid_or_paying(session: Session) -> bool:
    """Whether its place is spent, or is to be: what is complete is neither, once its delayed payment failed."""
    return verdict(session) in ("paid", "pending")


def reference(session: Session) -> Mapping[str, Any]:
    """The ids of our rows in a session's metadata, each None if it is missing or not an id of ours."""
    return {
        "checkout": _uuid(session.metadata.get("counterfoil_checkout")),
        "redemption": _uuid(session.metadata.get("counterfoil_redemption")),
        "counts_with": _integer(session.metadata.get("counterfoil_counts_with")),
        "attempt": _integer(session.metadata.get("counterfoil_attempt")),
    }


def absent(session_id: str, status: str) -> Session:
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


def _unknown(session_id: str) -> Session:
    # Nobody can pay what Stripe does not know.
    log.warning("Stripe knows no session %s: taken as ended", session_id)
    return absent(session_id, "expired")


def _uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None


def _integer(text: str | None) -> int | None:
    return int(text) if text and len(text) < 19 and text.isascii() and text.isdigit() else None
