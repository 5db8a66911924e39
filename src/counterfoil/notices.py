"""
What institutions are told of their places: nearly full, full, filled by holds, a year that ends with places unused.

They are written by the functions that make the transitions (``notice_fullness.sql``); what they say is said here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from counterfoil import reading
from counterfoil.mail import Draft
from counterfoil.model import Usage
from counterfoil.periods import Calendar, is_key
from counterfoil.statement import Row, Sql, Statement

#: How long before the end of a year its unused places are told of.
BEFORE_THE_END = timedelta(days=30)
#: How often it is looked which years those are, by one process of many.
YEARS_EVERY = timedelta(hours=1)


class Kind(StrEnum):
    """What there is to tell an institution."""

    THRESHOLD = "threshold"
    ALERT = "alert"
    HELD = "held"
    FULL = "full"
    YEAR_END = "year_end"


@dataclass(frozen=True)
class Notice:
    """
    One notice.

    Attributes:
        usage: How full the allocation was then.
        recipients: Addresses of the institution's people who want notices.
    """

    id: int
    institution: int
    institution_name: str
    time_zone: str
    kind: Kind
    percent: int
    usage: Usage
    made_at: datetime
    recipients: tuple[str, ...]

    @property
    def headline(self) -> str:
        """It in a few words."""
        usage = self.usage
        match self.kind:
            case Kind.THRESHOLD | Kind.ALERT:
                return f"{self.percent} % of the places of {usage.code} are taken"
            case Kind.HELD:
                return f"All places of {usage.code} are taken at the moment"
            case Kind.FULL:
                return f"All places of {usage.code} are used"
            case Kind.YEAR_END:
                return (
                    f"{usage.code}: {_places(usage.remaining or 0)} not used, and {_year(usage.period)} is about to end"
                )

    @property
    def sentence(self) -> str:
        """What was so then."""
        usage = self.usage
        paying = usage.held + usage.pending
        of_all = f"{usage.completed} of {usage.cap} places for {usage.period} were used, {paying} were being paid for"
        match self.kind:
            case Kind.THRESHOLD | Kind.ALERT:
                return f"{of_all} and {usage.remaining} were free."
            case Kind.HELD:
                return f"{of_all}. If a student does not pay, the place comes back by itself."
            case Kind.FULL:
                return f"{of_all}. Nobody else can use the code until you get more places."
            case Kind.YEAR_END:
                return f"{of_all} and {usage.remaining} were free. Places do not go over into the next period."


def look() -> Statement[None]:
    """Notice what nobody is there to see: that places which were held are all paid for."""
    return Statement(Sql("SELECT counterfoil.notice_spent()"), {}, lambda _: None)


def years_are_due() -> Statement[bool]:
    """
    Whether the years' ends were not looked at for `YEARS_EVERY`; then whoever asks does it, and nobody else.

    It looks at every code, and tells of what is a month ahead: each time a mail is sent would be too often.
    """
    return Statement(
        Sql(
            "INSERT INTO counterfoil.task AS t (name, next_at) "
            "VALUES ('year-ends', counterfoil.clock() + :every::interval) ON CONFLICT (name) DO UPDATE "
            "SET next_at = excluded.next_at "
            # A time further ahead than that was written by a clock that was set back since.
            "WHERE t.next_at <= counterfoil.clock() OR t.next_at > excluded.next_at RETURNING t.name"
        ),
        {"every": YEARS_EVERY},
        bool,
    )


def look_at_year_ends() -> Statement[None]:
    """Notice the years that end soon with places unused."""
    return Statement(
        Sql("SELECT counterfoil.notice_year_ends(within => :within::interval)"),
        {"within": BEFORE_THE_END},
        lambda _: None,
    )


def notices(*, institution: int, most: int = 20) -> Statement[list[Notice]]:
    """What an institution was told, newest first."""
    return Statement(
        Sql(
            "SELECT n.*, i.name, i.time_zone, ARRAY[]::text[] AS recipients FROM counterfoil.portal_notice AS n "
            "JOIN counterfoil.institution AS i ON i.id = n.institution_id "
            "WHERE n.institution_id = :institution::bigint ORDER BY n.made_at DESC, n.id DESC LIMIT :most::integer"
        ),
        {"institution": institution, "most": most},
        lambda rows: [_notice(row) for row in rows],
    )


def unmailed(*, most: int = 20) -> Statement[list[Notice]]:
    """Notices whose mails were not written yet, with the people they are for."""
    return Statement(
        Sql(
            "SELECT n.*, i.name, i.time_zone, ARRAY(SELECT m.email FROM counterfoil.portal_member AS m "
            "WHERE m.institution_id = n.institution_id AND m.removed_at IS NULL AND m.joined_at IS NOT NULL "
            "AND m.wants_notices AND m.email IS NOT NULL ORDER BY m.id) AS recipients "
            "FROM counterfoil.portal_notice AS n JOIN counterfoil.institution AS i ON i.id = n.institution_id "
            "WHERE n.mailed_at IS NULL ORDER BY n.id LIMIT :most::integer"
        ),
        {"most": most},
        lambda rows: [_notice(row) for row in rows],
    )


def mail(*, notice: Notice, drafts: Sequence[Draft]) -> Statement[bool]:
    """Write a notice's mails, once: False if another process did."""
    return Statement(
        Sql(
            "WITH ours AS (UPDATE counterfoil.portal_notice SET mailed_at = (SELECT counterfoil.clock()) "
            "WHERE id = :id::bigint AND mailed_at IS NULL RETURNING id, mailed_at), "
            "written AS (SELECT counterfoil.write_mail(one.mail, NULL, ours.mailed_at) "
            "FROM ours, jsonb_array_elements(:mails::jsonb) AS one (mail)) "
            "SELECT (SELECT count(*) FROM written) AS written, ours.id FROM ours"
        ),
        {"id": notice.id, "mails": json.dumps([draft.as_json() for draft in drafts])},
        bool,
    )


def _year(period: str) -> str:
    return (
        "the year" if any(is_key(one, period) for one in (Calendar.ACADEMIC_YEAR, Calendar.CALENDAR_YEAR)) else period
    )


def _places(number: int) -> str:
    return f"{number} place" if number == 1 else f"{number} places"


def _notice(row: Row) -> Notice:
    return Notice(
        id=row["id"],
        institution=row["institution_id"],
        institution_name=row["name"],
        time_zone=row["time_zone"],
        kind=Kind(row["kind"]),
        percent=row["percent"],
        usage=reading.usage(row["usage"]),
        made_at=reading.moment(row["made_at"]),
        recipients=tuple(row["recipients"]),
    )
