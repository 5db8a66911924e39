"""Checkout Sessions."""

from __future__ import annotations

from counterfoil.simulator import creating, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, listing, page
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import unknown_parameter

#: What a session that exists lets itself be changed: its times, prices and addresses it does not.
_CHANGEABLE = frozenset({"metadata"})


def create(account: Account, call: Call) -> Document:
    """A new session."""
    expand = call.expand()
    return shown(account, account.engine.create_session(call.given), expand)


def retrieve(account: Account, call: Call) -> Document:
    """One session, as it is now."""
    expand = call.expand()
    call.nothing_else()
    return shown(account, account.engine.session(call.id), expand)


def update(account: Account, call: Call) -> Document:
    """Change what can be changed; an empty value takes a key of the metadata away."""
    expand = call.expand()
    for name in call.given.keys() - _CHANGEABLE:
        raise unknown_parameter(name)
    session = account.engine.session(call.id)
    given = call.given.get("metadata")
    creating.check_metadata("metadata", given)
    if given == "":
        session["metadata"] = {}
    elif isinstance(given, dict):
        merged = {**session["metadata"], **given}
        session["metadata"] = {key: value for key, value in merged.items() if value != ""}
    return shown(account, session, expand)


def expire(account: Account, call: Call) -> Document:
    """End an open session."""
    expand = call.expand()
    call.nothing_else()
    return shown(account, account.engine.expire_session(call.id, Cause(call.request_id, call.key)), expand)


def line_items(account: Account, call: Call) -> Document:
    """What is bought in it."""
    items = account.engine.session(call.id)["_line_items"]
    return page(call, items, f"/v1/checkout/sessions/{call.id}/line_items")


def listed(account: Account, call: Call) -> Document:
    """Sessions, newest first, by any of the documented filters."""
    inner = [name.removeprefix("data.") for name in call.expand()]
    email = call.given.pop("customer_details", {}).get("email")
    fitting = (
        session
        for session in account.engine.newest("sessions")
        if email is None or (session["customer_details"] or {}).get("email") == email
    )
    return listing(
        call, fitting, "/v1/checkout/sessions",
        "status", "payment_intent", "customer", "customer_account", "subscription", "payment_link",
        show=lambda session: shown(account, session, inner),
    )  # fmt: skip


def shown(account: Account, session: Document, expand: list[str]) -> Document:
    """A session as it leaves, with what is to be expanded in it."""
    document = objects.shown(session)
    engine = account.engine
    if "line_items" in expand:
        document["line_items"] = {
            "object": "list",
            "data": [objects.shown(item) for item in session["_line_items"]],
            "has_more": False,
            "url": f"/v1/checkout/sessions/{session['id']}/line_items",
        }
    if "total_details.breakdown" in expand:
        document["total_details"] = session["total_details"] | {"breakdown": {"discounts": [], "taxes": []}}
    if "customer" in expand and session["customer"]:
        document["customer"] = objects.shown(engine.customers[session["customer"]])
    intent = engine.intents.get(session["payment_intent"] or "")
    if intent and any(name.split(".")[0] == "payment_intent" for name in expand):
        document["payment_intent"] = objects.shown(intent)
        if "payment_intent.latest_charge" in expand and intent["latest_charge"]:
            document["payment_intent"]["latest_charge"] = objects.shown(engine.charges[intent["latest_charge"]])
    return document


ROUTES: Routes = [
    ("POST", "/v1/checkout/sessions", create),
    ("GET", "/v1/checkout/sessions", listed),
    ("GET", "/v1/checkout/sessions/{id}", retrieve),
    ("POST", "/v1/checkout/sessions/{id}", update),
    ("POST", "/v1/checkout/sessions/{id}/expire", expire),
    ("GET", "/v1/checkout/sessions/{id}/line_items", line_items),
]
