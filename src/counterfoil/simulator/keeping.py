"""A simulator that is remembered: its whole state in one file, written anew whenever it has changed."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.simulator.account import Account
from counterfoil.simulator.deliveries import Delivery, Endpoint
from counterfoil.simulator.idempotency import Stored

#: Of this program; a file of another is not read.
VERSION = 1

_STORES = (
    "sessions", "intents", "charges", "refunds", "disputes", "coupons", "promotion_codes", "customers", "events",
)  # fmt: skip


class StateUnreadable(Exception):
    """The file is not a simulator's, or of another version: the message says what to do."""


def save(account: Account, file: Path) -> None:
    """Write it all: under another name first, so that the file is always whole."""
    engine, deliveries = account.engine, account.deliveries
    state = {
        "version": VERSION,
        "ahead": engine.clock.ahead.total_seconds(),
        **{name: getattr(engine, name) for name in _STORES},
        "agenda": engine.agenda.saved(),
        "endpoints": [asdict(endpoint) for endpoint in deliveries.endpoints.values()],
        "deliveries": [
            {"id": one.id, "event": one.event["id"], "endpoint": one.endpoint.id, "attempts": one.attempts}
            for one in deliveries.log
        ],
        "keys": {
            key: {**asdict(stored), "body": b64encode(stored.body).decode()}
            for key, stored in account.keys.stored.items()
            if stored.status is not None
        },
    }
    half = file.with_name(f".{file.name}.half")
    with half.open("w", encoding="utf-8") as out:
        json.dump(state, out, ensure_ascii=False)
        out.flush()
        os.fsync(out.fileno())
    half.replace(file)


def read(file: Path) -> dict[str, Any] | None:
    """
    What was saved; None where there is no file yet.

    Raises:
        StateUnreadable: It is no state of this program.
    """
    if not file.exists():
        return None
    try:
        state: dict[str, Any] = json.loads(file.read_text("utf-8"))
        if state["version"] != VERSION:
            raise ValueError(f"version {state['version']}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StateUnreadable(
            f"{file} is no state of this simulator ({error}): give another file, or remove it to begin anew"
        ) from error
    return state


def restore(account: Account, state: dict[str, Any]) -> None:
    """Go on where it was left."""
    engine, deliveries = account.engine, account.deliveries
    engine.clock.ahead = max(engine.clock.ahead, timedelta(seconds=state["ahead"]))
    for name in _STORES:
        getattr(engine, name).update(state[name])
    endpoints = {one["id"]: Endpoint(**one) for one in state["endpoints"]}
    deliveries.endpoints.update(endpoints)
    for one in state["deliveries"]:
        if one["endpoint"] in endpoints:
            deliveries.remember(
                Delivery(engine.events[one["event"]], endpoints[one["endpoint"]], one["attempts"], one["id"])
            )
    engine.agenda.restore(state["agenda"])
    for key, stored in state["keys"].items():
        account.keys.stored[key] = Stored(**{**stored, "body": b64decode(stored["body"])})
