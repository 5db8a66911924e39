"""
The outbox: mails that were written in the transaction of what they are about, and how far each came.

Like the verbs, each function makes one statement. What sends them is ``service/mailing.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from counterfoil import reading
from counterfoil.buyers import buyer_key
from counterfoil.statement import Row, Sql, Statement

#: How long after each failed attempt the next one is made; after the last of these, the mail is given up.
WAITS = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
    timedelta(hours=24),
)

#: How long a sender may be at an attempt before it counts as dead, and another one makes the next.
LEASE = timedelta(minutes=5)

#: Where the link goes in a mail's text.
LINK = "{link}"

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}", re.ASCII)


@dataclass(frozen=True)
class Draft:
    """
    A mail that is to be written into the outbox.

    Attributes:
        body: Plain text; `LINK` stands where the link goes.
        link: A secret: kept apart, and forgotten once the mail was sent.
    """

    kind: str
    recipient: str
    subject: str
    body: str
    link: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As the database's functions read it."""
        return {
            "kind": self.kind,
            "recipient": self.recipient,
            "subject": self.subject,
            "body": self.body,
            "link": self.link,
        }


@dataclass(frozen=True)
class Mail:
    """
    A mail of the outbox.

    Attributes:
        link: None once it was sent, given up, or over.
        next_attempt_at: None once it was sent, given up, or over.
    """

    id: int
    kind: str
    recipient: str
    subject: str
    body: str
    link: str | None
    created_at: datetime
    attempts: int
    next_attempt_at: datetime | None
    sent_at: datetime | None
    last_error: str | None

    @property
    def status(self) -> str:
        """``waiting``, ``sent`` or ``given up``."""
        if self.sent_at is not None:
            return "sent"
        return "waiting" if self.next_attempt_at is not None else "given up"

    @property
    def text(self) -> str:
        """What is sent."""
        return self.body.replace(LINK, self.link or "(the link is not shown any more)")


def check_address(text: str) -> str:
    """
    An address that mail can be sent to, without outer white space.

    Raises:
        ValueError: It is none.
    """
    kept = text.strip()
    if len(kept) > 254 or not _ADDRESS.fullmatch(kept):
        raise ValueError("write an e-mail address such as name@school.example")
    return kept


def address_key(text: str) -> str:
    """The form in which addresses are compared: without regard to case."""
    return buyer_key(check_address(text))


def mails(*, after: int | None = None, most: int = 100) -> Statement[list[Mail]]:
    """Mails, newest first, those with an id below *after*."""
    return Statement(
        Sql(
            "SELECT m.* FROM counterfoil.mail AS m WHERE (:after::bigint IS NULL OR m.id < :after::bigint) "
            "ORDER BY m.id DESC LIMIT :most::integer"
        ),
        {"after": after, "most": most},
        lambda rows: [_mail(row) for row in rows],
    )


def claim(*, most: int) -> Statement[list[Mail]]:
    """
    Take on mails that are due. What became of one is said within `LEASE` (`close`), or it is due again.

    Those that would be of no use by now, because their links are over, are given up without being sent.
    """
    return Statement(
        Sql.named("claim_mails"),
        {"most": most, "lease": LEASE},
        lambda rows: sorted((_mail(row) for row in rows), key=lambda mail: mail.id),
    )


def close(*, mail: Mail, error: str | None, for_good: bool = False) -> Statement[bool]:
    """
    What became of an attempt: sent if *error* is None. True if the mail is given up.

    That is so after the last attempt, or at once if its address is refused *for_good*. A matter ``mail-failing`` is
    then put before the seller.
    """
    last = for_good or mail.attempts > len(WAITS)
    return Statement(
        Sql(
            "SELECT counterfoil.close_mail(mail => :mail::bigint, attempt => :attempt::integer, "
            "sent => :sent::boolean, error => :error::text, wait => :wait::interval) AS given_up"
        ),
        {
            "mail": mail.id,
            "attempt": mail.attempts,
            "sent": error is None,
            "error": error,
            "wait": None if last or error is None else WAITS[mail.attempts - 1],
        },
        lambda rows: bool(rows[0]["given_up"]),
    )


def _mail(row: Row) -> Mail:
    return Mail(
        id=row["id"],
        kind=row["kind"],
        recipient=row["recipient"],
        subject=row["subject"],
        body=row["body"],
        link=row["link"],
        created_at=reading.moment(row["created_at"]),
        attempts=row["attempts"],
        next_attempt_at=reading.when(row["next_attempt_at"]),
        sent_at=reading.when(row["sent_at"]),
        last_error=row["last_error"],
    )
