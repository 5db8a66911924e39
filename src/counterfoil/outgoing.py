"""
Outgoing events: what we tell other programs of our rows, and how far each was delivered.

The events are written by the functions that make the transitions (``announce.sql``). Like the verbs, each function here
makes one statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from counterfoil import reading
from counterfoil.statement import Row, Sql, Statement, document


class EventType(StrEnum):
    """What there is to tell. The resource that an event carries is the first word of its type."""

    REDEMPTION_RESERVED = "redemption.reserved"
    REDEMPTION_PENDING = "redemption.pending"
    REDEMPTION_COMPLETED = "redemption.completed"
    REDEMPTION_OVER_CAP = "redemption.over_cap"
    REDEMPTION_RELEASED = "redemption.released"
    REDEMPTION_REFUNDED = "redemption.refunded"
    CHECKOUT_PAID = "checkout.paid"
    CHECKOUT_EXPIRED = "checkout.expired"
    CHECKOUT_FAILED = "checkout.failed"
    CHECKOUT_REFUNDED = "checkout.refunded"
    ENTITLEMENT_GRANTED = "entitlement.granted"
    ENTITLEMENT_REVOKED = "entitlement.revoked"
    ALLOCATION_THRESHOLD = "allocation.threshold"
    ALLOCATION_FULL = "allocation.full"


#: How long after each failed attempt the next one is made; after the last of these, the event is given up.
WAITS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
    timedelta(hours=24),
)

#: How long a sender may be at an attempt before it counts as dead, and another one makes the next.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True)
class Event:
    """
    What became true, and when.

    Attributes:
        seq: Its place in the log: later events have higher ones.
        data: The document of the redemption, checkout, entitlement or usage, as it was then.
    """

    seq: int
    id: str
    type: EventType
    created_at: datetime
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """Where events are sent: those of *types*, or all (None)."""

    id: int
    url: str
    types: tuple[EventType, ...] | None
    created_at: datetime


@dataclass(frozen=True)
class Delivery:
    """
    How far an event came on its way to an endpoint.

    Attributes:
        next_attempt_at: None once it was delivered, or given up.
        last_status: The HTTP status of the last attempt; None if there was no answer.
    """

    seq: int
    event: str
    type: EventType
    attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    last_attempt_at: datetime | None
    last_status: int | None
    last_error: str | None

    @property
    def status(self) -> str:
        """``waiting``, ``delivered`` or ``given_up``."""
        if self.delivered_at is not None:
            return "delivered"
        return "waiting" if self.next_attempt_at is not None else "given_up"


@dataclass(frozen=True)
class Attempt:
    """One attempt that is to be made now: which event, where to, signed with what, and the how-manieth it is."""

    event: Event
    endpoint: int
    url: str
    secret: str
    number: int


def events(
    *, id: str | None = None, type: EventType | None = None, after: int | None = None, most: int = 100
) -> Statement[list[Event]]:
    """Events, newest first, that fit all that is given; those before the one of this *seq*."""
    return Statement(
        Sql.named("events"),
        {"id": id, "type": str(type) if type else None, "after": after, "most": most},
        lambda rows: [_event(row) for row in rows],
    )


def resend(*, event: Event, endpoint: int | None) -> Statement[int]:
    """
    Let an event be delivered again: to one endpoint, or to all that want its type. To how many.

    Its attempts are counted from the first, also where it was given up.
    """
    return Statement(Sql.named("resend"), {"seq": event.seq, "endpoint": endpoint}, len)


def forget_old(*, kept: timedelta, most: int = 500) -> Statement[bool]:
    """
    Delete the oldest events, if they are older than *kept*, and what is known of their deliveries. Whether there may be
    more.

    One that is still on its way to somebody stays until it has arrived, or was given up.
    """
    return Statement(
        Sql.named("forget_old_events"),
        {"kept": kept, "most": most},
        lambda rows: rows[0]["number"] == most,
    )


def endpoint_id(text: str) -> int | None:
    """An endpoint's id out of what a caller gave, or None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def add_endpoint(*, url: str, types: Sequence[EventType] | None, secret: str) -> Statement[Endpoint]:
    """A new endpoint. What happens from now on is sent to it."""
    return Statement(
        Sql(
            "INSERT INTO counterfoil.webhook_endpoint (url, types, secret, created_at) "
            "VALUES (:url::text, :types::text[], :secret::text, (SELECT counterfoil.clock())) "
            "RETURNING id, url, types, created_at"
        ),
        {"url": url, "types": [str(type) for type in types] if types is not None else None, "secret": secret},
        lambda rows: _endpoint(rows[0]),
    )


