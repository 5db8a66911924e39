"""
Replaying: Stripe's own list of events is gone through, and those that were never settled are settled, oldest first.

It is for after an outage: Stripe gives up a delivery after three days, and keeps the event for thirty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from counterfoil import records
from counterfoil.calls import ListEvents, Pause
from counterfoil.errors import Busy, StripeUnavailable
from counterfoil.model import EventPage, Shop, StripeEvent
from counterfoil.procedure import Procedure
from counterfoil.settlement import EVENTS, settle_event
from counterfoil.statement import Sql, Statement

#: How long Stripe keeps an event (docs.stripe.com/api/events).
KEPT = timedelta(days=30)
#: Stripe delivers an event at once. One that was not delivered after so long found no way to us.
DELIVERED = timedelta(minutes=10)
#: Seconds for each call: settling an event takes about two.
PACE = 0.1


@dataclass
class Replayed:
    """
    What came of it so far.

    Attributes:
        looked_at: How many events were on Stripe's list.
        unsettled: How many of them were never settled.
        missed: How many of those were never delivered to us, although Stripe had the time to.
        outcomes: What settling came to, and how often.
        left: The events that could not be settled.
        interrupted: Why it did not get to the end: Stripe could not be reached. What was settled stays.
    """

    looked_at: int = 0
    unsettled: int = 0
    missed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    left: list[str] = field(default_factory=list)
    interrupted: str | None = None

    @property
    def fine(self) -> bool:
        """Every event that was never settled is settled now."""
        return self.interrupted is None and not self.left


Tell = Callable[[Replayed], None]


def replay(shop: Shop, *, last: timedelta = KEPT, tell: Tell = lambda _: None) -> Procedure[Replayed]:
    """
    Settle what Stripe told in the last days and was never settled here. Doing it twice settles nothing twice.

    Args:
        shop: The seller.
        last: How far back, 30 days at most: older events Stripe does not keep.
        tell: Called as it goes on, always with the same report.
    """
    report = Replayed()
    now: datetime = yield records.now()
    try:
        events = yield from _unsettled(now, now - last, report, shop, tell)
        for event in events:
            yield Pause(2 * PACE)
            yield from _settle(event, report, shop)
            tell(report)
    except StripeUnavailable as error:
        report.interrupted = error.said
    return report


def _unsettled(
    now: datetime, since: datetime, report: Replayed, shop: Shop, tell: Tell
) -> Procedure[list[StripeEvent]]:
    """The events that were never settled, oldest first. Stripe lists the newest first."""
    found: list[StripeEvent] = []
    after: str | None = None
    while True:
        yield Pause(PACE)
        page: EventPage = yield ListEvents(types=EVENTS, created_since=since, after=after)
        ours = [one for one in page.events if one.livemode == shop.livemode and one.object_id is not None]
        received: dict[str, bool] = yield unsettled_events(ids=[one.id for one in ours])
        found += [one for one in ours if one.id in received]
        report.missed += sum(_is_missed(one, now) and not received.get(one.id, True) for one in ours)
        report.looked_at += len(page.events)
        report.unsettled = len(found)
        tell(report)
        if not page.more:
            return found[::-1]
        after = page.events[-1].id


def _settle(event: StripeEvent, report: Replayed, shop: Shop) -> Procedure[None]:
    try:
        settled = yield from settle_event(event, shop)
    except (StripeUnavailable, Busy) as error:
        if isinstance(error, StripeUnavailable) and not _of_this_event_alone(error):
            raise
        report.left.append(event.id)
    else:
        report.outcomes[settled.outcome] += 1


def _is_missed(event: StripeEvent, now: datetime) -> bool:
    return event.created_at is not None and now - event.created_at > DELIVERED


def _of_this_event_alone(error: StripeUnavailable) -> bool:
    """Whether the next event may fare better: Stripe is there, knows our key, and does not ask us to slow down."""
    status = error.http_status or 404
    return error.answered and status < 500 and status not in (401, 429)


def unsettled_events(*, ids: Sequence[str]) -> Statement[dict[str, bool]]:
    """Those of these events that were never settled, and whether each was received at least."""
    return Statement(
        Sql.named("unsettled_events"), {"ids": list(ids)}, lambda rows: {row["id"]: row["received"] for row in rows}
    )
