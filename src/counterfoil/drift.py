"""
Drift: our rows and Stripe do not say the same of a session.

One function tells it, from what both say; the dry run shows what it answers, and settling makes it come true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from counterfoil.asking import reference, verdict
from counterfoil.model import CheckoutStatus, Dispute, Redemption, RedemptionStatus, Session
from counterfoil.records import Record
from counterfoil.settlement import is_back, recorded_as_back

#: The status of a session that Stripe does not know.
UNKNOWN = "unknown"


class Would(StrEnum):
    """What settling would do to the rows."""

    COMPLETE = "complete"
    PENDING = "pending"
    RELEASE = "release"
    REFUND = "refund"
    REINSTATE = "reinstate"
    ATTENTION = "attention"


#: The same for a person.
WORDS = {
    Would.COMPLETE: "complete it",
    Would.PENDING: "wait for its payment",
    Would.RELEASE: "give its place back",
    Would.REFUND: "mark it refunded",
    Would.REINSTATE: "reinstate it: the refund failed",
    Would.ATTENTION: "put it before the seller",
}


@dataclass
class Finding:
    """
    One drift.

    Attributes:
        rows: What we say, in words.
        stripe: What Stripe says, in words.
        done: What settling it came to; None while it was not tried.
        left: It is drift still.
    """

    session_id: str
    checkout: UUID | None
    redemption: UUID | None
    code: str | None
    rows: str
    stripe: str
    would: Would
    done: str | None = None
    left: bool = True


def compare(record: Record, session: Session, disputes: Sequence[Dispute] = ()) -> Would | None:
    """What settling the session would do to its rows. None: they agree, or the session is none of ours."""
    match verdict(session):
        case _ if not record.known:
            return _unmatched(record, session)
        case "paid":
            return _paid(record, session, disputes)
        case "pending":
            return _pending(record)
        case "open":
            return _open(record, session)
    return Would.RELEASE if _holds_a_place(record, session) else None


def finding(record: Record, session: Session, would: Would) -> Finding:
    """A drift in words."""
    claim, sale = record.claim, record.sale
    return Finding(
        session_id=session.id,
        checkout=sale.id if sale else None,
        redemption=claim.id if claim else None,
        code=claim.code if claim else None,
        rows=_in_words(record),
        stripe=_said(session),
        would=would,
    )


def _unmatched(record: Record, session: Session) -> Would | None:
    ids = reference(session)
    ours = record.claim or record.sale or ids["checkout"] or ids["redemption"]
    money = verdict(session) in ("paid", "pending")
    return Would.ATTENTION if ours and money and "unmatched-session" not in record.listed else None


def _paid(record: Record, session: Session, disputes: Sequence[Dispute]) -> Would | None:
    claim, sale = record.claim, record.sale
    unpaid = (claim is not None and claim.status in _UNPAID) or (sale is not None and sale.status not in _SOLD)
    paid_in = sale.session_id if sale else claim.session_id if claim else None
    if not unpaid and paid_in != session.id:
        # The sale was paid in another session before.
        return Would.ATTENTION if sale and "paid-twice" not in record.listed else None
    if session.charge and is_back(session.charge, disputes) != recorded_as_back(claim, sale):
        if is_back(session.charge, disputes):
            return Would.REFUND
        return Would.REINSTATE
    if unpaid:
        return Would.COMPLETE
    if any(one.status != "won" for one in disputes) and "dispute" not in record.listed:
        return Would.ATTENTION
    return None


def _pending(record: Record) -> Would | None:
    claim, sale = record.claim, record.sale
    if claim is None:
        return Would.PENDING if sale and sale.status is CheckoutStatus.OPEN else None
    if claim.status is RedemptionStatus.RESERVED:
        return Would.PENDING
    # Past its deadline and still under way: it keeps its place, and a person is told.
    overdue = claim.status is RedemptionStatus.PENDING and claim.expires_at <= claim.read_at
    return Would.ATTENTION if overdue else None


def _open(record: Record, session: Session) -> Would | None:
    claim = record.claim
    if claim is not None and claim.lapsed:
        return Would.RELEASE if _holds_a_place(record, session) else None
    if session.status == UNKNOWN and _holds_a_place(record, session) and "drift" not in record.listed:
        # The key of another account, or data that was deleted there: nothing is given back on that ground.
        return Would.ATTENTION
    return None


def _holds_a_place(record: Record, session: Session) -> bool:
    """Whether the row waits for the end of this very session."""
    claim, sale = record.claim, record.sale
    if claim is None:
        return sale is not None and sale.status in (CheckoutStatus.OPEN, CheckoutStatus.PENDING)
    if claim.status not in (RedemptionStatus.RESERVED, RedemptionStatus.PENDING):
        return False
    if claim.session_id is not None:
        return claim.session_id == session.id
    return claim.attempt == reference(session)["attempt"] or (claim.lapsed and claim.last_session == session.id)


def _in_words(record: Record) -> str:
    claim, sale = record.claim, record.sale
    if claim is not None:
        return _claimed(claim)
    return str(sale.status) if sale else "no such row"


def _claimed(claim: Redemption) -> str:
    if claim.lapsed:
        return "reserved, lapsed"
    overdue = claim.status is RedemptionStatus.PENDING and claim.expires_at <= claim.read_at
    if overdue:
        return "pending, overdue"
    back = claim.status is RedemptionStatus.COMPLETED and claim.refunded_at
    return "completed, money back" if back else str(claim.status)


def _said(session: Session) -> str:
    words = [session.status]
    if session.status == "complete":
        words.append(session.payment_status)
        if session.payment_status == "unpaid" and session.intent_status:
            words.append(session.intent_status)
    charge = session.charge
    if charge and charge.amount_refunded:
        words.append("refunded" if charge.amount_refunded >= charge.amount else "refunded in part")
    if charge and charge.disputed:
        words.append("disputed")
    return ", ".join(words)


_UNPAID = (RedemptionStatus.RESERVED, RedemptionStatus.PENDING, RedemptionStatus.RELEASED)
_SOLD = (CheckoutStatus.PAID, CheckoutStatus.REFUNDED)