def endpoints(*, id: int | None = None, after: int | None = None, most: int = 100) -> Statement[list[Endpoint]]:
    """Endpoints that are not disabled, newest first, those with an id below *after*."""
    return Statement(
        Sql(
            "SELECT id, url, types, created_at FROM counterfoil.webhook_endpoint WHERE disabled_at IS NULL "
            "AND (:id::bigint IS NULL OR id = :id::bigint) AND (:after::bigint IS NULL OR id < :after::bigint) "
            "ORDER BY id DESC LIMIT :most::integer"
        ),
        {"id": id, "after": after, "most": most},
        lambda rows: [_endpoint(row) for row in rows],
    )


def disable_endpoint(*, id: int) -> Statement[bool]:
    """Send nothing more to an endpoint, and forget its secret. False if there is none, or it was disabled before."""
    return Statement(
        Sql(
            "WITH disabled AS (UPDATE counterfoil.webhook_endpoint SET disabled_at = (SELECT counterfoil.clock()), "
            "secret = NULL WHERE id = :id::bigint AND disabled_at IS NULL RETURNING id), "
            "dropped AS (UPDATE counterfoil.delivery SET next_attempt_at = NULL "
            "WHERE endpoint_id IN (SELECT id FROM disabled) AND next_attempt_at IS NOT NULL) "
            "SELECT id FROM disabled"
        ),
        {"id": id},
        bool,
    )


def deliveries(*, endpoint: int, after: int | None = None, most: int = 100) -> Statement[list[Delivery]]:
    """What became of the events for an endpoint, newest first; those before the event of this *seq*."""
    return Statement(
        Sql.named("deliveries"),
        {"endpoint": endpoint, "after": after, "most": most},
        lambda rows: [
            Delivery(
                seq=row["seq"],
                event=row["event"],
                type=EventType(row["type"]),
                attempts=row["attempts"],
                next_attempt_at=reading.when(row["next_attempt_at"]),
                delivered_at=reading.when(row["delivered_at"]),
                last_attempt_at=reading.when(row["last_attempt_at"]),
                last_status=row["last_status"],
                last_error=row["last_error"],
            )
            for row in rows
        ],
    )


def due() -> Statement[list[int]]:
    """The endpoints that something is due for."""
    return Statement(
        Sql(
            "SELECT w.id FROM counterfoil.webhook_endpoint AS w WHERE w.disabled_at IS NULL AND EXISTS ("
            "SELECT FROM counterfoil.delivery AS d WHERE d.endpoint_id = w.id "
            "AND d.next_attempt_at <= (SELECT counterfoil.clock()))"
        ),
        {},
        lambda rows: [row["id"] for row in rows],
    )


def claim(*, endpoint: int, most: int) -> Statement[list[Attempt]]:
    """
    Take on what is due for an endpoint: at most one event of each subject, so that they arrive in order.

    Whoever takes it on says within `LEASE` what became of it (`close`), or it is due again.
    """
    return Statement(
        Sql.named("claim_deliveries"),
        {"endpoint": endpoint, "most": most, "lease": LEASE},
        lambda rows: sorted(
            (Attempt(_event(row), endpoint, row["url"], row["secret"], row["attempts"]) for row in rows),
            key=lambda attempt: attempt.event.seq,
        ),
    )


def close(*, attempt: Attempt, status: int | None, error: str | None) -> Statement[bool]:
    """
    What became of an attempt: delivered if *error* is None. True if that was the last one, and the event is given up.

    A matter ``webhook-failing`` is then put before the seller.
    """
    return Statement(
        Sql(
            "SELECT counterfoil.close_delivery(endpoint => :endpoint::bigint, seq => :seq::bigint, "
            "attempt => :attempt::integer, delivered => :delivered::boolean, status => :status::integer, "
            "error => :error::text, wait => :wait::interval) AS given_up"
        ),
        {
            "endpoint": attempt.endpoint,
            "seq": attempt.event.seq,
            "attempt": attempt.number,
            "delivered": error is None,
            "status": status,
            "error": error,
            "wait": WAITS[attempt.number - 1] if attempt.number <= len(WAITS) else None,
        },
        lambda rows: bool(rows[0]["given_up"]),
    )


def _event(row: Row) -> Event:
    return Event(
        seq=row["seq"],
        id=row["id"],
        type=EventType(row["type"]),
        created_at=reading.moment(row["created_at"]),
        data=document(row["data"]),
    )


def _endpoint(row: Row) -> Endpoint:
    types = row["types"]
    return Endpoint(
        id=row["id"],
        url=row["url"],
        types=tuple(EventType(type) for type in types) if types is not None else None,
        created_at=reading.moment(row["created_at"]),
    )
