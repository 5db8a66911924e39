"""How money goes back: refunds, which may fail later, and disputes, which are won or lost."""

from __future__ import annotations

from datetime import timedelta

from counterfoil.simulator import objects
from counterfoil.simulator.engine import Cause, Engine
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError

#: Stripe's test cards for it (docs.stripe.com/testing, refunds): one stays pending first, one fails afterwards.
PENDING_FIRST, FAILS_LATER = "4000000000007726", "4000000000005126"
LATER = timedelta(days=5)


def install(engine: Engine) -> None:
    """What falls due of it."""
    engine.agenda.doers |= {
        "refund_succeeds": lambda refund: _refund_succeeds(engine, engine.refunds[refund]),
        "refund_fails": lambda refund: refund_fails(engine, engine.refunds[refund]),
    }


def refund(
    engine: Engine, charge: Document, amount: int, reason: str | None, metadata: Document, cause: Cause
) -> Document:
    """Take an amount off a charge, and tell it."""
    pending = charge["_card"] == PENDING_FIRST
    made = objects.refund(charge, amount, reason, metadata, engine.clock.stamp(), "pending" if pending else "succeeded")
    engine.refunds[made["id"]] = made
    charge["amount_refunded"] += amount
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    engine.happened("refund.created", made, cause)
    engine.happened("charge.refunded", charge, cause)
    if pending:
        engine.agenda.after(LATER.total_seconds(), "refund_succeeds", made["id"])
    elif charge["_card"] == FAILS_LATER:
        engine.agenda.after(LATER.total_seconds(), "refund_fails", made["id"])
    return made


def refund_fails(engine: Engine, made: Document) -> None:
    """It did not arrive after all: the money is the seller's again, and so is the sale."""
    if made["status"] == "failed":
        return
    charge = engine.charges[made["charge"]]
    charge["amount_refunded"] -= made["amount"]
    charge["refunded"] = False
    made.update(status="failed", pending_reason=None, failure_reason="expired_or_canceled_card")
    for type in ("refund.failed", "refund.updated", "charge.refund.updated"):
        engine.happened(type, made)


def close_dispute(engine: Engine, dispute: Document, status: str, cause: Cause) -> Document:
    """
    The bank has decided: ``won`` or ``lost``.

    Raises:
        ApiError: It was decided before.
    """
    if dispute["status"] in ("won", "lost"):
        raise ApiError(400, f"This dispute is already closed with the status {dispute['status']}.")
    dispute["status"] = status
    if status == "won":
        engine.happened("charge.dispute.funds_reinstated", dispute, cause)
        engine.charges[dispute["charge"]]["disputed"] = False
    engine.happened("charge.dispute.closed", dispute, cause)
    return dispute


def _refund_succeeds(engine: Engine, made: Document) -> None:
    if made["status"] != "pending":
        return
    made.update(status="succeeded", pending_reason=None)
    for type in ("refund.updated", "charge.refund.updated"):
        engine.happened(type, made)
