"""Customers, as far as Checkout makes them or is given them."""

from __future__ import annotations

from counterfoil.simulator import objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, known, listing
from counterfoil.simulator.engine import Cause
from counterfoil.simulator.objects import Document


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
    return objects.shown(known(account.engine.customers, "customer", call.id, "customer"))


def listed(account: Account, call: Call) -> Document:
    """Customers, newest first."""
    return listing(call, reversed(account.engine.customers.values()), "/v1/customers", "email")


ROUTES: Routes = [
    ("POST", "/v1/customers", create),
    ("GET", "/v1/customers", listed),
    ("GET", "/v1/customers/{id}", retrieve),
]
