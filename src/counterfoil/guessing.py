"""
Codes that are tried on public pages: counted in the database, so that nobody finds one by trying many.

What is decided, and how it is counted, is said in ``sql/functions/try_code.sql``. Callers with a key are not counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from counterfoil import reading
from counterfoil.codes import fold
from counterfoil.mail import Draft
from counterfoil.model import Code
from counterfoil.statement import Row, Sql, Statement

#: The time over which wrong codes are counted.
WITHIN = timedelta(minutes=10)
#: Different wrong codes that one address may try within that time, unless the settings say otherwise.
WRONG_CODES_PER_ADDRESS = 30
#: Wrong codes of all addresses together within that time that are put before the seller.
WRONG_CODES_ALERT = 300


@dataclass(frozen=True)
class Limits:
    """
    How much guessing is put up with.

    Attributes:
        per_address: Different wrong codes from one address within `WITHIN`; 0 for any number.
        alert: Wrong codes of all addresses within `WITHIN` that are put before the seller; 0 never does.
        pause: For how long no code is taken on public pages then; nothing lets codes go on.
    """

    per_address: int = WRONG_CODES_PER_ADDRESS
    alert: int = WRONG_CODES_ALERT
    pause: timedelta = timedelta(0)


@dataclass(frozen=True)
class Tried:
    """
    What became of a try.

    Attributes:
        wait: How long nobody from there may try a code, right or wrong; None if this one was looked at.
        code: The code, if it may be named to whoever typed it: not if it is unknown or paused.
        reason: Why not, or why else it is of no use now, for the log: an outcome of ``consider.sql``, or ``guessing``.
        known_as: The code as it is stored, also where it may not be named.
        moment: By the database's clock.
    """

    wait: timedelta | None
    code: Code | None
    reason: str | None
    known_as: str | None
    moment: datetime


def try_code(
    *,
    code: str,
    product: str,
    digest: str,
    origin: str | None,
    limits: Limits,
    mail: Draft | None,
    lock_timeout: timedelta,
) -> Statement[Tried]:
    """
    Look at a code that was typed on the page of a product, and count it if it is wrong.

    *digest* and *origin* are keyed digests of its folded form and of the address that it came from. *mail* tells the
    seller, should this be the try that makes it a burst.

    Raises (when run):
        Busy: Others from the same address kept it waiting for too long.
    """

    def read(rows: Sequence[Row]) -> Tried:
        row = rows[0]
        return Tried(
            wait=row["wait"],
            code=reading.code(row["document"]) if row["document"] is not None else None,
            reason=row["reason"],
            known_as=row["known_as"],
            moment=reading.moment(row["moment"]),
        )

    return Statement(
        Sql(
            "SELECT t.wait, t.reason, t.known_as, t.document, t.moment FROM counterfoil.try_code("
            "code => :code::text, product => :product::text, digest => :digest::text, origin => :origin::text, "
            "most => :most::integer, alert => :alert::integer, pause => :pause::interval, within => :within::interval, "
            "mail => :mail::jsonb, lock_timeout => :lock_timeout::interval) AS t"
        ),
        {
            "code": fold(code),
            "product": product,
            "digest": digest,
            "origin": origin or "",
            "most": limits.per_address,
            "alert": limits.alert,
            "pause": limits.pause,
            "within": WITHIN,
            "mail": json.dumps(mail.as_json()) if mail else None,
            "lock_timeout": lock_timeout,
        },
        read,
        alone=True,
    )


def forget() -> Statement[None]:
    """Forget what was typed too long ago to count. Whoever types a code does so too, a few at a time."""
    return Statement(
        Sql(
            "DELETE FROM counterfoil.guess WHERE tried_at <= (SELECT counterfoil.clock()) - :within::interval "
            "RETURNING true"
        ),
        {"within": WITHIN},
        lambda _: None,
    )
