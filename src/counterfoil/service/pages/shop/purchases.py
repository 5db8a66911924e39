"""What this browser bought, the way back from the payment page, and what a purchase opens."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import catalogue, ending, errors
from counterfoil.model import Checkout, CheckoutStatus
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import finding, words
from counterfoil.service.pages.shop.checkouts import show
from counterfoil.service.pages.shop.content import Content, content_of
from counterfoil.service.state import State, state_of

pages = APIRouter(include_in_schema=False)


@pages.get("/purchases")
async def purchases(request: Request) -> Response:
    """What this browser bought, what that opened, and what it has not paid yet."""
    state = state_of(request)
    sales = await finding.own(request)
    now = await finding.now(request)
    return page(
        request,
        "shop/purchases.html",
        now=now,
        sales=[(sale, await finding.zone_of(state, sale)) for sale in sales],
        waiting={sale.id for sale, _ in await finding.to_go_on_with(request, now)},
        opened=await _opened(state, sales),
    )


@pages.get("/purchases/{session_id}")
async def returned(request: Request, session_id: str) -> Response:
    """
    Back from the payment page: Stripe is asked, and our row tells. What the address claims counts for nothing, and
    neither does what the payment page said.
    """
    state = state_of(request)
    found = await finding.own(request, session_id=session_id)
    if not found:
        return page(request, "not_found.html", 404)
    sale = found[0]
    if sale.status in (CheckoutStatus.OPEN, CheckoutStatus.PENDING):
        try:
            sale = await state.drive(ending.refresh(sale, state.shop))
        except errors.Refusal as refusal:
            if sale.status is CheckoutStatus.PENDING:
                # That it is under way is known, and that it takes days.
                return await show(request, sale)
            return await show(request, sale, words.not_asked(refusal), asked=False)
    return RedirectResponse(f"/checkouts/{sale.id}", 303)


@pages.get("/learn/{unlock}")
async def learn(request: Request, unlock: str) -> Response:
    """What a purchase opened, to the browser that made it: the same at full price and at a discount."""
    opened = await _opened(state_of(request), await finding.own(request, status=CheckoutStatus.PAID))
    content = next((one for one in opened if one.key == unlock), None)
    if content is None:
        return page(request, "shop/locked.html", 403)
    return page(request, "shop/content.html", content=content)


async def _opened(state: State, sales: list[Checkout]) -> list[Content]:
    """What the paid ones among these opened, each once."""
    opened: dict[str, Content] = {}
    own = {sale.id for sale in sales}
    for buyer in {sale.buyer for sale in sales if sale.status is CheckoutStatus.PAID}:
        for entitlement in await state.run(catalogue.entitlements(buyer=buyer, most=1000)):
            if entitlement.checkout in own:
                opened[entitlement.unlock] = content_of(entitlement.unlock)
    return list(opened.values())
