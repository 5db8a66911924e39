"""Events, whole and thin."""

from __future__ import annotations

import fnmatch
from datetime import UTC, datetime

from counterfoil.simulator import objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, listing
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import missing

#: How long an event can be read (docs.stripe.com/api/events: 30 days).
KEPT = 30 * 24 * 60 * 60


def listed(account: Account, call: Call) -> Document:
    """Events of the last 30 days, newest first."""
    types = call.given.pop("types", None) or ([call.given.pop("type")] if "type" in call.given else ["*"])
    delivered = call.given.pop("delivery_success", None)
    since = account.engine.clock.seconds() - KEPT

    # Looked at once, and only if it is asked about: a delivery that is not done makes its event one of the others.
    failed = {one.event["id"] for one in account.deliveries.log if not one.done} if delivered is not None else set()

    def fits(event: Document) -> bool:
        return (
            event["created"] >= since
            and any(fnmatch.fnmatchcase(event["type"], pattern) for pattern in types)
            and (delivered is None or (event["id"] not in failed) == (delivered == "true"))
        )

    return listing(call, filter(fits, account.engine.newest("events")), "/v1/events")


def retrieve(account: Account, call: Call) -> Document:
    """One event: the object in it is as it was then."""
    call.nothing_else()
    event = account.engine.events.get(call.id)
    if event is None or event["created"] < account.engine.clock.seconds() - KEPT:
        raise missing("event", call.id)
    return event


def retrieve_thin(account: Account, call: Call) -> Document:
    """The thin event, and which snapshot event says the same."""
    event = retrieve(account, call)
    created = datetime.fromtimestamp(event["created"], UTC).isoformat().replace("+00:00", "Z")
    return objects.thin(event, created) | {"changes": None, "snapshot_event": event["id"]}


ROUTES: Routes = [
    ("GET", "/v1/events", listed),
    ("GET", "/v1/events/{id}", retrieve),
    ("GET", "/v2/core/events/{id}", retrieve_thin),
]
