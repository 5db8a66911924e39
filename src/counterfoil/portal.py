"""
Who may open an institution's own page, and what it shows.

Like the verbs, each function makes one statement. Every one that reads or changes something of an institution is given
its id, which comes from the session and from nowhere else: so an institution never sees another's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from counterfoil import reading
from counterfoil.codes import fold
from counterfoil.mail import Draft, address_key
from counterfoil.model import Code, Institution, Usage
from counterfoil.statement import Row, Sql, Statement, document
from counterfoil.tokens import digest

#: How long the links are good, and a session that is not used.
INVITATION = timedelta(days=7)
SIGN_IN = timedelta(minutes=15)
IDLE = timedelta(days=30)
#: People of one institution.
MOST_PEOPLE = 20
#: Sign-in mails for one member within the life of a link.
MOST_SIGN_INS = 3
#: Mails within a day to one address that did not ask for them: from one institution, and from all of them.
MOST_MAILS_HERE, MOST_MAILS = 5, 10
#: Seen so long ago, it is written down that a session is still used.
_SEEN = timedelta(hours=1)


@dataclass(frozen=True)
class Member:
    """
    A person of an institution.

    Attributes:
        email: None for whoever was given a link by hand, and gave no address yet.
        joined_at: None while only invited.
        link: The invitation that is still good, if there is one.
        links: All links that are still good: invitations, and those that sign in.
        claimed: The address that they say is theirs, while the link that proves it is good.
    """

    id: int
    email: str | None
    name: str
    wants_notices: bool
    invited_at: datetime
    joined_at: datetime | None
    last_seen_at: datetime | None
    link: int | None
    link_ends_at: datetime | None
    links: tuple[Link, ...]
    claimed: str | None


@dataclass(frozen=True)
class Link:
    """A link that opens the page still. *kind*: ``invitation`` or ``sign_in``."""

    id: int
    kind: str
    ends_at: datetime


@dataclass(frozen=True)
class Visit:
    """A browser that is signed in: whose, and of which institution."""

    session: int
    member: int
    email: str | None
    name: str
    wants_notices: bool
    institution: Institution
    alert_on: bool
    alert_percent: int
    shows_buyers: bool
    stale: bool


@dataclass(frozen=True)
class Made:
    """What came of making a link: its outcome, and its id and its end if it was made."""

    outcome: str
    link: int | None
    member: int | None
    ends_at: datetime | None


@dataclass(frozen=True)
class Places:
    """
    A code as its institution sees it, in one period.

    Attributes:
        last_release_at: When the last of the holds of now is over; None if there is none.
        request: The latest wish for more places: ``more``, ``cap``, ``asked_at``, ``seen_at``.
    """

    code: Code
    usage: Usage
    last_release_at: datetime | None
    request: Mapping[str, Any] | None


@dataclass(frozen=True)
class Line:
    """A redemption as its institution may see it. *buyer* only where the seller allowed it."""

    code: str
    period: str
    status: str
    reserved_on: date
    completed_on: date | None
    product: str | None
    buyer: str | None
    after: tuple[datetime, UUID]


def invite(
    *,
    institution: int,
    token: str,
    email: str | None = None,
    name: str = "",
    mail: Draft | None = None,
    by_colleague: bool = False,
) -> Statement[Made]:
    """
    Invite somebody to an institution's page, for `INVITATION`. Outcome: made, member, too_many, too_often.

    Without *email*, it is whoever is given the link.
    """
    return Statement(
        Sql(
            "SELECT outcome, (link).id, (link).member_id, (link).ends_at FROM counterfoil.portal_invite("
            "institution => :institution::bigint, email => :email::text, email_key => :email_key::text, "
            "name => :name::text, by_colleague => :by_colleague::boolean, token_hash => :token_hash::bytea, "
            "good_for => :good_for::interval, mail => :mail::jsonb, most => :most::integer, "
            "most_here => :most_here::integer, most_anywhere => :most_anywhere::integer)"
        ),
        {
            "institution": institution,
            "email": email,
            "email_key": address_key(email) if email is not None else None,
            "name": name,
            "by_colleague": by_colleague,
            "token_hash": digest(token),
            "good_for": INVITATION,
            "mail": json.dumps(mail.as_json()) if mail else None,
            "most": MOST_PEOPLE,
            "most_here": MOST_MAILS_HERE,
            "most_anywhere": MOST_MAILS,
        },
        _made,
    )


def members_of(*, email: str) -> Statement[list[tuple[int, str, str]]]:
    """
    The members with this address who are in, or whose invitation is good: id, address as it was given, name of the
    institution. Whose invitation was called off, or is over, gets in by no other link.
    """
    return Statement(
        Sql(
            "SELECT m.id, m.email, i.name FROM counterfoil.portal_member AS m "
            "JOIN counterfoil.institution AS i ON i.id = m.institution_id "
            "WHERE m.email_key = :email_key::text AND m.removed_at IS NULL AND (m.joined_at IS NOT NULL OR EXISTS ("
            "SELECT FROM counterfoil.portal_link AS l WHERE l.member_id = m.id AND l.kind = 'invitation' "
            "AND l.redeemed_at IS NULL AND l.revoked_at IS NULL AND l.ends_at > counterfoil.clock())) ORDER BY m.id"
        ),
        {"email_key": address_key(email)},
        lambda rows: [(row["id"], row["email"], row["name"]) for row in rows],
    )


def sign_in_link(*, member: int, token: str, mail: Draft) -> Statement[Made]:
    """A link that signs a member in, good for `SIGN_IN`, and its mail. Outcome: made, too_often, gone."""
    return Statement(
        Sql(
            "SELECT outcome, (link).id, (link).member_id, (link).ends_at FROM counterfoil.portal_link_for("
            "member => :member::bigint, kind => 'sign_in', token_hash => :token_hash::bytea, "
            "good_for => :good_for::interval, mail => :mail::jsonb, most => :most::integer, "
            "within => :good_for::interval)"
        ),
        {
            "member": member,
            "token_hash": digest(token),
            "good_for": SIGN_IN,
            "mail": json.dumps(mail.as_json()),
            "most": MOST_SIGN_INS,
        },
        _made,
    )


def link_state(*, token: str) -> Statement[str]:
    """What a link is good for now: good, used, over, revoked, unknown. Looking changes nothing."""
    return Statement(
        Sql("SELECT counterfoil.portal_link_state(:token_hash::bytea) AS state"),
        {"token_hash": digest(token)},
        lambda rows: str(rows[0]["state"]),
    )


def redeem(*, token: str, session: str) -> Statement[str]:
    """Open the page with a link, once, for the browser that gets *session*. Outcome: opened, or the link's state."""
    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.portal_redeem(token_hash => :token_hash::bytea, "
            "session_hash => :session_hash::bytea)"
        ),
        {"token_hash": digest(token), "session_hash": digest(session)},
        lambda rows: str(rows[0]["outcome"]),
    )


