"""Places to fight over: a school, a code, and the verbs in short."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg

from counterfoil import catalogue, verbs
from counterfoil.catalogue import CodeTerms
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Code, Redemption, ReleaseReason, Session, Shop, Usage
from counterfoil.periods import Calendar
from counterfoil.pricing import PercentOff
from counterfoil.verbs import Settled

HOLD = timedelta(minutes=40)


def school(host: Psycopg, zone: str = "Europe/London", year_start: str = "09-01", slug: str = "northfold") -> Any:
    """An institution."""
    return host.run(catalogue.add_institution(name=slug, time_zone=zone, year_start=year_start, slug=slug))


def code(host: Psycopg, text: str = "NORTH", *, cap: int | None = 1, of: Any = None, **more: Any) -> Code:
    """A code of half price; `counts_with` and `calendar` may be given with the terms."""
    calendar = more.pop("calendar", Calendar.ACADEMIC_YEAR)
    counts_with = more.pop("counts_with", None)
    terms = CodeTerms(cap=cap, discount=PercentOff(Decimal(50)), **more)
    return host.run(
        catalogue.add_code(
            institution=of or school(host), code=text, terms=terms, calendar=calendar, counts_with=counts_with
        )
    )


@dataclass(frozen=True)
class Verbs:
    """The verbs over one host, as short as a story is told."""

    host: Psycopg
    shop: Shop

    def reserve(self, buyer: str, code: str = "NORTH", *, id: UUID | None = None) -> Redemption:
        """Hold a place."""
        return self.host.run(
            verbs.reserve(id=id or uuid4(), code=code, buyer=buyer, hold=HOLD, lock_timeout=self.shop.lock_timeout)
        )

    def attach(self, claim: Redemption, session_id: str, *, ends: datetime | None = None) -> str:
        """Tie a session to a hold; the outcome."""
        row = self.host._source.execute(
            "SELECT outcome FROM counterfoil.attach(%s, %s, NULL, %s, %s, %s, now(), %s, '3 s')",
            (
                claim.counts_with, claim.id, claim.attempt, session_id, "https://pay.test/" + session_id,
                ends or claim.expires_at - timedelta(minutes=9),
            ),
        ).fetchone()  # fmt: skip
        return str(row[0])

    def settle(self, claim: Redemption, session_id: str, verdict: str, **more: Any) -> Settled:
        """Carry a verdict into the rows."""
        session = a_session(session_id, claim, **more)
        reference = {
            "checkout": None, "redemption": claim.id, "counts_with": claim.counts_with, "attempt": claim.attempt
        }  # fmt: skip
        return self.host.run(verbs.settle(session=session, verdict=verdict, reference=reference, shop=self.shop))

    def release(self, claim: Redemption, reason: ReleaseReason = ReleaseReason.BY_HAND, **more: Any) -> str:
        """Give a place back; the outcome."""
        outcome, _ = self.host.run(
            verbs.release(counts_with=claim.counts_with, redemption=claim.id, reason=reason, shop=self.shop, **more)
        )
        return outcome

    def renew(self, claim: Redemption, most: int = 5) -> str:
        """Renew a hold as it was seen, but for its session, which is the one it has by now; the outcome."""
        seen = replace(self.read(claim), attempt=claim.attempt)
        return self.host.run(verbs.renew(claim=seen, most=most, shop=self.shop))

    def read(self, claim: Redemption) -> Redemption:
        """A redemption as it is now."""
        return self.host.run(verbs.redemptions(id=claim.id, most=1))[0]

    def usage(self, code: str = "NORTH") -> Usage:
        """How full it is."""
        return self.host.run(verbs.usage(code=code))

    def recount(self) -> list[str]:
        """What the counters and the rows do not agree about."""
        return self.host.run(verbs.recount())


def a_session(session_id: str, claim: Redemption, **more: Any) -> Session:
    """What Stripe might say of a session of this claim."""
    said: dict[str, Any] = {
        "id": session_id,
        "status": "open",
        "payment_status": "unpaid",
        "url": None,
        "created": claim.reserved_at,
        "expires_at": claim.expires_at - timedelta(minutes=9),
        "amount_total": 1000,
        "currency": "gbp",
        "payment_intent": None,
        "metadata": {},
        "recovered_from": None,
        "livemode": False,
    }
    return Session(**(said | more))


def lapse(connection: psycopg.Connection[Any], claim: Redemption) -> None:
    """Let a hold's time be over."""
    connection.execute(
        "UPDATE counterfoil.redemption SET expires_at = counterfoil.clock() - interval '1 second', "
        "session_expires_at = CASE WHEN session_id IS NOT NULL THEN counterfoil.clock() - interval '9 minutes' END "
        "WHERE id = %s",
        (claim.id,),
    )


def now() -> datetime:
    """This machine's clock."""
    return datetime.now(UTC)
