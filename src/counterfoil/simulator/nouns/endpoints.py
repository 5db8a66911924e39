"""Webhook endpoints, each with its own API version and secret."""

from __future__ import annotations

from counterfoil.simulator import objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, page
from counterfoil.simulator.deliveries import Endpoint
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import missing, missing_parameter


def create(account: Account, call: Call) -> Document:
    """A new endpoint; its secret is told here and never again."""
    for name in ("url", "enabled_events"):
        if name not in call.given:
            raise missing_parameter(name)
    endpoint = Endpoint(
        id=objects.new_id("we"),
        url=call.given.pop("url"),
        secrets=[objects.new_id("whsec", 32)],
        enabled_events=list(call.given.pop("enabled_events")),
        api_version=call.given.pop("api_version", objects.API_VERSION),
        description=call.given.pop("description", None),
        metadata=call.given.pop("metadata", None) or {},
        created=account.engine.clock.stamp(),
    )
    call.nothing_else()
    account.deliveries.add_endpoint(endpoint)
    return endpoint.shown() | {"secret": endpoint.secrets[0]}


def retrieve(account: Account, call: Call) -> Document:
    """One endpoint."""
    call.nothing_else()
    return _of(account, call).shown()


def update(account: Account, call: Call) -> Document:
    """Change where it is, what it hears, and whether it hears at all."""
    endpoint = _of(account, call)
    endpoint.url = call.given.pop("url", endpoint.url)
    endpoint.enabled_events = list(call.given.pop("enabled_events", endpoint.enabled_events))
    endpoint.enabled = call.given.pop("disabled", str(not endpoint.enabled).lower()) != "true"
    call.nothing_else()
    return endpoint.shown()


def delete(account: Account, call: Call) -> Document:
    """No more: what is to be tried again is not."""
    endpoint = _of(account, call)
    del account.deliveries.endpoints[call.id]
    endpoint.enabled = False
    return {"id": endpoint.id, "object": "webhook_endpoint", "deleted": True}


def listed(account: Account, call: Call) -> Document:
    """Endpoints, newest first."""
    shown = [endpoint.shown() for endpoint in reversed(account.deliveries.endpoints.values())]
    return page(call, shown, "/v1/webhook_endpoints")


def _of(account: Account, call: Call) -> Endpoint:
    if call.id not in account.deliveries.endpoints:
        raise missing("webhook endpoint", call.id, "webhook_endpoint")
    return account.deliveries.endpoints[call.id]


ROUTES: Routes = [
    ("POST", "/v1/webhook_endpoints", create),
    ("GET", "/v1/webhook_endpoints", listed),
    ("GET", "/v1/webhook_endpoints/{id}", retrieve),
    ("POST", "/v1/webhook_endpoints/{id}", update),
    ("DELETE", "/v1/webhook_endpoints/{id}", delete),
]
