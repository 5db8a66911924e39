"""
Settling: to carry what Stripe says of a session into our rows.

Whoever hears of a session, by an event, by asking or by ending it, settles what Stripe says of it *now*. So the order
and the age of events do not matter, and doing it twice is harmless. That goes for money that went back as well: whether
a payment was refunded, and whether a refund failed later, is read off the same session.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from counterfoil import attention, verbs
from counterfoil.asking import absent, end_session, reference, verdict
from counterfoil.calls import ListDisputes, ListSessions, PaymentOf, RetrieveSession, SessionUnknown
from counterfoil.errors import StripeUnavailable
from counterfoil.model import (
    Charge,
    Checkout,
    CheckoutStatus,
    Dispute,
    Redemption,
    RedemptionStatus,
    Session,
    SessionPage,
    Shop,
    StripeEvent,
)
from counterfoil.procedure import Procedure
from counterfoil.verbs import Settled

log = logging.getLogger(__name__)

#: The events that decide about a session. An intent that failed is none of them: another card may follow.
SESSION_EVENTS = frozenset(
    {
        "checkout.session.completed",
        "checkout.session.expired",
        "checkout.session.async_payment_succeeded",
        "checkout.session.async_payment_failed",
    }
)
#: The events that say that money went back, or came back, and the objects that they are about.
MONEY_EVENTS = {
    "charge.refunded": "charges",
    "refund.created": "refunds",
    "refund.updated": "refunds",
    "refund.failed": "refunds",
    "charge.dispute.created": "disputes",
    "charge.dispute.updated": "disputes",
    "charge.dispute.closed": "disputes",
    "charge.dispute.funds_withdrawn": "disputes",
    "charge.dispute.funds_reinstated": "disputes",
}
#: How often the money of one session is looked at before the next event, or the next comparison, goes on with it.
MOST_LOOKS = 4
#: All that we want to hear of.
EVENTS = (*sorted(SESSION_EVENTS), *MONEY_EVENTS)


def settle_event(event: StripeEvent, shop: Shop) -> Procedure[Settled]:
    """
    Settle an event whose signature was good. Returns only once it is settled, or known to be none of ours.

    Raises:
        StripeUnavailable: The session could not be read. Answer the event with an error, so that it comes again.
        Busy: The same.
    """
    if event.type not in EVENTS or event.livemode != shop.livemode or event.object_id is None:
        return Settled("ignored")
    if (yield verbs.record_event(event=event)):
        return Settled("already_settled")
    if event.type in MONEY_EVENTS:
        settled = yield from _settle_money_event(event, event.object_id, shop)
    else:
        settled = yield from _settle_session_event(event, event.object_id, shop)
    # Last, when nothing is left to do: what failed half-way is done again with the event that Stripe sends again.
    yield verbs.close_event(event=event, outcome=settled.outcome)
    return settled


def _settle_session_event(event: StripeEvent, session_id: str, shop: Shop) -> Procedure[Settled]:
    try:
        session: Session = yield RetrieveSession(session_id)
    except SessionUnknown:
        # An account we have no key of, or a key of another account. If a row has this session, it is the latter.
        missing = absent(session_id, "open")
        settled: Settled = yield verbs.settle(session=missing, verdict="open", reference=reference(missing), shop=shop)
        if settled.outcome != "foreign":
            raise StripeUnavailable(
                answered=True, stripe_code="resource_missing", stripe_message=f"No such session: {session_id}"
            ) from None
        return settled
    return (yield from settle_session(session, shop, event=event))


def settle_session(session: Session, shop: Shop, *, event: StripeEvent | None = None) -> Procedure[Settled]:
    """Settle what a session says of itself, and end the other session of its row if there is one left."""
    settled: Settled = yield verbs.settle(
        session=session,
        verdict=verdict(session, event.type if event else None),
        reference=reference(session),
        shop=shop,
    )
    if settled.stray_session:
        yield from end_session(settled.stray_session)
    of_a_dispute = event is not None and MONEY_EVENTS.get(event.type) == "disputes"
    money = yield from _settle_money(session, settled, shop, of_a_dispute=of_a_dispute)
    return money or settled


def _settle_money_event(event: StripeEvent, object_id: str, shop: Shop) -> Procedure[Settled]:
    """Money went back, or came back: find the session that it was paid in, and settle that."""
    settled = Settled("foreign")
    payment_intent = event.payment_intent
    try:
        if payment_intent is None:
            payment_intent = yield PaymentOf(object_id, MONEY_EVENTS[event.type])
    except SessionUnknown:
        payment_intent = None
    if payment_intent is not None:
        page: SessionPage = yield ListSessions(payment_intent=payment_intent)
        for session in page.sessions:
            settled = yield from settle_session(session, shop, event=event)
    return settled


def _settle_money(session: Session, settled: Settled, shop: Shop, *, of_a_dispute: bool) -> Procedure[Settled | None]:
    """
    What became of the money after it was paid. None: nothing that is not in the rows already.

    *of_a_dispute*: an event said so, whatever the charge says by now.
    """
    changed: Settled | None = None
    looked_again = False
    for _ in range(MOST_LOOKS):
        if session.charge is None or session.payment_intent is None or not (settled.claim or settled.sale):
            break
        disputes = yield from disputes_of(session, sure=of_a_dispute)
        # One that is not on Stripe's list yet is not won.
        disputed = any(one.status != "won" for one in disputes) if disputes else session.charge.disputed
        if disputed or disputes:
            yield from _tell_of_disputes(session.payment_intent, disputes, settled, open=disputed)
        money_back = is_back(session.charge, disputes)
        if money_back == recorded_as_back(settled.claim, settled.sale):
            break
        # guard: what-came-back-is-looked-at-again
        if money_back or looked_again:
            settled = changed = yield verbs.settle_refund(
                settled=settled, session_id=session.id, money_back=money_back, disputed=disputed, shop=shop
            )
        # What we went by may be older than what somebody else has settled meanwhile, and money can go either way.
        try:
            session = yield RetrieveSession(session.id)
        except SessionUnknown:
            break
        looked_again = True
    return changed


def _tell_of_disputes(
    payment_intent: str, disputes: Sequence[Dispute], settled: Settled, *, open: bool
) -> Procedure[None]:
    """Put the disputes of a payment before the seller. They are settled when all were won, and none is *open*."""
    yield verbs.raise_attention(
        kind="dispute",
        subject=payment_intent,
        detail={
            "checkout": str(settled.sale.id) if settled.sale else None,
            "disputes": {one.id: one.status for one in disputes},
        },
    )
    if not open:
        yield attention.settle_matter(kind="dispute", subject=payment_intent)


def disputes_of(session: Session, *, sure: bool = False) -> Procedure[tuple[Dispute, ...]]:
    """
    The disputes of a session's payment. Stripe is asked only if there are any, or *sure* says that there are.

    Raises:
        StripeUnavailable: Stripe could not say.
    """
    disputes: tuple[Dispute, ...] = ()
    if session.charge and (session.charge.disputed or sure) and session.payment_intent:
        disputes = yield ListDisputes(session.payment_intent)
    return disputes


def is_back(charge: Charge, disputes: Sequence[Dispute]) -> bool:
    """Whether the whole of what was charged has gone back, by refunds and by disputes that were lost."""
    return charge.amount_refunded + sum(one.amount for one in disputes if one.status == "lost") >= charge.amount


def recorded_as_back(claim: Redemption | None, sale: Checkout | None) -> bool:
    """Whether our rows say already that the money went back."""
    if claim:
        return claim.refunded_at is not None or claim.status is RedemptionStatus.REFUNDED
    return sale is not None and sale.status is CheckoutStatus.REFUNDED
