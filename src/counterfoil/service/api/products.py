"""Products."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from counterfoil import catalogue, pricing
from counterfoil.service.fields import Amount, Body, Currency, LongText, Slug, Text, cursor, read_cursor
from counterfoil.service.problems import Problem
from counterfoil.service.resources import Page, ProductOut
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Products")


class ProductIn(Body):
    """What is sold, and what a paid checkout of it unlocks."""

    id: Slug
    name: Text
    description: LongText = ""
    amount: Amount
    currency: Currency
    unlocks: Annotated[list[Text], Field(max_length=100, default_factory=list)]


@reader("product")
async def shown(state: State, key: str) -> ProductOut:
    """A product as it is now."""
    found = await state.run(catalogue.products(id=key, most=1))
    if not found:
        raise Problem("not-found", f"There is no product {key[:64]!r}.")
    return ProductOut.of(found[0])


@api.call(
    "POST",
    "/products",
    "manage",
    problems=("already-exists", "amount-too-small"),
    status_code=201,
    response_model=ProductOut,
)
async def add(request: Request, body: ProductIn) -> Response:
    """Add a product. Its price is one that Stripe can charge."""
    pricing.apply(None, body.amount, body.currency)
    made = await state_of(request).run(
        catalogue.add_product(
            id=body.id,
            name=body.name,
            description=body.description,
            amount=body.amount,
            currency=body.currency,
            unlocks=list(dict.fromkeys(body.unlocks)),
        )
    )
    return answer(request, Resource("product", made.id, ProductOut.of(made), 201))


@api.call("GET", "/products", "read")
async def listed(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[ProductOut]:
    """List products, newest first."""
    after = read_cursor(cursor_, datetime.fromisoformat, str)
    found = await state_of(request).run(
        catalogue.products(after=(after[0], after[1]) if after else None, most=limit + 1)
    )
    return Page[ProductOut](
        data=[ProductOut.of(one) for one in found[:limit]],
        next_cursor=cursor(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None,
    )


@api.call("GET", "/products/{id}", "read")
async def one(request: Request, id: str) -> ProductOut:
    """One product."""
    return await shown(state_of(request), id)
