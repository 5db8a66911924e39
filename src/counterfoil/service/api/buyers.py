"""What is held about a person, and forgetting them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from pydantic import BaseModel, Field

from counterfoil import forgetting
from counterfoil.forgetting import Forgotten
from counterfoil.service.fields import Buyer
from counterfoil.service.routing import router
from counterfoil.service.state import state_of

api = router("Buyers")

Whom = Annotated[Buyer, Path(description="An address, or the shop's own reference.")]


class AtStripe(BaseModel):
    """What Stripe keeps of a person is found by these: redact it there (docs.stripe.com/privacy/redaction)."""

    sessions: list[str]
    payment_intents: list[str]


class BuyerOut(BaseModel):
    """
    All that is held about a buyer: the rows as they are, by kind. *addresses*: by which it was found; a code
    that counts by mailboxes knows all addresses of one.
    """

    buyer: str
    addresses: list[str]
    redemptions: list[dict[str, Any]]
    checkouts: list[dict[str, Any]]
    entitlements: list[dict[str, Any]]
    events: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    steps: list[dict[str, Any]]
    attention: list[dict[str, Any]]
    audit: list[dict[str, Any]]
    idempotency_keys: list[dict[str, Any]]
    at_stripe: AtStripe


class Erased(BaseModel):
    """How many rows no longer say whose they are."""

    redemptions: int
    checkouts: int
    entitlements: int
    events: int
    idempotency_keys: int


class ForgottenOut(BaseModel):
    """What was erased here, and what is left at Stripe."""

    erased: Erased
    at_stripe: AtStripe = Field(description="Not erased by us: Stripe keeps its own records of a payment.")

    @classmethod
    def of(cls, forgotten: Forgotten) -> ForgottenOut:
        """What was erased, as it is shown."""
        return cls(
            erased=Erased(**forgotten.erased),
            at_stripe=AtStripe(sessions=list(forgotten.sessions), payment_intents=list(forgotten.payment_intents)),
        )


@api.call("GET", "/buyers/{buyer:path}", "manage")
async def one(request: Request, buyer: Whom) -> BuyerOut:
    """All that is held about a buyer, as one document. Empty lists: nothing is."""
    return BuyerOut(buyer=buyer, **await state_of(request).run(forgetting.held(buyer=buyer)))


@api.call("DELETE", "/buyers/{buyer:path}", "manage", problems=("buyer-still-buying", "stripe-unavailable"))
async def forget(request: Request, buyer: Whom, end_open: Annotated[bool, Query()] = False) -> ForgottenOut:
    """
    Forget a buyer: no row says any longer whose it was. Every count stays as it is; doing it twice is harmless.

    What the buyer bought is no longer found by their name, and their limit at codes begins anew. While a hold, a
    payment page or a payment of theirs is open nothing is erased; with `end_open=true` open pages are ended first.
    """
    state = state_of(request)
    return ForgottenOut.of(await state.drive(forgetting.forget(buyer, state.shop, end_open=end_open)))
