"""
Reserve, create, attach; release if anything threw.

1. The place is held and committed before Stripe is called: the lock is never held over the network.
2. The session is made at the discounted amount. Its parameters and its idempotency key are derived from the row, its
   expiry from the row's; a new expiry is a new attempt with a new key.
3. The session is attached to the row, and only then does the URL reach the buyer.
4. Anything thrown in 2 or 3 gives the place back at once: nobody has the URL, so nobody can pay it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from counterfoil import clocks, errors, verbs
from counterfoil.asking import end_session, paid_or_paying
from counterfoil.buyers import buyer_key
from counterfoil.calls import (
    BelowFloor,
    CreateSession,
    KeyReused,
    Pause,
    RateLimited,
    StillCreating,
)
from counterfoil.ending import MOST_ROUNDS, ask, cancel, reread
from counterfoil.model import (
    Checkout,
    CheckoutStatus,
    Code,
    Order,
    Product,
    Redemption,
    RedemptionStatus,
    ReleaseReason,
    Session,
    Shop,
)
from counterfoil.pace import Pace, Turn
from counterfoil.pricing import Price, apply
from counterfoil.procedure import Procedure
from counterfoil.settlement import settle_session
from counterfoil.statement import Statement
from counterfoil.verbs import Ask, Attached, Decision

log = logging.getLogger(__name__)

#: With less than this left of its session, or than a sixth of it, a returning buyer gets a fresh one.
ENOUGH_TO_PAY = timedelta(minutes=5)
#: How many sessions one place may see, so that it cannot be kept for ever.
MOST_ATTEMPTS = 5


@dataclass(frozen=True)
class Opened:
    """
    A checkout that may be paid, or that proved paid.

    Attributes:
        checkout: As it is now.
        resumed: It is the buyer's own, from an earlier request.
        skew: Stripe's clock less the database's, if a session was made for it just now.
    """

    checkout: Checkout
    resumed: bool = False
    skew: timedelta | None = None


def quote(order: Order) -> Procedure[tuple[Price, Code | None, Product | None]]:
    """
    What an order costs now. Holds nothing.

    Raises:
        ProductUnknown, CodeUnknown: There is no such thing.
        CurrencyMismatch, DiscountExceedsPrice, AmountTooSmall: The code and the price do not go together.
    """
    code, product = yield verbs.terms(code=order.code, product=order.product)
    if order.product is not None and product is None:
        raise errors.ProductUnknown(order.product)
    if order.code is not None and code is None:
        raise errors.CodeUnknown(order.code)
    if product is not None:
        list_amount, currency = product.amount, product.currency
    else:
        list_amount, currency = order.amount or 0, order.currency or ""
    return apply(code.discount if code else None, list_amount, currency), code, product


def open_checkout(
    order: Order, shop: Shop, *, steady: Callable[[], float] = clocks.steady, pace: Pace | None = None
) -> Procedure[Opened]:
    """
    Hold a place if a code was given, make the session, and hand over the URL.

    The place is held at once; for the session its buyer waits in line, in order. Whoever holds a place is never sent
    away, however long the line is: who comes when it is full is told *busy*, and holds nothing.

    *steady* counts seconds, also while the machine sleeps: how old our knowledge of the database's clock is.
    *pace* is the line of this process; without one this checkout is alone in its line.

    Raises:
        Refusal: Any of those in ``errors.py`` that say why not. Nothing is held then.
    """
    pace = pace or Pace()
    with pace.coming() as turn:
        for _ in range(MOST_ROUNDS):
            price, code, product = yield from quote(order)
            # guard: a-full-line-takes-no-place
            if turn.crowded:
                yield from _no_room(order, product, turn)
            began = steady()
            if code is None:
                sale = yield verbs.begin_checkout(
                    checkout=uuid4(), order=order, product=product, price=price, shop=shop
                )
                return (yield from _create_and_attach(sale, shop, steady, began, turn))

            decision: Decision = yield _reserve(order, code, product, price, shop)
            match decision.outcome:
                case "held" if decision.sale:
                    return (yield from _create_and_attach(decision.sale, shop, steady, began, turn))
                case "yours" if decision.claim:
                    opened = yield from _come_back(
                        decision.claim, order, code, product, price, shop, steady, pace, turn
                    )
                    if opened:
                        return opened
                case "limit":
                    raise (yield from _limit_reached(decision))
                case "ask":
                    yield from _ask(decision.asks, shop, steady, pace)
                case "hoarding":
                    yield verbs.raise_attention(
                        kind="hoarding",
                        subject=code.code,
                        detail={
                            "period": decision.period,
                            "unpaid": decision.held,
                            "origin": (order.origin or "")[:12],
                        },
                    )
                    raise decision.refusal(code.code)
                case "changed":
                    pass
                case _:
                    raise decision.refusal(order.code or "")
        raise errors.Busy


def session_parameters(sale: Checkout, shop: Shop) -> dict[str, Any]:
    """
    What Stripe is asked for: derived from the row alone, so that asking twice is asking for the same.

    ``expires_at`` is sent only when a code was applied: a checkout at full price holds no place, and keeps Stripe's 24
    hours. Adaptive pricing is off, so that the buyer is charged in our currency. The ids travel in three places, so
    that an event finds its row even if a crash kept the session from being attached.
    """
    claim = sale.redemption
    ids = {"counterfoil_checkout": str(sale.id)}
    if claim:
        ids |= {
            "counterfoil_redemption": str(claim.id),
            "counterfoil_counts_with": str(claim.counts_with),
            "counterfoil_attempt": str(claim.attempt),
        }
    parameters: dict[str, Any] = {
        "mode": "payment",
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": sale.currency,
                    "unit_amount": sale.amount,
                    "product_data": {"name": sale.name},
                },
            }
        ],
        "allowed_payment_method_types": list(shop.payment_methods),
        "adaptive_pricing": {"enabled": False},
        "success_url": sale.success_url,
        "cancel_url": sale.cancel_url,
        "client_reference_id": str(claim.id if claim else sale.id),
        "metadata": ids,
        "payment_intent_data": {"metadata": ids},
    }
    if claim:
        # guard: the-session-dies-before-its-hold
        parameters["expires_at"] = int(shop.clocks.session_expiry(claim.expires_at).timestamp())
    return parameters


def idempotency_key(sale: Checkout) -> str:
    """One key per attempt: the same attempt asked for twice is one session."""
    return f"counterfoil:{sale.id}:{sale.redemption.attempt if sale.redemption else 1}"


def _reserve(
    order: Order, code: Code, product: Product | None, price: Price, shop: Shop, instead_of: UUID | None = None
) -> Statement[Decision]:
    return verbs.open_checkout(
        redemption=uuid4(),
        checkout=uuid4(),
        order=order,
        code=code,
        product=product,
        price=price,
        shop=shop,
        instead_of=instead_of,
    )


def _no_room(order: Order, product: Product | None, turn: Turn) -> Procedure[None]:
    """The line is full: only the buyer who holds a place, or would be refused one anyway, is let through."""
    if order.code is not None:
        decision: Decision = yield verbs.consider(
            code=order.code, product=product.id if product else None, buyer=order.buyer
        )
        if decision.outcome != "free":
            return
    raise errors.Busy(
        "Many are buying right now, and the line for the payment page is full. No place was taken; try again later.",
        retry_after=math.ceil(turn.expected),
    )


def _ask(asks: Sequence[Ask], shop: Shop, steady: Callable[[], float], pace: Pace) -> Procedure[None]:
    """Ask about these places. Those that another request of this process asks about are waited for, not asked twice."""
    patience = steady() + shop.lock_timeout.total_seconds()
    sessions = [one.session_id for one in asks]
    with pace.asking(sessions) as mine:
        if mine:
            yield from ask([one for one in asks if one.session_id in mine], shop)
            return
    while pace.is_asked_about(sessions):
        if steady() >= patience:
            raise errors.Busy("The last places are being checked. Try again in a moment.")
        yield Pause(0.1)


def _create_and_attach(
    sale: Checkout, shop: Shop, steady: Callable[[], float], began: float, turn: Turn, *, resumed: bool = False
) -> Procedure[Opened]:
    """
    Make the session of a checkout that has none, and attach it.

    *began* is when `steady` stood before the row was read: so the age of what we know of the database's clock is
    never taken for less than it is.
    """
    ended: str | None = None
    another, way_made = True, False
    while True:
        try:
            if (yield from _wait(turn, sale)):
                began = steady()
                sale = yield from reread(sale)
                if _made_by_another(sale):
                    return Opened(sale, resumed=True)
            # The line comes first: what is found out below is true when the call is made.
            if not way_made:
                yield from _make_way(sale, shop)
                way_made = True
            renewed = False
            while claim := sale.redemption:
                if claim.former_sessions and claim.former_sessions[-1] != ended:
                    ended = claim.former_sessions[-1]
                    session = yield from end_session(ended)
                    if paid_or_paying(session):
                        yield from settle_session(session, shop)
                        return Opened((yield from reread(sale)), resumed)
                    continue
                # guard: the-floor-is-not-missed
                if not renewed and _floor_missed(claim, shop, timedelta(seconds=steady() - began)):
                    began = steady()
                    sale = yield from _renewed(sale, claim, shop)
                    renewed = True
                    continue
                break
        except GeneratorExit:
            raise
        except BaseException:
            # guard: who-leaves-the-line-gives-the-place-back
            yield from _give_back(sale, None, shop)
            raise
        try:
            skew = yield from _one_attempt(sale, shop)
        except RateLimited as answer:
            if not turn.refused():
                yield from _give_back(sale, None, shop)
                raise errors.StripeUnavailable(
                    answered=True,
                    stripe_code="rate_limit",
                    stripe_message=str(answer),
                    request_id=answer.request_id,
                ) from answer
        except (BelowFloor, KeyReused) as answer:
            # Stripe's clock, or our settings, are not what they were: this attempt cannot be made, the next one can.
            if not another or sale.redemption is None:
                yield from _give_back(sale, None, shop)
                raise errors.StripeUnavailable(
                    answered=True, stripe_message=str(answer), request_id=answer.request_id
                ) from answer
            log.warning("attempt %s of checkout %s refused: %s", sale.redemption.attempt, sale.id, answer)
            another = False
            began = steady()
            sale = yield from _renewed(sale, sale.redemption, shop)
        else:
            turn.served()
            made = yield from reread(sale)
            # guard: what-is-open-has-a-page
            if made.status is CheckoutStatus.OPEN and made.session_url is None:
                raise errors.Busy("Another request of this buyer is ending the page that was just made. Try again.")
            return Opened(made, resumed, skew)


def _wait(turn: Turn, sale: Checkout) -> Procedure[bool]:
    """Stand in line. Whether there was anything to wait for."""
    waited = False
    turn.line_up(sale.id)
    while (left := turn.left()) > 0:
        yield Pause(left)
        waited = True
    return waited


def _made_by_another(sale: Checkout) -> bool:
    """While we stood in line, another request of the same buyer was served."""
    claim = sale.redemption
    if claim is None or _being_created(sale):
        return False
    if claim.status is RedemptionStatus.RELEASED:
        raise errors.Busy("The place was given back while its buyer stood in line. Try again.")
    return True


def _make_way(sale: Checkout, shop: Shop) -> Procedure[None]:
    """
    The same buyer has a payment page of the same thing open, at another code: it is ended before the new one is made.

    Raises:
        BuyerLimitReached: It proves paid, or paying, and so is the answer.
        StripeUnavailable: It could not be ended.
    """
    if sale.redemption is None and sale.browser is None:
        return
    others: list[Checkout] = yield verbs.open_beside(sale=sale)
    for other in others:
        ended = yield from cancel(other, shop, ReleaseReason.SUPERSEDED)
        if ended.status in (CheckoutStatus.PAID, CheckoutStatus.PENDING):
            raise errors.BuyerLimitReached(limit=None, checkout=ended.id)


def _one_attempt(sale: Checkout, shop: Shop) -> Procedure[timedelta]:
    made: Session | None = None
    try:
        session: Session = yield CreateSession(session_parameters(sale, shop), idempotency_key(sale))
        made = session
        attached: Attached = yield verbs.attach(sale=sale, session=session, shop=shop)
    except StillCreating:
        # An earlier request for this very attempt is at work: the place is its to keep or to give back.
        raise errors.Busy("Your payment page is being made. Try again in a moment.") from None
    except (BelowFloor, KeyReused, RateLimited, GeneratorExit):
        raise
    except BaseException:
        # guard: released-if-anything-threw
        yield from _give_back(sale, made, shop)
        raise
    if not attached.attached:
        # The place was given back, or is another attempt's by now. No URL leaves.
        yield from end_session(session.id)
        raise errors.Busy("The place was given back while the payment page was being made. Try again.")
    return attached.skew


def _give_back(sale: Checkout, session: Session | None, shop: Shop) -> Procedure[None]:
    """
    Give the place of a failed attempt back at once. What fails here is only logged: the failure that brought us here
    is the one to tell, and a place that cannot be given back now comes back by itself when its hold ends.

    The session of the attempt before may have been paid.
    """
    before = sale.redemption.last_session if sale.redemption and session is None else None
    over: str | None = None
    try:
        if session or before:
            ended = yield from end_session(session.id if session else str(before))
            if paid_or_paying(ended):
                yield from settle_session(ended, shop)
                return
            over = session.id if session else None
    except errors.StripeUnavailable:
        log.warning("session %s of checkout %s could not be ended", session.id if session else before, sale.id)
        # guard: what-may-be-paid-is-not-given-back
        if before:
            return
    try:
        if sale.redemption:
            yield verbs.release(
                counts_with=sale.counts_with,
                redemption=sale.redemption.id,
                reason=ReleaseReason.CREATION_FAILED,
                # What could not be ended keeps the place if it is attached: another request of this attempt, which is
                # of the same session, may have given the page away.
                session_id=over,
                attempt=sale.redemption.attempt,
                shop=shop,
            )
        else:
            yield verbs.end_unpayable(sale=sale, status=CheckoutStatus.FAILED)
    except Exception:
        log.exception("the place of checkout %s could not be given back now", sale.id)


def _come_back(
    claim: Redemption,
    order: Order,
    code: Code,
    product: Product | None,
    price: Price,
    shop: Shop,
    steady: Callable[[], float],
    pace: Pace,
    turn: Turn,
) -> Procedure[Opened | None]:
    """The same buyer again: the same hold and, while it is good, the same page. None: look again from the start."""
    began = steady()
    sale: Checkout | None = yield verbs.checkout(redemption=claim.id)
    if sale is None:
        raise errors.Busy("A place is held for this buyer outside of any checkout.")
    if order.browser is not None and sale.browser != order.browser:
        raise errors.OpenElsewhere(expires_at=claim.expires_at)
    wanted = (
        product.id if product else None,
        product.name if product else order.name,
        price,
        code.code,
        # At another address of the same mailbox: what is bought belongs to the address that is given.
        buyer_key(order.buyer),
    )
    if wanted != (
        sale.product,
        sale.name,
        Price(sale.list_amount, sale.discount_amount, sale.amount, sale.currency),
        claim.code,
        buyer_key(sale.buyer),
    ):
        return (yield from _move(sale, order, code, product, price, shop, steady, turn))

    patience = steady() + shop.lock_timeout.total_seconds()
    while _being_created(sale) and steady() < patience:
        yield Pause(0.1)
        began = steady()
        sale = yield from reread(sale)
    left = pace.left_for(sale.id)
    if _being_created(sale) and left is not None:
        # One number for one page, however often its buyer asks.
        raise errors.Busy(
            "Your payment page is being made, and your place is held. Try again in a moment.",
            retry_after=max(1, math.ceil(left)),
        )
    claim = sale.redemption or claim
    if claim.status is not RedemptionStatus.RESERVED:
        return None
    enough = min(ENOUGH_TO_PAY, shop.clocks.session_ttl / 6)
    if not claim.lapsed and claim.session_expires_at is None:
        return (yield from _create_and_attach(sale, shop, steady, began, turn, resumed=True))
    if not claim.lapsed and claim.session_expires_at and claim.session_expires_at - claim.read_at >= enough:
        return Opened(sale, resumed=True)

    match (yield verbs.renew(claim=claim, most=MOST_ATTEMPTS, shop=shop)):
        case "renewed":
            began = steady()
            sale = yield from reread(sale)
            if sale.session_id is not None:
                # Another request of this buyer has made it already: look again.
                return None
            return (yield from _create_and_attach(sale, shop, steady, began, turn, resumed=True))
        case "worn_out":
            return (yield from _worn_out(sale, claim, code, shop))
    return None


def _worn_out(sale: Checkout, claim: Redemption, code: Code, shop: Shop) -> Procedure[Opened | None]:
    """A hold that was renewed as often as it may be is good until it ends; then its buyer asks like everybody else."""
    if claim.lapsed:
        if claim.last_session:
            yield from ask([Ask(claim.id, claim.counts_with, claim.attempt, claim.last_session)], shop)
        else:
            yield verbs.release(
                counts_with=claim.counts_with,
                redemption=claim.id,
                reason=ReleaseReason.LAPSED,
                attempt=claim.attempt,
                shop=shop,
            )
        return None
    if claim.session_expires_at and claim.session_expires_at > claim.read_at:
        return Opened(sale, resumed=True)
    raise errors.AllocationHeld(period=claim.period, cap=code.cap or 0, held=1, next_release_at=claim.expires_at)


def _move(
    sale: Checkout,
    order: Order,
    code: Code,
    product: Product | None,
    price: Price,
    shop: Shop,
    steady: Callable[[], float],
    turn: Turn,
) -> Procedure[Opened | None]:
    """The same buyer wants another product, or at another amount: the place moves, and the old session is ended."""
    claim = sale.redemption
    if claim is None:
        return None
    if claim.session_id:
        # Detached first, so that the event of its end gives nothing back while the place moves.
        outcome = yield verbs.renew(claim=claim, most=MOST_ATTEMPTS, shop=shop)
        if outcome != "renewed":
            return None if outcome == "moved_on" else (yield from _worn_out(sale, claim, code, shop))
    # Detached by us just now, or by somebody who may not have come to end it.
    # guard: a-place-moves-when-its-page-has-ended
    if claim.last_session:
        ended = yield from end_session(claim.last_session)
        if paid_or_paying(ended):
            yield from settle_session(ended, shop)
            raise errors.BuyerLimitReached(limit=code.per_buyer_limit, checkout=sale.id)
    began = steady()
    decision: Decision = yield _reserve(order, code, product, price, shop, instead_of=claim.id)
    if decision.outcome == "held" and decision.sale:
        return (yield from _create_and_attach(decision.sale, shop, steady, began, turn))
    return None


def _renewed(sale: Checkout, claim: Redemption, shop: Shop) -> Procedure[Checkout]:
    """The same place with a fresh expiry, for the next attempt."""
    if (yield verbs.renew(claim=claim, most=MOST_ATTEMPTS, shop=shop)) != "renewed":
        raise errors.Busy("The place moved on while the payment page was being made. Try again.")
    return (yield from reread(sale))


def _floor_missed(claim: Redemption, shop: Shop, age: timedelta) -> bool:
    """A create call now might reach Stripe with less than its floor left. *age*: since the row was read."""
    left = shop.clocks.session_expiry(claim.expires_at) - claim.read_at - age
    return left < shop.clocks.floor_with_call


def _being_created(sale: Checkout) -> bool:
    claim = sale.redemption
    return claim is not None and claim.status is RedemptionStatus.RESERVED and claim.session_id is None


def _limit_reached(decision: Decision) -> Procedure[errors.BuyerLimitReached]:
    used: Checkout | None = None
    if decision.claim:
        used = yield verbs.checkout(redemption=decision.claim.id)
    return errors.BuyerLimitReached(limit=decision.per_buyer_limit, checkout=used.id if used else None)
