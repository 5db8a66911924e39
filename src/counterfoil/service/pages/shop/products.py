"""What is on sale, what it costs with a code, and buying it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import catalogue, errors
from counterfoil.buyers import check_buyer
from counterfoil.codes import check_typed
from counterfoil.model import CheckoutStatus, Code, Order, Product
from counterfoil.pricing import Price
from counterfoil.service.pages import browser
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import finding, origin
from counterfoil.service.pages.shop.content import content_of
from counterfoil.service.pages.shop.words import Said
from counterfoil.service.selling import open_or_line_up, quote
from counterfoil.service.state import State, state_of

pages = APIRouter(include_in_schema=False)


@pages.get("/")
async def shelves(request: Request, code: str = "") -> Response:
    """
    Everything on sale, and what this browser has not paid yet. A code that came with the address, from a school's
    sheet, goes on to whatever is chosen.
    """
    products = await state_of(request).run(catalogue.products(most=200))
    now = await finding.now(request)
    return page(
        request,
        "shop/catalogue.html",
        now=now,
        code=code,
        # Oldest first, with what each is made of: one kind, or several.
        products=[(one, _kinds(one)) for one in reversed(products)],
        waiting=await finding.to_go_on_with(request, now),
    )


@pages.get("/products/{id}")
async def product(request: Request, id: str, code: str = "") -> Response:
    """One product, with the price that a code makes."""
    found = await finding.the_product(state_of(request), id)
    if found is None:
        return page(request, "not_found.html", 404)
    return await _offer(request, found, code)


@pages.get("/products/{id}/price")
async def price(request: Request, id: str, code: str = "") -> Response:
    """The price alone, for the script that shows it while a code is typed."""
    found = await finding.the_product(state_of(request), id)
    if found is None:
        return page(request, "not_found.html", 404)
    price, told, known = await _priced(request, found, code)
    return page(request, "shop/_price.html", product=found, price=price, said=told, code=code, known=known)


@pages.post("/products/{id}")
async def buy(request: Request, id: str) -> Response:
    """Hold a place if there is a code, and go on to where it is paid."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    found = await finding.the_product(state, id)
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
    except ValueError:
        wrong = "Type the address that the purchase is for, like ada@school.example."
        return await _offer(request, found, typed, buyer, status=422, wrong=wrong)
    try:
        code = check_typed(typed) if typed.strip() else None
    except ValueError:
        return await _offer(request, found, typed, buyer, status=422)
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
        known = await finding.the_code(state, code) if code else None
        told = await finding.told(request, refusal, known)
        return await _shown(
            request, found, await _list_price(state, found), told, known,
            status=told.status, headers=told.headers, code=typed, buyer=buyer, wrong=None,
        )  # fmt: skip
    return browser.remember(RedirectResponse(f"/checkouts/{sale.id}", 303), token, state)


@pages.get("/products/{id}/back")
async def came_back(request: Request, id: str) -> Response:
    """Back from the payment page without having paid: to the checkout that is open, or to the product."""
    for sale in await finding.own(request):
        if sale.product == id:
            return RedirectResponse(f"/checkouts/{sale.id}", 303)
    return RedirectResponse(f"/products/{id}", 303)


async def _offer(
    request: Request, product: Product, typed: str, buyer: str = "", *, wrong: str | None = None, status: int = 200
) -> Response:
    """A product's page, with the price that what was typed makes."""
    price, told, known = await _priced(request, product, typed)
    return await _shown(
        request, product, price, told, known, status=status, headers=None, code=typed, buyer=buyer, wrong=wrong
    )


async def _shown(
    request: Request, product: Product, price: Price, told: Said | None, known: Code | None, **values: Any
) -> Response:
    now = await finding.now(request)
    bought = [sale for sale in await finding.own(request, status=CheckoutStatus.PAID) if sale.product == product.id]
    return page(
        request,
        "shop/product.html",
        now=now,
        product=product,
        contents=[content_of(unlock) for unlock in product.unlocks],
        price=price,
        said=told,
        known=known,
        waiting=await finding.to_go_on_with(request, now, product.id),
        bought=bought[0] if bought else None,
        **values,
    )


async def _list_price(state: State, product: Product) -> Price:
    price, _, _ = await quote(state, _order(product, None))
    return price


async def _priced(request: Request, product: Product, typed: str) -> tuple[Price, Said | None, Code | None]:
    """The price with what was typed, what to say of it, and the code if it may be named."""
    state = state_of(request)
    if not typed.strip():
        return await _list_price(state, product), None, None
    try:
        code = check_typed(typed)
    except ValueError:
        unknown = errors.CodeUnknown(typed)
        return await _list_price(state, product), await finding.told(request, unknown), None
    known = await finding.the_code(state, code)
    try:
        price, _, refusal = await quote(state, _order(product, code))
    except errors.Refusal as unpriced:
        return await _list_price(state, product), await finding.told(request, unpriced, known), known
    if isinstance(refusal, errors.CodePaused | errors.CodeNotOpen | errors.CodeEnded | errors.CodeNotForProduct):
        price = await _list_price(state, product)
    return price, await finding.told(request, refusal, known) if refusal else None, known


def _kinds(product: Product) -> str:
    """What a product is made of, each kind once."""
    return ", ".join(dict.fromkeys(content_of(unlock).kind for unlock in product.unlocks))


def _order(product: Product, code: str | None) -> Order:
    return Order(buyer="", success_url="", cancel_url="", product=product.id, code=code)
