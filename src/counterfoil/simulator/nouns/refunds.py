"""Refunds: full and partial, pending, and failing later by the card that was paid with."""

from __future__ import annotations

from datetime import timedelta

from counterfoil.simulator import money, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, created_in, page
from counterfoil.simulator.engine import Cause, Engine
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, missing, missing_parameter

#: Stripe's test cards for it (docs.stripe.com/testing, refunds): one stays pending first, one fails afterwards.
PENDING_FIRST, FAILS_LATER = "4000000000007726", "4000000000005126"
LATER = timedelta(days=5)

_REASONS = ("duplicate", "fraudulent", "requested_by_customer")


def create(account: Account, call: Call) -> Document:
    """Give money back, of a payment intent or a charge; all that is left of it unless an amount is said."""
    engine = account.engine
    engine.catch_up()
    charge = _charge(engine, call)
    amount = call.given.pop("amount", None)
    reason = call.given.pop("reason", None)
    metadata = call.given.pop("metadata", None) or {}
    call.nothing_else()
    if reason is not None and reason not in _REASONS:
        raise ApiError(400, f"Invalid reason: must be one of {', '.join(_REASONS)}", param="reason")
    left = charge["amount"] - charge["amount_refunded"]
    if left == 0:
        raise ApiError(400, f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded")
    if amount is not None and not (amount.isdigit() and int(amount) > 0):
        raise ApiError(400, f"Invalid positive integer: {amount}", code="parameter_invalid_integer", param="amount")
    if amount is not None and int(amount) > left:
        asked, rest = (money.written(value, charge["currency"]) for value in (int(amount), left))
        raise ApiError(
            400, f"Refund amount ({asked}) is greater than unrefunded amount on charge ({rest})", param="amount"
        )
    return objects.shown(
        refund(engine, charge, int(amount) if amount else left, reason, metadata, Cause(call.request_id, call.key))
    )


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
        engine.at(engine.clock.seconds() + LATER.total_seconds(), lambda: _succeed(engine, made))
    elif charge["_card"] == FAILS_LATER:
        engine.at(engine.clock.seconds() + LATER.total_seconds(), lambda: fail(engine, made))
    return made


def fail(engine: Engine, made: Document) -> None:
    """It did not arrive after all: the money is the seller's again, and so is the sale."""
    if made["status"] == "failed":
        return
    charge = engine.charges[made["charge"]]
    charge["amount_refunded"] -= made["amount"]
    charge["refunded"] = False
    made.update(status="failed", failure_reason="expired_or_canceled_card")
    for type in ("refund.failed", "refund.updated", "charge.refund.updated"):
        engine.happened(type, made)


def _succeed(engine: Engine, made: Document) -> None:
    made["status"] = "succeeded"
    for type in ("refund.updated", "charge.refund.updated"):
        engine.happened(type, made)


def retrieve(account: Account, call: Call) -> Document:
    """One refund."""
    call.expand()
    call.nothing_else()
    account.engine.catch_up()
    if call.id not in account.engine.refunds:
        raise missing("refund", call.id, "refund")
    return objects.shown(account.engine.refunds[call.id])


def listed(account: Account, call: Call) -> Document:
    """Refunds, newest first."""
    wanted = {name: call.given.pop(name) for name in ("charge", "payment_intent") if name in call.given}
    created = created_in(call)
    account.engine.catch_up()
    fitting = (
        one
        for one in reversed(account.engine.refunds.values())
        if all(one[name] == value for name, value in wanted.items()) and created(one["created"])
    )
    return page(call, fitting, "/v1/refunds")


def _charge(engine: Engine, call: Call) -> Document:
    intent_id, charge_id = call.given.pop("payment_intent", None), call.given.pop("charge", None)
    if intent_id is None and charge_id is None:
        raise missing_parameter("payment_intent")
    if charge_id is None:
        if intent_id not in engine.intents:
            raise missing("payment_intent", str(intent_id), "payment_intent")
        charge_id = engine.intents[str(intent_id)]["latest_charge"]
        if charge_id is None or not engine.charges[charge_id]["paid"]:
            raise ApiError(400, "This PaymentIntent does not have a successful charge to refund.")
    if charge_id not in engine.charges:
        raise missing("charge", charge_id, "charge")
    charge = engine.charges[charge_id]
    if not charge["paid"]:
        raise ApiError(400, f"Charge {charge_id} was not successful and cannot be refunded.")
    if charge["disputed"]:
        raise ApiError(400, f"Charge {charge_id} has been charged back; cannot issue a refund.", code="charge_disputed")
    return charge


ROUTES: Routes = [
    ("POST", "/v1/refunds", create),
    ("GET", "/v1/refunds", listed),
    ("GET", "/v1/refunds/{id}", retrieve),
]
