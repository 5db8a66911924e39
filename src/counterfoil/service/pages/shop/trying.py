"""A code as it is typed on a page: whether it may be looked at, and what there is to say of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from fastapi import Request

from counterfoil import errors, guessing
from counterfoil.codes import check_typed, fold
from counterfoil.guessing import Tried
from counterfoil.model import Code, Order, Product
from counterfoil.pricing import Price, apply
from counterfoil.service import letters
from counterfoil.service.pages.rendering import reader_of
from counterfoil.service.pages.shop import finding, origin, words
from counterfoil.service.pages.shop.words import Said
from counterfoil.service.selling import look
from counterfoil.service.state import state_of
from counterfoil.service.throttle import digest

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Offer:
    """A price; what is told of the code; and the code itself, if it may be named."""

    price: Price
    said: Said | None = None
    known: Code | None = None


def at_list_price(product: Product, said: Said | None = None, known: Code | None = None) -> Offer:
    """The product without a code, or with one that changes nothing."""
    return Offer(apply(None, product.amount, product.currency), said, known)


async def offer(request: Request, product: Product, typed: str) -> Offer:
    """
    The price that makes what was typed.

    The statements are the same, and as many, for every code: what they take tells nobody whether there is such a one.
    """
    if not typed.strip():
        return at_list_price(product)
    try:
        code = check_typed(typed)
    except ValueError:
        return at_list_price(product, await finding.told(request, errors.CodeUnknown(typed)))
    tried = await attempt(request, product, code)
    if tried.wait is not None:
        return at_list_price(product, words.too_many(tried.wait))
    order = Order(buyer="", success_url="", cancel_url="", product=product.id, code=code)
    price, refusal = await look(state_of(request), order)
    if tried.code is None:
        # Whatever has become of it since.
        return at_list_price(product, unknown(request, tried))
    told = words.said(refusal, tried.code, reader_of(request, tried.moment)) if refusal else None
    return Offer(price, told, tried.code) if price else at_list_price(product, told, tried.code)


async def attempt(request: Request, product: Product, code: str) -> Tried:
    """One try of a code. Why it is of no use goes to the log, and what was typed does not: it may be anything."""
    state = state_of(request)
    settings = state.settings
    tried: Tried = await state.run(
        guessing.try_code(
            code=code,
            product=product.id,
            digest=digest(f"guess {fold(code)}", settings),
            origin=origin.of(request, state),
            limits=settings.guessing,
            mail=letters.guessing(settings),
            lock_timeout=settings.lock_timeout,
        )
    )
    outcome = "waits" if tried.wait is not None else "wrong" if tried.code is None else "recognised"
    state.metrics.code_tries.labels(outcome).inc()
    if tried.reason is not None:
        log.info(
            "a code was of no use on a page",
            extra={"reason": tried.reason, "code": tried.known_as, "product": product.id},
        )
    return tried


def unknown(request: Request, tried: Tried) -> Said:
    """What is told of every code that is not recognised, whatever the reason."""
    return words.said(errors.CodeUnknown(""), None, reader_of(request, tried.moment))
