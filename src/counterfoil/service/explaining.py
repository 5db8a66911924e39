"""An explanation as it is shown: the sentence that the buyer sees, what a person can do, and the numbers."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, Field

from counterfoil import errors
from counterfoil.explanation import Explanation
from counterfoil.service.pages.reader import Reader
from counterfoil.service.pages.shop.words import said
from counterfoil.service.resources import Moment, RedemptionOut


class ExplanationOut(BaseModel):
    """Why a buyer would be let in or refused now. *buyer_sees* is the sentence on the shop's pages."""

    typed: str
    folded: str = Field(description="The form in which codes are compared.")
    code: str | None
    near: list[str] = Field(description="Where there is no such code: those that are written nearly so.")
    institution: str | None
    admitted: bool
    outcome: str = Field(description="What was decided: free, yours, or why not.")
    refusal: str | None = Field(description="The problem code; null if the buyer is let in.")
    detail: str | None
    buyer_sees: str
    what_to_do: str
    at: Moment
    today: date | None = Field(description="The day it is at the institution.")
    time_zone: str | None
    starts_on: date | None
    ends_on: date | None
    paused: bool
    replaced_by: str | None
    product: str | None
    amount: int | None
    currency: str | None
    period: str | None
    calendar: str | None
    calendar_of: str | None = Field(description="The institution whose calendar names the period.")
    counts_with: str | None = Field(description="The code whose allocations count.")
    cap: int | None
    cap_from: str | None = Field(description="period: set for this one; code: the code's own, of every other period.")
    note: str | None
    completed: int
    pending: int
    held: int
    lapsed: int
    overdue: int
    remaining: int | None
    next_release_at: Moment | None
    asks_first: int = Field(description="Payment pages that Stripe is asked about before a place is given away.")
    buyer: str | None
    buyer_limit: int | None
    buyer_spent: int
    claim: RedemptionOut | None
    addresses_hoarding: int
    addresses_guessing: int
    codes_wait_until: Moment | None

    @classmethod
    def of(cls, found: Explanation, reader: Reader) -> ExplanationOut:
        """An explanation as it is shown to this reader."""
        code, decision, refusal = found.code, found.decision, found.refusal
        return cls(
            typed=found.typed,
            folded=found.folded,
            code=code.code if code else None,
            near=list(found.near),
            institution=code.institution_name if code else None,
            admitted=refusal is None,
            outcome=decision.outcome,
            refusal=refusal.code if refusal else None,
            detail=refusal.detail if refusal else None,
            buyer_sees=_seen(found, reader),
            what_to_do=_what_to_do(found, reader),
            at=found.moment,
            today=found.today,
            time_zone=code.time_zone if code else None,
            starts_on=code.starts_on if code else None,
            ends_on=code.ends_on if code else None,
            paused=bool(code and code.paused),
            replaced_by=found.replaced_by,
            product=found.product.id if found.product else None,
            amount=found.price.amount if found.price else None,
            currency=found.price.currency if found.price else None,
            period=decision.period or None,
            calendar=found.calendar,
            calendar_of=found.keeper,
            counts_with=found.pool,
            cap=found.cap,
            cap_from=None if code is None else "period" if found.cap_is_own else "code",
            note=found.note,
            completed=found.completed,
            pending=found.pending,
            held=found.held,
            lapsed=found.lapsed,
            overdue=found.overdue,
            remaining=found.remaining,
            next_release_at=found.next_release_at,
            asks_first=found.asks_first,
            buyer=found.buyer,
            buyer_limit=code.per_buyer_limit if code else None,
            buyer_spent=found.spent,
            claim=RedemptionOut.of(found.claim) if found.claim else None,
            addresses_hoarding=found.hoarding,
            addresses_guessing=found.guessing,
            codes_wait_until=found.codes_wait_until,
        )


def _seen(found: Explanation, reader: Reader) -> str:
    if found.refusal is not None:
        told = said(found.refusal, found.code, reader)
        link = f" {told.link[1]}." if told.link else ""
        return f"{told.sentence} {told.next_step}".strip() + link
    return "Your place is held."


def _what_to_do(found: Explanation, reader: Reader) -> str:
    """What a person of the seller's can do."""
    code, claim = found.code, found.claim
    zone = code.time_zone if code else "UTC"
    name = code.code if code else found.typed
    match found.refusal:
        case None if found.decision.outcome == "yours" and claim is not None:
            return (
                f"A place is held for this buyer already, until {reader.time(claim.expires_at, zone)}: they go on in "
                f"the browser where they began. `counterfoil release {claim.id}` gives it back."
            )
        case None if found.asks_first:
            return (
                "No place is free by our rows alone. Stripe is asked first whether the payment pages that ended were "
                f"paid: {found.asks_first} of them. If one was not, its place is given."
            )
        case None:
            return "Nothing: a place is held once they go to payment."
        case errors.CodeUnknown():
            near = f" Nearly so: {', '.join(found.near)}." if found.near else ""
            return f"No code reads like this. Compare it with what was given out.{near}"
        case errors.CodePaused() if found.replaced_by:
            return f"It was replaced. The code is {found.replaced_by} now: tell them that one."
        case errors.CodePaused():
            return f"`counterfoil code resume {name}` lets buyers in again."
        case errors.CodeNotOpen() | errors.CodeEnded():
            return "Its first and last day are changed on the code's page, under Edit."
        case errors.CodeNotForProduct():
            good = ", ".join(code.products or ()) if code else ""
            return f"It is good for {good}. Which products those are is changed on the code's page, under Edit."
        case errors.CurrencyMismatch() | errors.DiscountExceedsPrice() | errors.AmountTooSmall():
            return f"The discount and the product do not go together. {found.refusal.detail}"
        case errors.BuyerLimitReached():
            return (
                "This buyer has used it. If they should get another place, raise how often each buyer may use it: on "
                "the code's page, under Edit."
            )
        case errors.AllocationSpent():
            return f"Only a higher cap lets anybody in: `counterfoil cap set {found.pool} {found.decision.period} N`."
        case errors.AllocationHeld():
            return (
                "Wait: what is not paid for comes back by itself. Or `counterfoil release ID` gives a hold back, and "
                f"`counterfoil cap set {found.pool} {found.decision.period} N` raises the cap."
            )
    return "Try again in a moment."
