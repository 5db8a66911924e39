"""What is on sale, what it costs with a code, and buying it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import catalogue, errors
from counterfoil.buyers import check_buyer
from counterfoil.codes import check_typed
from counterfoil.model import CheckoutStatus, Code, Order, Product
from counterfoil.service.pages import browser
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import finding, origin, words
from counterfoil.service.pages.shop.content import content_of
from counterfoil.service.pages.shop.trying import Offer, at_list_price, attempt, offer, unknown
from counterfoil.service.selling import open_or_line_up
from counterfoil.service.state import state_of

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
    """The price alone, for the script that shows it once a code was typed."""
    found = await finding.the_product(state_of(request), id)
    if found is None:
        return page(request, "not_found.html", 404)
    made = await offer(request, found, code)
    status, headers = _must_wait(made)
    return page(
        request, "shop/_price.html", status, headers=headers,
        product=found, price=made.price, said=made.said, code=code, known=made.known,
    )  # fmt: skip


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
    known: Code | None = None
    if code is not None:
        tried = await attempt(request, found, code)
        if tried.code is None:
            told = unknown(request, tried) if tried.wait is None else words.too_many(tried.wait)
            return await _refused(request, found, at_list_price(found, told), typed, buyer)
        known = tried.code
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
        return await _refused(
            request, found, at_list_price(found, await finding.told(request, refusal, known), known), typed, buyer
        )
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
    made = await offer(request, product, typed)
    waits, headers = _must_wait(made)
    return await _shown(
        request, product, made,
        status=status if waits == 200 else waits, headers=headers, code=typed, buyer=buyer, wrong=wrong,
    )  # fmt: skip


async def _refused(request: Request, product: Product, made: Offer, typed: str, buyer: str) -> Response:
    """A product's page that says why it was not bought. Nothing that was typed is lost."""
    status, headers = (made.said.status, made.said.headers) if made.said else (200, None)
    return await _shown(request, product, made, status=status, headers=headers, code=typed, buyer=buyer, wrong=None)


def _must_wait(made: Offer) -> tuple[int, Mapping[str, str] | None]:
    """The status and headers of a page that shows a price: that its code is of no use is no error, unless one waits."""
    return (429, made.said.headers) if made.said and made.said.status == 429 else (200, None)


async def _shown(request: Request, product: Product, made: Offer, **values: Any) -> Response:
    now = await finding.now(request)
    bought = [sale for sale in await finding.own(request, status=CheckoutStatus.PAID) if sale.product == product.id]
    return page(
        request,
        "shop/product.html",
        now=now,
        product=product,
        contents=[content_of(unlock) for unlock in product.unlocks],
        price=made.price,
        said=made.said,
        known=made.known,
        waiting=await finding.to_go_on_with(request, now, product.id),
        bought=bought[0] if bought else None,
        **values,
    )


def _kinds(product: Product) -> str:
    """What a product is made of, each kind once."""
    return ", ".join(dict.fromkeys(content_of(unlock).kind for unlock in product.unlocks))
