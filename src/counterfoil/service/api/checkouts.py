"""Quotes and checkouts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import Field, model_validator

from counterfoil import ending, verbs
from counterfoil.model import Checkout, CheckoutStatus, Order
from counterfoil.service.fields import (
    Amount,
    Body,
    Buyer,
    Currency,
    Metadata,
    Slug,
    SoughtCode,
    Text,
    WebAddress,
    cursor,
    read_cursor,
)
from counterfoil.service.problems import Problem
from counterfoil.service.resources import CheckoutOut, Page, QuoteOut
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.selling import open_checkout, quote
from counterfoil.service.state import State, state_of

api = router("Checkouts")

#: Why there is no price.
PRICING = (
    "product-unknown", "code-unknown", "currency-mismatch", "discount-exceeds-price", "amount-too-small",
)  # fmt: skip
#: Why a buyer is not let in.
ADMISSION = (
    "code-paused", "code-not-open", "code-ended", "code-not-for-product", "allocation-spent", "allocation-held",
    "buyer-limit-reached",
)  # fmt: skip


class WhatIn(Body):
    """A product of ours, or a name, amount and currency of the caller's own; with a code, or at full price."""

    product: Slug | None = None
    name: Text | None = None
    amount: Amount | None = None
    currency: Currency | None = None
    code: SoughtCode | None = None

    @model_validator(mode="after")
    def _what(self) -> WhatIn:
        own = (self.name, self.amount, self.currency)
        if self.product is not None and own != (None, None, None):
            raise ValueError("give a product, or a name, amount and currency; not both")
        if self.product is None and None in own:
            raise ValueError("give a product, or all of name, amount and currency")
        return self


class QuoteIn(WhatIn):
    """What is to be bought; *buyer*, if known, tells whether it is theirs to buy."""

    buyer: Buyer | None = None


class CheckoutIn(WhatIn):
    """What is to be bought, and whose it is. Going to *cancel_url* ends nothing by itself: call cancel."""

    buyer: Buyer
    success_url: WebAddress
    cancel_url: WebAddress
    metadata: Metadata = Field(default_factory=dict)


@reader("checkout")
async def shown(state: State, key: str) -> CheckoutOut:
    """A checkout as it is now."""
    return CheckoutOut.of(await found(state, UUID(key)))


async def found(state: State, id: UUID) -> Checkout:
    """The checkout of a path: 404 if there is none."""
    sale = await state.run(verbs.checkout(id=id))
    if sale is None:
        raise Problem("not-found", f"There is no checkout {id}.")
    return sale


@api.call("POST", "/quotes", "checkout", problems=PRICING)
async def quoted(request: Request, body: QuoteIn) -> QuoteOut:
    """What would be charged now. Holds nothing; full is an answer, not an error."""
    order = Order(
        buyer=body.buyer or "",
        success_url="",
        cancel_url="",
        product=body.product,
        name=body.name,
        amount=body.amount,
        currency=body.currency,
        code=body.code,
    )
    price, period, refusal = await quote(state_of(request), order)
    return QuoteOut(
        list_amount=price.list_amount,
        discount_amount=price.discount_amount,
        amount=price.amount,
        currency=price.currency,
        code=body.code,
        period=period,
        available=refusal is None,
        refusal=refusal.code if refusal else None,
    )


@api.call(
    "POST",
    "/checkouts",
    "checkout",
    status_code=201,
    response_model=CheckoutOut,
    responses={200: {"model": CheckoutOut, "description": "The buyer's own, which was open already"}},
    problems=(*PRICING, *ADMISSION, "stripe-unavailable"),
)
async def opened(request: Request, body: CheckoutIn) -> Response:
    """
    Open a checkout: hold a place if there is a code, and make the payment page.

    201 for a new one, 200 for the buyer's own that is open already.
    """
    order = Order(
        buyer=body.buyer,
        success_url=body.success_url,
        cancel_url=body.cancel_url,
        product=body.product,
        name=body.name,
        amount=body.amount,
        currency=body.currency,
        code=body.code,
        metadata=body.metadata,
    )
    made = await open_checkout(state_of(request), order)
    resource = Resource("checkout", str(made.checkout.id), CheckoutOut.of(made.checkout), 200 if made.resumed else 201)
    return answer(request, resource)


@api.call("GET", "/checkouts", "checkout")
async def listed(
    request: Request,
    buyer: Buyer | None = None,
    session_id: Annotated[Text | None, Query()] = None,
    status: CheckoutStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[CheckoutOut]:
    """List checkouts, newest first."""
    after = read_cursor(cursor_, datetime.fromisoformat, UUID)
    sales = await state_of(request).run(
        verbs.checkouts(
            buyer=buyer,
            session_id=session_id,
            status=status,
            after=(after[0], after[1]) if after else None,
            most=limit + 1,
        )
    )
    return Page[CheckoutOut](
        data=[CheckoutOut.of(sale) for sale in sales[:limit]],
        next_cursor=cursor(sales[limit - 1].created_at, sales[limit - 1].id) if len(sales) > limit else None,
    )


@api.call("GET", "/checkouts/{id}", "checkout")
async def one(request: Request, id: str) -> CheckoutOut:
    """One checkout, as our rows have it."""
    return CheckoutOut.of(await found(state_of(request), in_path(id)))


@api.call("POST", "/checkouts/{id}/refresh", "checkout", response_model=CheckoutOut, problems=("stripe-unavailable",))
async def refreshed(request: Request, id: str) -> Response:
    """Ask Stripe about the session, settle, and answer the checkout: for return pages."""
    state = state_of(request)
    sale = await state.drive(ending.refresh(await found(state, in_path(id)), state.shop))
    return answer(request, Resource("checkout", str(sale.id), CheckoutOut.of(sale)))


@api.call("POST", "/checkouts/{id}/cancel", "checkout", response_model=CheckoutOut, problems=("stripe-unavailable",))
async def cancelled(request: Request, id: str) -> Response:
    """End the session at Stripe and give the place back. Answers the checkout as it truly is: it may prove paid."""
    state = state_of(request)
    sale = await state.drive(ending.cancel(await found(state, in_path(id)), state.shop))
    return answer(request, Resource("checkout", str(sale.id), CheckoutOut.of(sale)))


def in_path(id: str) -> UUID:
    """The id of a path. What is no UUID is no id of ours."""
    try:
        return UUID(id)
    except ValueError:
        raise Problem("not-found", f"There is nothing of the id {id[:64]!r}.") from None
