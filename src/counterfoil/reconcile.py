"""
Reconciling: our rows and Stripe's sessions are compared with each other, and what differs is settled if that is wanted.

Two roads lead to the sessions. Those of the last days come in pages from Stripe's own list, so that also one whose row
is not here is seen. Rows that are older, but unsettled or settled in these days, are looked up one by one. A drift is
believed only when the session was read once more, for itself; and nothing is done to a row but what settling does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from counterfoil import records, verbs
from counterfoil.asking import absent, reference, verdict
from counterfoil.calls import ListSessions, Pause, RetrieveSession, SessionUnknown, Together
from counterfoil.drift import UNKNOWN, Finding, Would, compare, finding
from counterfoil.ending import ask
from counterfoil.errors import Busy, StripeUnavailable
from counterfoil.model import Dispute, Session, SessionPage, Shop
from counterfoil.procedure import Procedure
from counterfoil.records import Older, Record
from counterfoil.settlement import disputes_of, settle_session
from counterfoil.verbs import Ask

#: How far back the list goes unless it is said.
DAYS = timedelta(days=7)
#: Seconds for each read: ten a second leave the buyers most of Stripe's 100 (docs.stripe.com/rate-limits).
PACE = 0.1
#: So many sessions are read at the same time.
AT_ONCE = 5
#: So many rows are fetched at a time.
ROWS = 100
#: Stripe's clock and the database's may differ by less than this.
SLACK = timedelta(hours=1)


@dataclass
class Report:
    """
    What was found so far.

    Attributes:
        applied: What was found was settled, as far as it could be.
        compared: How many sessions were compared.
        reached: From 0 to 1: how far through the list of Stripe's sessions.
        interrupted: Why it did not get to the end: Stripe could not be reached. What was done stays.
    """

    applied: bool
    compared: int = 0
    reached: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    interrupted: str | None = None

    @property
    def left(self) -> list[Finding]:
        """What is drift still."""
        return [one for one in self.findings if one.left]

    @property
    def fine(self) -> bool:
        """All was compared, and there is no drift, or none any more."""
        return self.interrupted is None and not self.left


Tell = Callable[[Report], None]


def reconcile(
    shop: Shop, *, apply: bool = False, last: timedelta = DAYS, tell: Tell = lambda _: None
) -> Procedure[Report]:
    """
    Compare our rows with Stripe's sessions, and settle what differs if *apply* says so. Otherwise nothing is written.

    May be run twice, and beside live traffic: an event that is under way may be taken for drift, and settling it first
    is harmless. Memory is bound by the number of findings.

    Args:
        shop: The seller.
        apply: Settle what is found. What could not be settled is put before the seller, as ``drift``.
        last: Of how long ago sessions, and settled rows, are compared. Unsettled rows are, however old.
        tell: Called as it goes on, always with the same report.
    """
    report = Report(applied=apply)
    now: datetime = yield records.now()
    try:
        yield from _listed(now, now - last, report, shop, tell)
        yield from _older(now - last, report, shop, tell)
    except StripeUnavailable as error:
        report.interrupted = error.said
    return report


def _listed(now: datetime, since: datetime, report: Report, shop: Shop, tell: Tell) -> Procedure[None]:
    """The sessions that were created since, of whichever row."""
    after: str | None = None
    while True:
        yield Pause(PACE)
        page: SessionPage = yield ListSessions(created_since=since - SLACK, after=after)
        ours = [one for one in page.sessions if any(reference(one).values())]
        found: dict[str, Record] = yield records.records_of(sessions=ours)
        report.compared += len(ours)
        suspects = [one.id for one in ours if _suspect(found[one.id], one)]
        yield from _one_by_one(suspects, report, shop)
        if not page.more:
            report.reached = 1.0
            tell(report)
            return
        after = page.sessions[-1].id
        report.reached = min(1.0, max(0.0, (now - page.sessions[-1].created) / (now - since + SLACK)))
        tell(report)


def _older(since: datetime, report: Report, shop: Shop, tell: Tell) -> Procedure[None]:
    """The sessions of rows that began earlier."""
    after: UUID | None = None
    while True:
        rows: list[Older] = yield records.older_records(since=since, after=after, most=ROWS)
        sessions = [id for row in rows for id in row.sessions]
        yield from _one_by_one(sessions, report, shop)
        report.compared += len(sessions)
        tell(report)
        if len(rows) < ROWS:
            return
        after = rows[-1].id


def _suspect(record: Record, session: Session) -> bool:
    """Whether it is worth a closer look. What a dispute came to is not on the list."""
    disputed = session.charge is not None and session.charge.disputed
    return disputed or compare(record, session) is not None


def _one_by_one(session_ids: Sequence[str], report: Report, shop: Shop) -> Procedure[None]:
    for some in _batches(session_ids):
        yield Pause(PACE * len(some))
        answers: list[Any] = yield Together(tuple(map(RetrieveSession, some)))
        for id, answer in zip(some, answers, strict=True):
            session = absent(id, UNKNOWN) if isinstance(answer, SessionUnknown) else answer
            if isinstance(session, Session):
                yield from _look(session, report, shop)
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, SessionUnknown):
                raise answer


def _look(session: Session, report: Report, shop: Shop) -> Procedure[None]:
    """Compare one session that was just read, and settle it if that is wanted."""
    disputes = yield from disputes_of(session)
    record = yield from _record(session)
    would = compare(record, session, disputes)
    if would is None:
        return
    found = finding(record, session, would)
    report.findings.append(found)
    if report.applied:
        found.done = yield from _settle(record, session, would, shop)
        found.left = yield from _is_left(session, disputes)
        if found.left:
            yield verbs.raise_attention(
                kind="drift",
                subject=session.id,
                detail={"rows": found.rows, "stripe": found.stripe, "would": found.would, "done": found.done},
            )


def _settle(record: Record, session: Session, would: Would, shop: Shop) -> Procedure[str]:
    """Settle one drift. Answers what it came to."""
    claim = record.claim
    # What lapsed while its session is open, or was taken off it before it ended, is asked about as whoever wants its
    # place would.
    unheard = would is Would.RELEASE and (verdict(session) == "open" or (claim and claim.session_id is None))
    try:
        if claim and claim.lapsed and unheard:
            yield from ask([Ask(claim.id, claim.counts_with, claim.attempt, session.id)], shop)
            return "asked"
        if session.status == UNKNOWN:
            yield verbs.raise_attention(
                kind="drift", subject=session.id, detail={"stripe": session.status, "would": would}
            )
            return "attention"
        settled: verbs.Settled = yield from settle_session(session, shop)
    except Busy as busy:
        return busy.code
    return settled.outcome


def _is_left(session: Session, disputes: Sequence[Dispute]) -> Procedure[bool]:
    record = yield from _record(session)
    return compare(record, session, disputes) is not None


def _record(session: Session) -> Procedure[Record]:
    found: dict[str, Record] = yield records.records_of(sessions=[session])
    return found[session.id]


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), AT_ONCE):
        yield ids[start : start + AT_ONCE]
