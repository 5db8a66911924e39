"""The reference shop: catalogue, product, checkout, purchases, and what they open."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import catalogue, ending, errors, records, verbs
from counterfoil.buyers import check_buyer
from counterfoil.codes import check_code
from counterfoil.model import Checkout, CheckoutStatus, Code, Order, Product
from counterfoil.pricing import Price
from counterfoil.service.pages import browser
from counterfoil.service.pages.rendering import page, reader_of
from counterfoil.service.pages.shop import origin
from counterfoil.service.pages.shop.content import content_of
from counterfoil.service.pages.shop.words import Said, said
from counterfoil.service.selling import open_or_line_up, quote
from counterfoil.service.state import State, state_of

storefront = APIRouter(include_in_schema=False)


@storefront.get("/")
async def shelves(request: Request) -> Response:
    """Everything on sale."""
    products = await state_of(request).run(catalogue.products(most=200))
    return page(request, "shop/catalogue.html", products=list(reversed(products)))


@storefront.get("/products/{id}")
async def product(request: Request, id: str, code: str = "") -> Response:
    """One product, with the price that a code makes."""
    state = state_of(request)
    found = await _product(state, id)
    if found is None:
        return page(request, "not_found.html", 404)
    return await _offer(request, found, code)


@storefront.get("/products/{id}/price")
async def price(request: Request, id: str, code: str = "") -> Response:
    """The price alone, for the script that shows it while a code is typed."""
    state = state_of(request)
    found = await _product(state, id)
    if found is None:
        return page(request, "not_found.html", 404)
    price, told, known = await _priced(request, found, code)
    return page(request, "shop/_price.html", product=found, price=price, said=told, code=code, known=known)


@storefront.post("/products/{id}")
async def buy(request: Request, id: str) -> Response:
    """Hold a place if there is a code, and go on to where it is paid."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    found = await _product(state, id)
    if found is None:
        return page(request, "not_found.html", 404)
    form = await request.form()
    typed, buyer = str(form.get("code", "")), str(form.get("buyer", ""))
    if "look" in form:
        # A form and not a link, so that the address that was typed is in no URL and is not lost.
        return await _offer(request, found, typed, buyer)
    digest, token = browser.known_or_new(request, state)
    try:
        check_buyer(buyer)
        code = check_code(typed) if typed.strip() else None
    except ValueError as error:
        return await _offer(request, found, typed, buyer, wrong=str(error), status=422)
    base = state.settings.public_url.rstrip("/")
    order = Order(
        buyer=buyer,
        product=found.id,
        code=code,
        browser=digest,
        origin=origin.of(request, state),
        success_url=f"{base}/purchases/{{CHECKOUT_SESSION_ID}}",
        cancel_url=f"{base}/products/{found.id}/back",
    )
    try:
        sale = await open_or_line_up(state, order)
    except errors.Refusal as refusal:
        known = await _code(state, code) if code else None
        told = await _said(request, refusal, known)
        shown = await _list_price(state, found)
        return page(
            request, "shop/product.html", told.status, headers=told.headers, product=found, price=shown, said=told,
            code=typed, known=known, buyer=buyer, wrong=None,
        )  # fmt: skip
    return browser.remember(RedirectResponse(f"/checkouts/{sale.id}", 303), token, state)


@storefront.get("/checkouts/{id}")
async def shown(request: Request, id: str) -> Response:
    """A checkout as our row has it, to the browser that began it."""
    state = state_of(request)
    sale = await _own(request, state, id)
    if sale is None:
        return page(request, "not_found.html", 404)
    return await _shown(request, state, sale)


