"""Customers, as far as Checkout makes them or is given them."""

from __future__ import annotations

from counterfoil.simulator import objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, created_in, page
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import missing


def create(account: Account, call: Call) -> Document:
    """A new customer."""
    given = {name: call.given.pop(name, None) for name in ("email", "name", "phone", "description")}
    metadata = call.given.pop("metadata", None) or {}
    call.nothing_else()
    made = account.engine.make_customer(given, metadata, Cause(call.request_id, call.key))
    return objects.shown(made)


def retrieve(account: Account, call: Call) -> Document:
    """One customer."""
    call.expand()
    call.nothing_else()
    if call.id not in account.engine.customers:
        raise missing("customer", call.id, "customer")
    return objects.shown(account.engine.customers[call.id])


def listed(account: Account, call: Call) -> Document:
    """Customers, newest first."""
    email = call.given.pop("email", None)
    created = created_in(call)
    fitting = (
        one
        for one in reversed(account.engine.customers.values())
        if email in (None, one["email"]) and created(one["created"])
    )
    return page(call, fitting, "/v1/customers")


ROUTES: Routes = [
    ("POST", "/v1/customers", create),
    ("GET", "/v1/customers", listed),
    ("GET", "/v1/customers/{id}", retrieve),
]
