"""A checkout as it truly stands, to the browser that began it; and giving it up."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import ending, errors
from counterfoil.model import Checkout, CheckoutStatus
from counterfoil.service.pages import browser
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import finding, words
from counterfoil.service.pages.shop.content import content_of
from counterfoil.service.pages.shop.words import Said
from counterfoil.service.state import state_of

pages = APIRouter(include_in_schema=False)


@pages.get("/checkouts/{id}")
async def shown(request: Request, id: str) -> Response:
    """
    A checkout as our row has it. When its time is over and nothing was heard, Stripe is asked: a payment may have
    arrived at the last moment, and nobody is told that nothing was charged before that is known.
    """
    sale = await finding.own_checkout(request, id)
    if sale is None:
        return page(request, "not_found.html", 404)
    if _is_over(sale, await finding.now(request)):
        return await look_again(request, sale)
    return await show(request, sale)


@pages.post("/checkouts/{id}/cancel")
async def cancel(request: Request, id: str) -> Response:
    """Give the place back."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    sale = await finding.own_checkout(request, id)
    if sale is None:
        return page(request, "not_found.html", 404)
    try:
        await state.drive(ending.cancel(sale, state.shop))
    except errors.Refusal as refusal:
        return await show(request, sale, words.not_cancelled(refusal))
    return RedirectResponse(f"/checkouts/{sale.id}", 303)


async def look_again(request: Request, sale: Checkout) -> Response:
    """Ask Stripe about it, and show what is true now; or that it could not be asked, and what that means."""
    state = state_of(request)
    try:
        sale = await state.drive(ending.refresh(sale, state.shop))
    except errors.Refusal as refusal:
        return await show(request, sale, words.not_asked(refusal), asked=False)
    return await show(request, sale)


async def show(request: Request, sale: Checkout, told: Said | None = None, *, asked: bool = True) -> Response:
    """The page of a checkout. *asked* is false where Stripe should have been asked about it, and was not reached."""
    state = state_of(request)
    now = await finding.now(request)
    code = await finding.the_code(state, sale.redemption.code) if sale.redemption else None
    product = await finding.the_product(state, sale.product) if sale.product else None
    return page(
        request,
        "shop/checkout.html",
        told.status if told else 200,
        headers=told.headers if told else None,
        now=now,
        sale=sale,
        stands=_stands(sale, now, asked=asked),
        # That of who comes last: nobody before waits longer.
        wait=max(1, round(state.pace.wait)),
        code=code,
        zone=code.time_zone if code else "UTC",
        said=told,
        contents=[content_of(unlock) for unlock in product.unlocks] if product else [],
    )


def _stands(sale: Checkout, now: datetime, *, asked: bool) -> str:
    """How it stands, in a word: its status, but for what only the clock, or Stripe alone, tells of an open one."""
    if sale.status is not CheckoutStatus.OPEN:
        return str(sale.status)
    if not asked or (_is_over(sale, now) and sale.last_session is not None):
        # Its session may be paid: that nothing was charged is not ours to say before Stripe does.
        return "not known"
    if _is_over(sale, now):
        return "expired"
    return "open" if sale.session_id else "in line"


def _is_over(sale: Checkout, now: datetime) -> bool:
    """Whether the time for paying it has passed, and nobody told us how it ended."""
    ends_at = sale.session_expires_at or (sale.redemption.expires_at if sale.redemption else None)
    return sale.status is CheckoutStatus.OPEN and ends_at is not None and ends_at <= now