@storefront.post("/checkouts/{id}/cancel")
async def cancel(request: Request, id: str) -> Response:
    """Give the place back."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    sale = await _own(request, state, id)
    if sale is None:
        return page(request, "not_found.html", 404)
    try:
        await state.drive(ending.cancel(sale, state.shop))
    except errors.Refusal as refusal:
        return await _shown(request, state, sale, await _said(request, refusal))
    return RedirectResponse(f"/checkouts/{sale.id}", 303)


@storefront.get("/products/{id}/back")
async def came_back(request: Request, id: str) -> Response:
    """Back from the payment page without having paid: to the checkout that is open, or to the product."""
    state = state_of(request)
    digest = browser.known(request, state)
    if digest is not None:
        for sale in await state.run(verbs.checkouts(browser=digest, most=20)):
            if sale.product == id:
                return RedirectResponse(f"/checkouts/{sale.id}", 303)
    return RedirectResponse(f"/products/{id}", 303)


@storefront.get("/purchases")
async def purchases(request: Request) -> Response:
    """What this browser bought, and what it opened."""
    state = state_of(request)
    digest = browser.known(request, state)
    sales = await state.run(verbs.checkouts(browser=digest, most=100)) if digest else []
    return page(request, "shop/purchases.html", sales=sales, opened=await _unlocked(state, sales))


@storefront.get("/purchases/{session_id}")
async def returned(request: Request, session_id: str) -> Response:
    """Back from the payment page, it says having paid: Stripe is asked, and our row tells."""
    state = state_of(request)
    digest = browser.known(request, state)
    found = await state.run(verbs.checkouts(session_id=session_id, browser=digest, most=1)) if digest else []
    if not found:
        return page(request, "not_found.html", 404)
    sale = found[0]
    if sale.status in (CheckoutStatus.OPEN, CheckoutStatus.PENDING):
        try:
            sale = await state.drive(ending.refresh(sale, state.shop))
        except errors.Refusal as refusal:
            return await _shown(request, state, sale, await _said(request, refusal))
    return RedirectResponse(f"/checkouts/{sale.id}", 303)


@storefront.get("/learn/{unlock}")
async def learn(request: Request, unlock: str) -> Response:
    """What a purchase opened, to the browser that made it: the same at full price and at a discount."""
    state = state_of(request)
    digest = browser.known(request, state)
    sales = await state.run(verbs.checkouts(browser=digest, status=CheckoutStatus.PAID, most=100)) if digest else []
    if unlock not in await _unlocked(state, sales):
        return page(request, "shop/locked.html", 403)
    return page(request, "shop/content.html", content=content_of(unlock))


async def _offer(
    request: Request, product: Product, typed: str, buyer: str = "", *, wrong: str | None = None, status: int = 200
) -> Response:
    """A product's page, with the price that what was typed makes."""
    price, told, known = await _priced(request, product, typed)
    return page(
        request, "shop/product.html", status, product=product, price=price, said=told, code=typed, known=known,
        buyer=buyer, wrong=wrong,
    )  # fmt: skip


async def _shown(request: Request, state: State, sale: Checkout, told: Said | None = None) -> Response:
    code = await _code(state, sale.redemption.code) if sale.redemption else None
    claim = sale.redemption
    over = (
        sale.status is CheckoutStatus.OPEN
        and claim is not None
        and (sale.session_expires_at or claim.expires_at) <= claim.read_at
    )
    in_line = sale.status is CheckoutStatus.OPEN and sale.session_id is None and not over
    unlocks = (await state.run(catalogue.products(id=sale.product, most=1)))[0].unlocks if sale.product else ()
    return page(
        request,
        "shop/checkout.html",
        told.status if told else 200,
        headers=told.headers if told else None,
        now=claim.read_at if claim else None,
        sale=sale,
        state="expired" if over else "in line" if in_line else str(sale.status),
        # That of who comes last: nobody before waits longer.
        wait=max(1, round(state.pace.wait)),
        code=code,
        zone=code.time_zone if code else "UTC",
        said=told,
        unlocks=[content_of(unlock) for unlock in unlocks],
    )


async def _own(request: Request, state: State, id: str) -> Checkout | None:
    digest = browser.known(request, state)
    try:
        sale = await state.run(verbs.checkout(id=UUID(id))) if digest else None
    except ValueError:
        return None
    return sale if sale and sale.browser == digest else None


async def _product(state: State, id: str) -> Product | None:
    if "\0" in id:
        return None
    found: list[Product] = await state.run(catalogue.products(id=id, most=1))
    return found[0] if found else None


async def _code(state: State, typed: str) -> Code | None:
    try:
        return await state.run(catalogue.code(typed))
    except errors.CodeUnknown:
        return None


async def _list_price(state: State, product: Product) -> Price:
    price, _, _ = await quote(state, _order(product, None))
    return price


async def _said(request: Request, refusal: errors.Refusal, code: Code | None = None) -> Said:
    now = await state_of(request).run(records.now())
    return said(refusal, code, reader_of(request, now))


async def _priced(request: Request, product: Product, typed: str) -> tuple[Price, Said | None, Code | None]:
    """The price with what was typed, what to say of it, and the code if it may be named."""
    state = state_of(request)
    if not typed.strip():
        return await _list_price(state, product), None, None
    try:
        code = check_code(typed)
    except ValueError:
        return await _list_price(state, product), await _said(request, errors.CodeUnknown(typed)), None
    known = await _code(state, code)
    try:
        price, _, refusal = await quote(state, _order(product, code))
    except errors.Refusal as unpriced:
        return await _list_price(state, product), await _said(request, unpriced, known), known
    if isinstance(refusal, errors.CodePaused | errors.CodeNotOpen | errors.CodeEnded | errors.CodeNotForProduct):
        price = await _list_price(state, product)
    return price, await _said(request, refusal, known) if refusal else None, known


async def _unlocked(state: State, sales: list[Checkout]) -> dict[str, str]:
    """What the paid ones among these opened, by its key, with its title."""
    opened: dict[str, str] = {}
    for buyer in {sale.buyer for sale in sales if sale.status is CheckoutStatus.PAID}:
        own = {sale.id for sale in sales}
        for entitlement in await state.run(catalogue.entitlements(buyer=buyer, most=1000)):
            if entitlement.checkout in own:
                opened[entitlement.unlock] = content_of(entitlement.unlock).title
    return opened


def _order(product: Product, code: str | None) -> Order:
    return Order(buyer="", success_url="", cancel_url="", product=product.id, code=code)
