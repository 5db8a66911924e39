"""Payment intents and charges: made by a session when it is paid, and only read here."""

from __future__ import annotations

from counterfoil.simulator import objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, known, listing
from counterfoil.simulator.objects import Document


def retrieve_intent(account: Account, call: Call) -> Document:
    """One payment intent."""
    expand = call.expand()
    call.nothing_else()
    found = objects.shown(known(account.engine.intents, "payment_intent", call.id, "intent"))
    if "latest_charge" in expand and found["latest_charge"]:
        found["latest_charge"] = objects.shown(account.engine.charges[found["latest_charge"]])
    return found


def list_intents(account: Account, call: Call) -> Document:
    """Payment intents, newest first."""
    return listing(call, reversed(account.engine.intents.values()), "/v1/payment_intents", "customer")


def retrieve_charge(account: Account, call: Call) -> Document:
    """One charge."""
    expand = call.expand()
    call.nothing_else()
    found = objects.shown(known(account.engine.charges, "charge", call.id, "charge"))
    if "refunds" in expand:
        own = [one for one in reversed(account.engine.refunds.values()) if one["charge"] == call.id]
        found["refunds"] = {
            "object": "list",
            "data": [objects.shown(one) for one in own],
            "has_more": False,
            "url": f"/v1/charges/{call.id}/refunds",
        }
    return found


def list_charges(account: Account, call: Call) -> Document:
    """Charges, newest first."""
    return listing(call, reversed(account.engine.charges.values()), "/v1/charges", "payment_intent")


ROUTES: Routes = [
    ("GET", "/v1/payment_intents", list_intents),
    ("GET", "/v1/payment_intents/{id}", retrieve_intent),
    ("GET", "/v1/charges", list_charges),
    ("GET", "/v1/charges/{id}", retrieve_charge),
]
