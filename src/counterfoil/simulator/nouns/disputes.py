"""Disputes: opened by the card that was paid with, and won or lost by the evidence that is sent."""

from __future__ import annotations

from counterfoil.simulator import money_back, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, known, listing
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.objects import Document

#: Stripe's test evidence (docs.stripe.com/testing, disputes).
WINNING, LOSING = "winning_evidence", "losing_evidence"


def retrieve(account: Account, call: Call) -> Document:
    """One dispute."""
    call.expand()
    call.nothing_else()
    return objects.shown(_of(account, call))


def update(account: Account, call: Call) -> Document:
    """Send evidence: Stripe's two test texts decide it."""
    dispute = _of(account, call)
    evidence = call.given.pop("evidence", {})
    submit = call.given.pop("submit", "true")
    metadata = call.given.pop("metadata", None)
    call.nothing_else()
    if isinstance(metadata, dict):
        dispute["metadata"] |= metadata
    text = evidence.get("uncategorized_text", "") if isinstance(evidence, dict) else ""
    if text and submit == "true":
        dispute["status"] = "under_review"
        account.engine.happened("charge.dispute.updated", dispute, Cause(call.request_id, call.key))
        if text in (WINNING, LOSING):
            decided = "won" if text == WINNING else "lost"
            money_back.close_dispute(account.engine, dispute, decided, Cause(call.request_id, call.key))
    return objects.shown(dispute)


def give_up(account: Account, call: Call) -> Document:
    """Close it: lost."""
    call.nothing_else()
    return objects.shown(
        money_back.close_dispute(account.engine, _of(account, call), "lost", Cause(call.request_id, call.key))
    )


def listed(account: Account, call: Call) -> Document:
    """Disputes, newest first."""
    return listing(call, reversed(account.engine.disputes.values()), "/v1/disputes", "charge", "payment_intent")


def _of(account: Account, call: Call) -> Document:
    return known(account.engine.disputes, "dispute", call.id, "dispute")


ROUTES: Routes = [
    ("GET", "/v1/disputes", listed),
    ("GET", "/v1/disputes/{id}", retrieve),
    ("POST", "/v1/disputes/{id}", update),
    ("POST", "/v1/disputes/{id}/close", give_up),
]
