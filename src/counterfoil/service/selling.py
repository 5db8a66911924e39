"""Opening checkouts and quoting, for the API and for the pages alike."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from counterfoil import checkout, errors, verbs
from counterfoil.checkout import Opened
from counterfoil.model import Checkout, CheckoutStatus, Order
from counterfoil.pricing import Price
from counterfoil.procedure import Procedure
from counterfoil.service.state import State

log = logging.getLogger(__name__)

#: Seconds that a browser shows nothing new.
_A_MOMENT = 1.0


async def open_checkout(state: State, order: Order) -> Opened:
    """
    Open a checkout, and count how it went.

    Raises:
        Refusal: Why not.
    """
    try:
        opened = await state.drive(checkout.open_checkout(order, state.shop, pace=state.pace))
    except errors.Refusal as refusal:
        state.metrics.checkouts.labels(refusal.code).inc()
        raise
    state.metrics.checkouts.labels("resumed" if opened.resumed else "opened").inc()
    state.metrics.saw_skew(opened.skew)
    await _tell_skew(state, opened.skew)
    return opened


async def open_or_line_up(state: State, order: Order) -> Checkout:
    """
    Like `open_checkout`, for a person who wants to see something meanwhile.

    After a moment it answers the checkout as it stands in line, without a session; that goes on by itself, and whoever
    reads the checkout again sees how it went.

    Raises:
        Refusal: Why not.
    """
    await state.run(verbs.forget_origins())
    opening = state.go_on(open_checkout(state, order))
    while not (await asyncio.wait({opening}, timeout=_A_MOMENT))[0]:
        for sale in await state.run(verbs.checkouts(browser=order.browser, status=CheckoutStatus.OPEN, most=1)):
            if sale.product == order.product and sale.session_id is None:
                return sale
    return opening.result().checkout


async def quote(state: State, order: Order) -> tuple[Price, str | None, errors.Refusal | None]:
    """
    What an order costs now, the period it would count in, and why it could not be bought, if so.

    Raises:
        Refusal: There is no price to give: no such product or code, or they do not go together.
    """
    return await state.drive(_quote(order))


async def look(state: State, order: Order) -> tuple[Price | None, errors.Refusal | None]:
    """
    Like `quote`, for public pages: the same statements whatever the code, known or not. Without a price where the code
    is good for none here and now.
    """
    return await state.drive(_look(order))


async def _tell_skew(state: State, skew: timedelta | None) -> None:
    told = state.skew.news(skew)
    if told is None:
        return
    try:
        await state.run(told)
    except Exception:
        # The buyer has their page: that it could not be written down is no reason to refuse it.
        log.exception("the clock skew could not be put before the seller")


def _look(order: Order) -> Procedure[tuple[Price | None, errors.Refusal | None]]:
    price: Price | None = None
    unpriced: errors.Refusal | None = None
    try:
        price, _, _ = yield from checkout.quote(order)
    except errors.Refusal as refusal:
        unpriced = refusal
    decision: verbs.Decision = yield verbs.consider(code=order.code or "", product=order.product, buyer=None)
    if decision.outcome in ("unknown", "paused") or (unpriced is None and decision.outcome not in ("free", "yours")):
        refused = decision.refusal(order.code or "")
        return (price if isinstance(refused, errors.AllocationSpent | errors.AllocationHeld) else None), refused
    return price, unpriced


def _quote(order: Order) -> Procedure[tuple[Price, str | None, errors.Refusal | None]]:
    price, code, product = yield from checkout.quote(order)
    if code is None:
        return price, None, None
    decision: verbs.Decision = yield verbs.consider(
        code=order.code or "", product=product.id if product else None, buyer=order.buyer or None
    )
    refusal: errors.Refusal | None = None
    if decision.outcome == "limit":
        refusal = errors.BuyerLimitReached(limit=decision.per_buyer_limit, checkout=None)
    elif decision.outcome not in ("free", "yours"):
        refusal = decision.refusal(order.code or "")
    return price, decision.period, refusal