def revoke_link(*, institution: int | None, link: int, member: int | None = None) -> Statement[bool]:
    """
    Let an unused link open nothing any more, of an institution or of any (None), of a member or of any (None). False if
    there is none.
    """
    return Statement(
        Sql(
            "SELECT counterfoil.portal_call_off(institution => :institution::bigint, member => :member::bigint, "
            "link => :link::bigint) AS called_off"
        ),
        {"institution": institution, "member": member, "link": link},
        lambda rows: bool(rows[0]["called_off"]),
    )


def visit(*, session: str) -> Statement[Visit | None]:
    """Whose browser this is, unless it was signed out, not used for `IDLE`, or its member removed."""
    return Statement(
        Sql(
            "SELECT s.id AS session, m.id AS member, m.email, m.name, m.wants_notices, to_jsonb(i) AS institution, "
            "i.alert_on, i.alert_percent, i.shows_buyers, s.last_seen_at < now.moment - :seen::interval AS stale "
            "FROM (SELECT counterfoil.clock() AS moment OFFSET 0) AS now, counterfoil.portal_session AS s "
            "JOIN counterfoil.portal_member AS m ON m.id = s.member_id "
            "JOIN counterfoil.institution AS i ON i.id = m.institution_id "
            "WHERE s.token_hash = :token_hash::bytea AND s.ended_at IS NULL AND m.removed_at IS NULL "
            "AND s.last_seen_at > now.moment - :idle::interval"
        ),
        {"token_hash": digest(session), "idle": IDLE, "seen": _SEEN},
        lambda rows: _visit(rows[0]) if rows else None,
    )


