"""
Who changed what: entries that are written by the transaction that made the change, and never changed.

Triggers write those of the tables that people write to (``sql/functions/keep_change.sql``), and the functions that
decide write their own. Whoever runs a statement says for whom (``hosts``): `Actor`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from counterfoil import reading
from counterfoil.statement import Row, Sql, Statement, document


@dataclass(frozen=True)
class Actor:
    """
    Whoever does something.

    Attributes:
        kind: ``account``, ``key``, ``member`` (of an institution's pages), ``command`` (the command line), or
            ``database`` for whoever did not say.
        id: Of the account, the key or the member.
        name: As people know them.
    """

    kind: str
    name: str
    id: str | None = None

    def __str__(self) -> str:
        """As the database is told."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Entry:
    """
    One change.

    Attributes:
        action: What was changed, and how: ``code.changed``, ``cap.set``.
        subject: What it is known by: a code, a slug, an address.
        before: What was different, as it was; None where there was nothing.
        after: As it is now.
    """

    id: int
    at: datetime
    actor: Actor
    action: str
    subject: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def entries(
    *, action: str | None = None, subject: str | None = None, after: int | None = None, most: int = 100
) -> Statement[list[Entry]]:
    """Entries, newest first, that fit all that is given; those before the one of this id."""
    return Statement(
        Sql.named("audit"),
        {"action": action, "subject": subject, "after": after, "most": most},
        lambda rows: [_entry(row) for row in rows],
    )


def keep(*, action: str, subject: str, after: Mapping[str, Any] | None = None) -> Statement[None]:
    """Write down what is done in more transactions than one: before it is begun."""
    return Statement(
        Sql("SELECT counterfoil.keep_record(:action::text, :subject::text, NULL, :after::jsonb)"),
        {"action": action, "subject": subject, "after": json.dumps(after) if after is not None else None},
        lambda _: None,
    )


def _entry(row: Row) -> Entry:
    return Entry(
        id=row["id"],
        at=reading.moment(row["at"]),
        actor=Actor(row["actor_kind"], row["actor_name"], row["actor_id"]),
        action=row["action"],
        subject=row["subject"],
        before=document(row["before"]),
        after=document(row["after"]),
    )
