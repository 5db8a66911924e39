"""Refunds: full and partial, pending, and failing later by the card that was paid with."""

from __future__ import annotations

from counterfoil.simulator import money, money_back, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, known, listing
from counterfoil.simulator.engine import Cause, Engine
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, missing_parameter

_REASONS = ("duplicate", "fraudulent", "requested_by_customer")


def create(account: Account, call: Call) -> Document:
    """Give money back, of a payment intent or a charge; all that is left of it unless an amount is said."""
    engine = account.engine
    engine.agenda.catch_up()
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
        money_back.refund(
            engine, charge, int(amount) if amount else left, reason, metadata, Cause(call.request_id, call.key)
        )
    )


def retrieve(account: Account, call: Call) -> Document:
    """One refund."""
    call.expand()
    call.nothing_else()
    account.engine.agenda.catch_up()
    return objects.shown(known(account.engine.refunds, "refund", call.id, "refund"))


def listed(account: Account, call: Call) -> Document:
    """Refunds, newest first."""
    account.engine.agenda.catch_up()
    return listing(call, reversed(account.engine.refunds.values()), "/v1/refunds", "charge", "payment_intent")


def _charge(engine: Engine, call: Call) -> Document:
    intent_id, charge_id = call.given.pop("payment_intent", None), call.given.pop("charge", None)
    if intent_id is None and charge_id is None:
        raise missing_parameter("payment_intent")
    if charge_id is None:
        charge_id = known(engine.intents, "payment_intent", str(intent_id), "payment_intent")["latest_charge"]
        if charge_id is None or not engine.charges[charge_id]["paid"]:
            raise ApiError(400, "This PaymentIntent does not have a successful charge to refund.")
    charge = known(engine.charges, "charge", charge_id, "charge")
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