def seen(*, session: int) -> Statement[None]:
    """A session is still used."""
    return Statement(
        Sql(
            "UPDATE counterfoil.portal_session SET last_seen_at = (SELECT counterfoil.clock()) "
            "WHERE id = :session::bigint AND ended_at IS NULL RETURNING id"
        ),
        {"session": session},
        lambda _: None,
    )


def sign_out(*, institution: int, member: int, session: int | None = None) -> Statement[bool]:
    """
    End a member's session; or all of them, and their sign-in links that are out (None). False if there is no such
    member of this institution.
    """
    return Statement(
        Sql(
            "SELECT counterfoil.portal_sign_out(institution => :institution::bigint, member => :member::bigint, "
            "session => :session::bigint) AS signed_out"
        ),
        {"institution": institution, "member": member, "session": session},
        lambda rows: bool(rows[0]["signed_out"]),
    )


def people(*, institution: int) -> Statement[list[Member]]:
    """Who belongs to an institution's page, and who is invited."""
    return Statement(
        Sql.named("portal_people"), {"institution": institution}, lambda rows: [_member(row) for row in rows]
    )


def remove(*, institution: int, member: int) -> Statement[bool]:
    """Take a member out: their sessions and links are over at once. False if there is none of this institution."""
    return Statement(
        Sql(
            "SELECT counterfoil.portal_remove(institution => :institution::bigint, member => :member::bigint) "
            "AS removed"
        ),
        {"institution": institution, "member": member},
        lambda rows: bool(rows[0]["removed"]),
    )


def describe(*, visit: Visit, name: str) -> Statement[None]:
    """A member says what they are called."""
    return Statement(
        Sql(
            "UPDATE counterfoil.portal_member SET name = :name::text "
            "WHERE id = :member::bigint AND removed_at IS NULL RETURNING id"
        ),
        {"member": visit.member, "name": name},
        lambda _: None,
    )


def set_alert(
    *, visit: Visit, on: bool, percent: int, mail: bool, was: tuple[bool, int] | None = None
) -> Statement[bool]:
    """
    The institution's own alert, for all its people; and whether this member wants notices by mail.

    *was*: the alert that this member saw. False: a colleague set another meanwhile, which stays.
    """
    return Statement(
        Sql(
            "WITH own AS (UPDATE counterfoil.portal_member SET wants_notices = :mail::boolean "
            "WHERE id = :member::bigint) UPDATE counterfoil.institution SET alert_on = :on::boolean, "
            "alert_percent = :percent::integer WHERE id = :institution::bigint AND (NOT :seen::boolean "
            "OR (alert_on, alert_percent) = (:was_on::boolean, :was_percent::integer)) RETURNING id"
        ),
        {
            "on": on,
            "percent": percent,
            "mail": mail,
            "member": visit.member,
            "institution": visit.institution.id,
            "seen": was is not None,
            "was_on": was[0] if was else None,
            "was_percent": was[1] if was else None,
        },
        bool,
    )


def show_buyers(*, institution: int, on: bool) -> Statement[None]:
    """Whether the institution's table names buyers: for the seller alone to say."""
    return Statement(
        Sql(
            "UPDATE counterfoil.institution SET shows_buyers = :on::boolean WHERE id = :institution::bigint "
            "RETURNING id"
        ),
        {"institution": institution, "on": on},
        lambda _: None,
    )


