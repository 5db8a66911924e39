"""What the shop's pages look up: products, codes, and what the browser that asks has begun."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from fastapi import Request

from counterfoil import catalogue, errors, records, verbs
from counterfoil.model import Checkout, CheckoutStatus, Code, Product
from counterfoil.service.pages import browser
from counterfoil.service.pages.rendering import reader_of
from counterfoil.service.pages.shop.words import Said, said
from counterfoil.service.state import State, state_of

#: Checkouts of one browser that are looked at.
_MOST = 100


async def the_product(state: State, id: str) -> Product | None:
    """The product of this id."""
    if "\0" in id:
        return None
    found: list[Product] = await state.run(catalogue.products(id=id, most=1))
    return found[0] if found else None


async def the_code(state: State, typed: str) -> Code | None:
    """The code that reads like this."""
    try:
        return await state.run(catalogue.code(typed))
    except errors.CodeUnknown:
        return None


async def now(request: Request) -> datetime:
    """The database's clock."""
    return await state_of(request).run(records.now())


async def told(request: Request, refusal: errors.Refusal, code: Code | None = None) -> Said:
    """
    What a buyer is told of a refusal, as this reader writes numbers and times. Of a code that is paused, or was
    replaced, only what is told of an unknown one, whatever else there would be to say.
    """
    if code is not None and code.paused:
        refusal = errors.CodePaused()
    return said(refusal, code, reader_of(request, await now(request)))


async def own(
    request: Request, *, status: CheckoutStatus | None = None, session_id: str | None = None
) -> list[Checkout]:
    """The checkouts that this browser began, newest first. One without our cookie began none."""
    state = state_of(request)
    digest = browser.known(request, state)
    if digest is None:
        return []
    asked = verbs.checkouts(browser=digest, status=status, session_id=session_id, most=_MOST)
    found: list[Checkout] = await state.run(asked)
    return found


async def own_checkout(request: Request, id: str) -> Checkout | None:
    """A checkout, if this browser began it. Whoever else knows its address sees nothing."""
    state = state_of(request)
    digest = browser.known(request, state)
    try:
        sale = await state.run(verbs.checkout(id=UUID(id))) if digest else None
    except ValueError:
        return None
    return sale if sale and sale.browser == digest else None


async def to_go_on_with(request: Request, now: datetime, product: str | None = None) -> list[tuple[Checkout, str]]:
    """What this browser began and may still pay, of one product or of all, each with the zone of its times."""
    state = state_of(request)
    found = [
        sale
        for sale in await own(request, status=CheckoutStatus.OPEN)
        if sale.session_url and sale.session_expires_at and sale.session_expires_at > now
        and product in (None, sale.product)
    ]  # fmt: skip
    return [(sale, await zone_of(state, sale)) for sale in found]


async def zone_of(state: State, sale: Checkout) -> str:
    """The institution's time zone; without a code nobody's, and UTC."""
    code = await the_code(state, sale.redemption.code) if sale.redemption else None
    return code.time_zone if code else "UTC"
