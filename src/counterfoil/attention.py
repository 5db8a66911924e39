"""
What a person must look at: each matter with a sentence that says what happened, and what to do about it.

Whoever notices something raises it by its kind (`verbs.raise_attention`); what a kind means is said here once, for the
API, the command line and the page. A kind that is not in the table is shown all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from counterfoil import reading
from counterfoil.pricing import decimals
from counterfoil.statement import Row, Sql, Statement, document


@dataclass(frozen=True)
class Kind:
    """What a kind of matter means. The fields in braces are those of its detail, and its subject."""

    sentence: str
    mend: str


KINDS: dict[str, Kind] = {
    "over-cap": Kind(
        "A payment arrived after its place was given away, and was honoured: {used} places of {period} are in use, "
        "and the cap is {cap}.",
        "Nothing must be done: nobody new gets in for it. Raise the cap with `counterfoil cap set`, or refund "
        "redemption {subject} at Stripe.",
    ),
    "unmatched-session": Kind(
        "Session {subject} is {verdict} with {amount}, and belongs to no checkout of ours; nothing was sold for it.",
        "Find payment {payment_intent} in Stripe's dashboard: refund it, or hand over by hand what was bought.",
    ),
    "amount-differs": Kind(
        "Checkout {subject} asked for {asked}, and {paid} was paid in session {session}. The sale stands.",
        "Look at the session in Stripe's dashboard, for whatever changes prices there: adaptive pricing, tax, a "
        "promotion code.",
    ),
    "paid-twice": Kind(
        "Checkout {checkout} was paid in session {first_session}, and once more in session {subject}.",
        "Refund payment {payment_intent} at Stripe. That takes nothing away from the first.",
    ),
    "payment-overdue": Kind(
        "The delayed payment of redemption {subject} is past its deadline, and Stripe says that it is still under way. "
        "It keeps its place until {until}, and is asked about again then.",
        "Look at session {session} in Stripe's dashboard. If the payment will never come, cancel it there: its place "
        "is given back at once.",
    ),
    "dispute": Kind(
        "The bank of a buyer disputes payment {subject}, of checkout {checkout}: {disputes}.",
        "Answer it in Stripe's dashboard before its deadline. If it is lost, the code's refund policy decides what "
        "becomes of the place.",
    ),
    "stripe-events-unsettled": Kind(
        "Events of Stripe's are waiting to be settled for more than an hour: {number} of them, the oldest since "
        "{oldest}.",
        "See the log for why; Stripe sends each again for three days. When the cause is gone, `counterfoil replay` "
        "settles what is left.",
    ),
    "stripe-webhook-silent": Kind(
        "Events of Stripe's did not find us: {number} were found on Stripe's own list when it was looked through, and "
        "settled then.",
        "Look at the endpoint {url} in Stripe's dashboard: whether it is there, enabled, and what it is answered. "
        "`counterfoil webhook create` makes it; STRIPE_WEBHOOK_SECRET is its secret.",
    ),
    "clock-skew": Kind(
        "Stripe's clock and the database's differ by {seconds} s; {allowed} s are allowed.",
        "Set the clock of the database's machine by NTP; `counterfoil doctor` shows both. Until then payment pages "
        "may be refused, or end early.",
    ),
    "webhook-failing": Kind(
        "Our event {event} was given up after {attempts} attempts: {url} did not accept it ({status} {error}).",
        "Mend the endpoint, then send what it missed again: POST /v1/events/{event}/resend. Delete endpoint {subject} "
        "if it is gone for good.",
    ),
    "mail-failing": Kind(
        "A mail to {subject} was given up after {attempts} attempts: {error}. It was about: {about}.",
        "Check the address with whoever it belongs to, and COUNTERFOIL_SMTP_URL with `counterfoil mail test`. Then "
        "invite the person again.",
    ),
    "more-places-wanted": Kind(
        "{institution} asks for {more} more places of {code} in {period}, where the cap is {cap}. Its reason: "
        "“{reason}”.",
        "`counterfoil cap set` raises the cap, and the institution's page then says so; resolve this if it is to stay.",
    ),
    "drift": Kind(
        "Our rows and Stripe do not agree about {subject}.",
        "`counterfoil reconcile` lists what would be done, and with `--apply` does it.",
    ),
    "guessing": Kind(
        "Somebody may be guessing codes: {wrong} wrong ones were typed on the shop's pages within {minutes} minutes, "
        "from {addresses} addresses, as of {noticed}. Code entry waits for everybody until: {waits_until}.",
        "An address waits by itself after {most} wrong codes. Replace codes that are short or easy to guess. "
        "COUNTERFOIL_GUESSING_PAUSE lets code entry wait for everybody when this happens.",
    ),
    "hoarding": Kind(
        "One address holds places of {subject} that nobody pays for, {unpaid} of them in {period}, and was refused "
        "another.",
        "See GET /v1/redemptions?status=reserved. `counterfoil release` gives places back; `counterfoil code pause` "
        "stops a code.",
    ),
}
#: What is said of a kind that has no words here.
ANY = Kind("{kind}: {subject}.", "See its detail, and the log of that time.")

_MONEY = {"amount": "currency", "asked": "currency", "paid": "paid_currency"}


@dataclass(frozen=True)
class Matter:
    """One entry, however often it was raised. *resolved_at* is empty while a person must still look."""

    id: int
    kind: str
    subject: str
    detail: Mapping[str, Any]
    raised_at: datetime
    resolved_at: datetime | None

    @property
    def sentence(self) -> str:
        """What happened."""
        return self._say(KINDS.get(self.kind, ANY).sentence)

    @property
    def mend(self) -> str:
        """What to do about it."""
        return self._say(KINDS.get(self.kind, ANY).mend)

    def _say(self, template: str) -> str:
        words = _Words({name: _word(value) for name, value in self.detail.items()})
        for name, currency in _MONEY.items():
            if isinstance(self.detail.get(name), int) and isinstance(self.detail.get(currency), str):
                words[name] = _money(self.detail[name], self.detail[currency])
        words["kind"], words["subject"] = self.kind, self.subject
        return template.format_map(words)


def matters(
    *,
    id: int | None = None,
    kind: str | None = None,
    resolved: bool | None = None,
    after: tuple[datetime, int] | None = None,
    most: int = 100,
) -> Statement[list[Matter]]:
    """Matters, newest first, that fit all that is given; those after the one of this time and id."""
    return Statement(
        Sql.named("matters"),
        {
            "id": id,
            "kind": kind,
            "resolved": resolved,
            "after_at": after[0] if after else None,
            "after_id": after[1] if after else None,
            "most": most,
        },
        lambda rows: [_matter(row) for row in rows],
    )


def notice() -> Statement[None]:
    """
    Raise what nobody runs into: events of Stripe's that wait to be settled. And settle what is over by itself: those
    events, and delayed payments that were overdue. Run before matters are read.
    """
    return Statement(Sql("SELECT counterfoil.notice()"), {}, lambda _: None)


def resolve(*, id: int) -> Statement[Matter | None]:
    """A person has seen to it. Once is enough: a second time changes nothing. None: there is no such matter."""
    return Statement(
        Sql(
            "SELECT id, kind, subject, detail, raised_at, resolved_at "
            "FROM counterfoil.resolve_attention(id => :id::bigint)"
        ),
        {"id": id},
        lambda rows: _matter(rows[0]) if rows else None,
    )


def settle_matter(*, kind: str, subject: str) -> Statement[None]:
    """What was raised is over by itself."""
    return Statement(
        Sql(
            "UPDATE counterfoil.attention SET resolved_at = (SELECT counterfoil.clock()) "
            "WHERE kind = :kind::text AND subject = :subject::text AND resolved_at IS NULL RETURNING id"
        ),
        {"kind": kind, "subject": subject},
        lambda _: None,
    )


class _Words(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"(no {name})"


def _word(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_word(item)}" for key, item in value.items())
    return ", ".join(map(_word, value)) if isinstance(value, list) else str(value)


def _money(amount: int, currency: str) -> str:
    places = decimals(currency)
    return f"{amount / 10**places:.{places}f} {currency.upper()}"


def _matter(row: Row) -> Matter:
    return Matter(
        id=row["id"],
        kind=row["kind"],
        subject=row["subject"],
        detail=document(row["detail"]),
        raised_at=reading.moment(row["raised_at"]),
        resolved_at=reading.when(row["resolved_at"]),
    )