def shows_buyers(*, institution: int) -> Statement[bool]:
    """Whether the institution's table names buyers."""
    return Statement(
        Sql("SELECT shows_buyers FROM counterfoil.institution WHERE id = :institution::bigint"),
        {"institution": institution},
        lambda rows: bool(rows and rows[0]["shows_buyers"]),
    )


def places(
    *, institution: int, code: str | None = None, period: str | None = None, after: int | None = None, most: int = 20
) -> Statement[list[Places]]:
    """An institution's codes, newest first, each in the period that is now, or in *period*."""
    return Statement(
        Sql.named("portal_codes"),
        {
            "institution": institution,
            "code": fold(code) if code is not None else None,
            "period": period,
            "after": after,
            "most": most,
        },
        lambda rows: [_places(row) for row in rows],
    )


def lines(
    *, institution: int, code: str, period: str | None, after: tuple[datetime, UUID] | None = None, most: int = 500
) -> Statement[list[Line]]:
    """What became of a code's places, newest first, as its institution may see it."""
    return Statement(
        Sql.named("portal_redemptions"),
        {
            "institution": institution,
            "code": fold(code),
            "period": period,
            "after_at": after[0] if after else None,
            "after_id": after[1] if after else None,
            "most": most,
        },
        lambda rows: [
            Line(
                row["code"], row["period"], row["status"], row["reserved_on"], row["completed_on"], row["product"],
                row["buyer"], (reading.moment(row["reserved_at"]), row["id"]),
            )
            for row in rows
        ],
    )  # fmt: skip


def ask_for_places(*, visit: Visit, code: str, more: int, reason: str, mail: Draft | None) -> Statement[str]:
    """Ask the seller for more places of a code's current period. Outcome: asked, no_cap, not_found."""
    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.ask_for_places(institution => :institution::bigint, code => :code::text, "
            "member => :member::bigint, more => :more::bigint, reason => :reason::text, mail => :mail::jsonb)"
        ),
        {
            "institution": visit.institution.id,
            "code": fold(code),
            "member": visit.member,
            "more": more,
            "reason": reason,
            "mail": json.dumps(mail.as_json()) if mail else None,
        },
        lambda rows: str(rows[0]["outcome"]),
    )


def _made(rows: Sequence[Row]) -> Made:
    row = rows[0]
    return Made(row["outcome"], row["id"], row["member_id"], reading.when(row["ends_at"]))


def _visit(row: Row) -> Visit:
    return Visit(
        session=row["session"],
        member=row["member"],
        email=row["email"],
        name=row["name"],
        wants_notices=row["wants_notices"],
        institution=reading.institution(row["institution"]),
        alert_on=row["alert_on"],
        alert_percent=row["alert_percent"],
        shows_buyers=row["shows_buyers"],
        stale=row["stale"],
    )


def _member(row: Row) -> Member:
    return Member(
        id=row["id"],
        email=row["email"],
        name=row["name"],
        wants_notices=row["wants_notices"],
        invited_at=reading.moment(row["invited_at"]),
        joined_at=reading.when(row["joined_at"]),
        last_seen_at=reading.when(row["last_seen_at"]),
        link=row["link"],
        link_ends_at=reading.when(row["link_ends_at"]),
        links=tuple(Link(one["id"], one["kind"], reading.moment(one["ends_at"])) for one in document(row["links"])),
        claimed=row["claimed"],
    )


def _places(row: Row) -> Places:
    code = reading.code(row["code"])
    usage = reading.usage({**row, "code": code.code})
    request = document(row["request"])
    return Places(
        code=code,
        usage=usage,
        last_release_at=reading.when(row["last_release_at"]),
        request=request
        and {
            **request,
            "asked_at": reading.moment(request["asked_at"]),
            "seen_at": reading.when(request["seen_at"]),
        },
    )
