"""Products: what is sold, for how much, and what it unlocks. Checkouts keep what they were opened with."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError

from counterfoil import catalogue, errors, pricing
from counterfoil.model import Product
from counterfoil.service.fields import LongText, Slug, Text, cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form, adapter, written
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: Products on a page.
MOST = 25
_MOST_UNLOCKS = 100


async def found(state: State, id: str) -> Product:
    """The product of a path: 404 if there is none."""
    products = await state.run(catalogue.products(id=id, most=1))
    if not products:
        raise Problem("not-found", f"There is no product {id[:64]!r}.")
    return products[0]


@pages.page("/products")
async def listed(request: Request, after: str | None = None) -> Response:
    """Products, newest first."""
    since = read_cursor(after, datetime.fromisoformat, str)
    products = await state_of(request).run(
        catalogue.products(after=(since[0], since[1]) if since else None, most=MOST + 1)
    )
    return show(
        request,
        "products",
        products=products[:MOST],
        more=cursor(products[MOST - 1].created_at, products[MOST - 1].id) if len(products) > MOST else None,
        first=since is None,
    )


@pages.page("/new-product")
async def new(request: Request) -> Response:
    """Ask about a new product."""
    return _form(request, Form({"currency": "gbp"}))


@pages.action("/new-product", role=Role.STAFF)
async def add(request: Request) -> Response:
    """Add it. Its price is one that Stripe can charge."""
    form = await Form.of(request)
    terms = _terms(form)
    id = form.take("id", Slug, or_none=True)
    if terms and not id and "id" not in form.errors:
        id = catalogue.slug_of(terms["name"])
        if not id:
            form.wrong("id", "No id can be made of this name. Write one in lower-case letters and dashes.")
    if terms is None or not id or form.errors:
        return _form(request, form, 422)
    try:
        await state_of(request).run(catalogue.add_product(id=id, **terms))
    except errors.AlreadyExists:
        form.wrong("id", f"There is a product with the id “{id}”. Write another.")
        return _form(request, form, 409)
    return then("/admin/products", "product-added")


@pages.page("/products/{id}")
async def edit(request: Request, id: str) -> Response:
    """What it is now, to be changed."""
    product = await found(state_of(request), id)
    return _form(request, _filled(product), product=product)


@pages.action("/products/{id}", role=Role.STAFF)
async def change(request: Request, id: str) -> Response:
    """Change it, if it still is as it was read."""
    state = state_of(request)
    form = await Form.of(request)
    product = await found(state, id)
    version = form.whole("version", least=1, most=2**62)
    terms = _terms(form)
    if terms is None or version is None:
        return _form(request, form, 422, product=product)
    if not await state.run(catalogue.change_product(product=replace(product, version=version), **terms)):
        return _form(request, form, 409, product=await found(state, id), overtaken=True)
    return then("/admin/products", "product-changed")


def _terms(form: Form) -> dict[str, Any] | None:
    name = form.take("name", Text)
    description = form.take("description", LongText)
    currency = form.one_of("currency", sorted(pricing.CURRENCIES))
    amount = form.money("amount", currency)
    unlocks = list(dict.fromkeys(line.strip() for line in form.typed("unlocks").splitlines() if line.strip()))
    if len(unlocks) > _MOST_UNLOCKS:
        form.wrong("unlocks", f"A product unlocks {_MOST_UNLOCKS} things at most.")
    for line in unlocks:
        try:
            adapter(Text).validate_python(line)
        except ValidationError:
            form.wrong("unlocks", f"Each line has 250 characters at most; this one does not: {line[:40]}…")
    if amount is not None and currency is not None:
        try:
            pricing.apply(None, amount, currency)
        except errors.AmountTooSmall:
            least = written(pricing.minimum(currency), currency)
            form.wrong("amount", f"Stripe charges {least} {currency.upper()} or more, or nothing at all.")
    if form.errors:
        return None
    return {"name": name, "description": description, "amount": amount, "currency": currency, "unlocks": unlocks}


def _filled(product: Product) -> Form:
    return Form(
        {
            "name": product.name,
            "description": product.description,
            "amount": written(product.amount, product.currency),
            "currency": product.currency,
            "unlocks": "\n".join(product.unlocks),
            "version": str(product.version),
        }
    )


def _form(
    request: Request, form: Form, status: int = 200, *, product: Product | None = None, overtaken: bool = False
) -> Response:
    return show(
        request,
        "product",
        status,
        form=form,
        product=product,
        overtaken=overtaken,
        version=str(product.version) if product and overtaken else form.typed("version"),
        currencies=[(one, one.upper()) for one in sorted(pricing.CURRENCIES)],
    )
