"""Our side of a comparison with Stripe: the rows of a session, and the sessions that are to be looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from counterfoil import reading
from counterfoil.asking import reference
from counterfoil.model import Checkout, Redemption, Session
from counterfoil.statement import Row, Sql, Statement

#: How long before the days that are compared a settled row may have begun, to be among those that are looked at.
SEASON = timedelta(days=90)


@dataclass(frozen=True)
class Record:
    """
    What our rows say of one session.

    Attributes:
        known: The session may move these rows: they have it, had it, or asked for it.
        listed: The kinds of matters about it that are before the seller, or were.
    """

    claim: Redemption | None
    sale: Checkout | None
    known: bool
    listed: frozenset[str]


@dataclass(frozen=True)
class Older:
    """A row that began before the days that are listed, and all sessions that it has or had."""

    id: UUID
    sessions: tuple[str, ...]


def now() -> Statement[datetime]:
    """The database's clock."""
    return Statement(Sql("SELECT counterfoil.clock() AS now"), {}, lambda rows: reading.moment(rows[0]["now"]))


def records_of(*, sessions: Sequence[Session]) -> Statement[dict[str, Record]]:
    """The rows of these sessions, by session id, found by the very function that settling finds them by."""

    def read(rows: Sequence[Row]) -> dict[str, Record]:
        return {row["session_id"]: _record(row) for row in rows}

    asked = [
        {
            "session_id": one.id,
            "recovered_from": one.recovered_from,
            "payment_intent": one.payment_intent,
            **{name: str(id) if isinstance(id, UUID) else id for name, id in reference(one).items()},
        }
        for one in sessions
    ]
    return Statement(Sql.named("records_of"), {"sessions": json.dumps(asked)}, read)


def older_records(*, since: datetime, after: UUID | None, most: int) -> Statement[list[Older]]:
    """
    Rows that began before *since*, after the one with this id: unsettled ones whose time is over, however old, and
    those that were settled since then.
    """
    return Statement(
        Sql.named("older_records"),
        {"since": since, "season": SEASON, "after": after, "most": most},
        lambda rows: [Older(row["id"], tuple(row["sessions"])) for row in rows],
    )


def _record(row: Row) -> Record:
    claim = reading.redemption(row["claim"]) if row["claim"] is not None else None
    sale = reading.checkout(row["sale"], claim) if row["sale"] is not None else None
    return Record(claim, sale, row["known"], frozenset(row["listed"]))
