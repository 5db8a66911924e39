"""
Giving a place back: its session is ended at Stripe first, and what that session then turns out to be decides.

So each way to give up ends with one payable session or none, and a payment that was faster than the wish to cancel is
never lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil import verbs
from counterfoil.asking import end_session, end_sessions, paid_or_paying
from counterfoil.calls import RetrieveSession, SessionUnknown
from counterfoil.errors import Busy, StripeUnavailable
from counterfoil.model import Checkout, CheckoutStatus, Redemption, RedemptionStatus, ReleaseReason, Session, Shop
from counterfoil.procedure import Procedure
from counterfoil.settlement import settle_session
from counterfoil.verbs import Ask

#: How often an ending is begun again, because somebody else moved the checkout meanwhile.
MOST_ROUNDS = 5


def cancel(sale: Checkout, shop: Shop, reason: ReleaseReason = ReleaseReason.CANCELLED) -> Procedure[Checkout]:
    """
    End a checkout: its session at Stripe, then its place. Returns the checkout as it truly is: it may turn out paid.

    Raises:
        StripeUnavailable: The session could not be ended, and so nothing was given back.
        Busy: The lock was not won in time.
    """
    for _ in range(MOST_ROUNDS):
        if sale.status is not CheckoutStatus.OPEN:
            break
        yield verbs.mark_ending(sale=sale, reason=reason, shop=shop)
        if sale.redemption:
            yield from _end(sale.redemption, shop, reason)
        elif sale.session_id is not None:
            ended = yield from end_session(sale.session_id)
            yield from settle_session(ended, shop)
        else:
            yield verbs.end_unpayable(sale=sale, status=CheckoutStatus.CANCELLED)
        sale = yield from reread(sale)
    return sale


def release(claim: Redemption, shop: Shop, reason: ReleaseReason) -> Procedure[None]:
    """
    Give a redemption's place back by hand, and end its session at Stripe. One that is settled stays as it is.

    Raises:
        StripeUnavailable: The session could not be ended, and so nothing was given back.
        Busy: The lock was not won in time.
    """
    sale: Checkout | None = yield verbs.checkout(redemption=claim.id)
    if sale is not None:
        yield from cancel(sale, shop, reason)
        return
    yield from _end(claim, shop, reason)


def _end(claim: Redemption, shop: Shop, reason: ReleaseReason) -> Procedure[None]:
    """
    End the session of a redemption and give its place back. If it has none just now, whoever is making one finds the
    row released, and ends what it made; but the one before may be paid.
    """
    if claim.last_session is not None and claim.status in (RedemptionStatus.RESERVED, RedemptionStatus.PENDING):
        ended = yield from end_session(claim.last_session)
        if paid_or_paying(ended) or (ended.status == "complete" and claim.session_id is not None):
            yield from settle_session(ended, shop)
            return
    yield verbs.release(
        counts_with=claim.counts_with,
        redemption=claim.id,
        reason=reason,
        shop=shop,
        session_id=claim.session_id,
        attempt=claim.attempt if claim.session_id is None else None,
    )


def ask(asks: Sequence[Ask], shop: Shop) -> Procedure[None]:
    """
    Places whose time is over, of sessions whose end was never heard: what Stripe says of each decides, all asked at the
    same time. Then each place is free, or spent, or its payment is still under way.

    One that Stripe could not be asked about may be paid for, so its place is given to nobody.

    Raises:
        Busy: Stripe could not be asked about any of them.
    """
    answers = yield from end_sessions([one.session_id for one in asks])
    unheard: list[StripeUnavailable] = []
    for one, answer in zip(asks, answers, strict=True):
        if isinstance(answer, StripeUnavailable):
            unheard.append(answer)
        elif paid_or_paying(answer):
            yield from settle_session(answer, shop)
        else:
            failed = answer.status == "complete"
            yield verbs.release(
                counts_with=one.counts_with,
                redemption=one.redemption,
                reason=ReleaseReason.PAYMENT_FAILED if failed else ReleaseReason.LAPSED,
                session_id=one.session_id,
                attempt=one.attempt,
                shop=shop,
            )
    if len(unheard) == len(asks):
        raise Busy("The last places cannot be checked right now. Try again.", retry_after=5) from unheard[0]


def refresh(sale: Checkout, shop: Shop) -> Procedure[Checkout]:
    """
    Ask Stripe about a checkout's session, settle, and return the checkout as it is now.

    Raises:
        StripeUnavailable: Stripe could not say.
    """
    if sale.last_session is None:
        return sale
    try:
        session: Session = yield RetrieveSession(sale.last_session)
    except SessionUnknown:
        return sale
    yield from settle_session(session, shop)
    return (yield from reread(sale))


def reread(sale: Checkout) -> Procedure[Checkout]:
    """A checkout as it is now."""
    found: Checkout | None = yield verbs.checkout(id=sale.id)
    return found or sale
