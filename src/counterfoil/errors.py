"""
The refusals.

Each leaves the database as it was, says in words what to do, and carries what the caller needs. ``code`` is the
problem code of the contract; what a refusal is over HTTP is one table in ``service/problems.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, ClassVar
from uuid import UUID


class Refusal(Exception):
    """Why something was not done."""

    code: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, detail: str, **fields: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        #: What the caller needs to act, by the names of the contract.
        self.fields = fields


class CodeUnknown(Refusal):
    """No code reads like this one."""

    code = "code-unknown"
    title = "Code not recognised"

    def __init__(self, typed: str) -> None:
        super().__init__(f"No code reads like {typed[:64]!r}. Check it with whoever gave it out.")


class ProductUnknown(Refusal):
    """No product has this id."""

    code = "product-unknown"
    title = "Product unknown"

    def __init__(self, product: str) -> None:
        super().__init__(f"There is no product {product[:64]!r}.")


class InstitutionUnknown(Refusal):
    """No institution has this id or slug."""

    code = "institution-unknown"
    title = "Institution unknown"

    def __init__(self, institution: str) -> None:
        super().__init__(f"There is no institution {institution[:64]!r}.")


class CurrencyMismatch(Refusal):
    """The code's discount is in another currency than the price."""

    code = "currency-mismatch"
    title = "The code is for another currency"

    def __init__(self, *, expected: Sequence[str], got: str) -> None:
        known = " or ".join(expected)
        super().__init__(f"The code's discount is in {known}, the price in {got}.", expected=expected[0], got=got)
        if len(expected) > 1:
            self.fields["currencies"] = list(expected)


class DiscountExceedsPrice(Refusal):
    """The discount is more than there is to pay."""

    code = "discount-exceeds-price"
    title = "The discount exceeds the price"

    def __init__(
        self, detail: str = "The code takes off more than the price. It is meant for a dearer product."
    ) -> None:
        super().__init__(detail)


class PeriodInvalid(Refusal):
    """Not a period of the code's calendar."""

    code = "period-invalid"
    title = "Not a period of this code"


class CodePaused(Refusal):
    """The code was paused by the seller."""

    code = "code-paused"
    title = "Code paused"

    def __init__(self) -> None:
        super().__init__("The code is paused. Ask whoever gave it out when it will work again.")


class CodeReplaced(Refusal):
    """Another code was put in its place: it is stopped for good, and what is to be changed is changed there."""

    code = "code-replaced"
    title = "Code replaced"

    def __init__(self, typed: str, *, replaced_by: str) -> None:
        super().__init__(
            f"{typed[:64]} was replaced by {replaced_by} and stays stopped. Use {replaced_by} instead.",
            replaced_by=replaced_by,
        )


class CodeNotOpen(Refusal):
    """The code's first day has not come yet."""

    code = "code-not-open"
    title = "Code not open yet"

    def __init__(self, starts_on: date | None, ends_on: date | None = None) -> None:
        said = f"The code is good from {starts_on:%Y-%m-%d} on." if starts_on else "The code has no period yet."
        super().__init__(said, starts_on=starts_on, ends_on=ends_on)


class CodeEnded(Refusal):
    """The code's last day is over."""

    code = "code-ended"
    title = "Code ended"

    def __init__(self, ends_on: date, starts_on: date | None = None) -> None:
        super().__init__(f"The code was good until {ends_on:%Y-%m-%d}.", starts_on=starts_on, ends_on=ends_on)


class CodeNotForProduct(Refusal):
    """The code is for other products."""

    code = "code-not-for-product"
    title = "Code not for this product"

    def __init__(self) -> None:
        super().__init__("The code is good for other products than this one.")


class AllocationSpent(Refusal):
    """Every place of the period is paid for, or being paid for."""

    code = "allocation-spent"
    title = "All places are taken"

    def __init__(self, *, period: str, cap: int) -> None:
        super().__init__(
            f"All {cap} places for {period} are taken. Ask the institution for more.", period=period, cap=cap
        )


class AllocationHeld(Refusal):
    """No place is free now; some are only held and may come back."""

    code = "allocation-held"
    title = "All places are taken at the moment"

    def __init__(self, *, period: str, cap: int, held: int, next_release_at: datetime | None) -> None:
        when = f" The first may come back at {next_release_at:%H:%M} UTC." if next_release_at else ""
        super().__init__(
            f"All {cap} places for {period} are taken at the moment; {held} of them may come back.{when}",
            period=period,
            cap=cap,
            held=held,
            next_release_at=next_release_at,
        )


class BuyerLimitReached(Refusal):
    """This buyer has used the code as often as a buyer may."""

    code = "buyer-limit-reached"
    title = "You have used this code"

    def __init__(self, *, limit: int | None, checkout: UUID | None) -> None:
        times = "once" if limit == 1 else f"{limit} times"
        super().__init__(
            f"A buyer may use this code {times} per period, and has.",
            limit=limit,
            checkout=str(checkout) if checkout else None,
        )


class TooManyHolds(Refusal):
    """
    From the buyer's address too many of the code's last places are held, or were held within a day and not paid for.

    Attributes:
        until: When the oldest of them counts no more; None while one of them may still be paid, which ends it sooner.
    """

    code = "rate-limited"
    title = "Too many places held from your network"

    def __init__(self, *, unpaid: int, until: datetime | None) -> None:
        when = f"Try again after {until:%Y-%m-%d %H:%M} UTC." if until else "Try again once one of them is paid for."
        super().__init__(f"{unpaid} places of this code were held from your network and not paid for. {when}")
        self.unpaid = unpaid
        self.until = until


class OpenElsewhere(Refusal):
    """This buyer's hold was begun in another browser, and is shown to that browser only."""

    code = "open-elsewhere"
    title = "A place is being held for you elsewhere"

    def __init__(self, *, expires_at: datetime) -> None:
        super().__init__(
            "A place is held for this address in another browser. Continue there, or wait until it frees itself.",
            expires_at=expires_at,
        )


class AmountTooSmall(Refusal):
    """More than nothing, and less than Stripe charges."""

    code = "amount-too-small"
    title = "Amount too small to be charged"

    def __init__(self, *, minimum: int) -> None:
        super().__init__(f"The total is below what Stripe can charge ({minimum} minor units).", minimum=minimum)


class AmountTooLarge(Refusal):
    """More than Stripe charges at once."""

    code = "invalid-request"
    title = "Amount too large to be charged"

    def __init__(self, *, maximum: int) -> None:
        super().__init__(f"The total is above what Stripe can charge at once ({maximum} minor units).")


class AmountNotChargeable(Refusal):
    """Not a multiple of what Stripe charges in this currency."""

    code = "invalid-request"
    title = "Amount that cannot be charged"

    def __init__(self, *, amount: int, currency: str, step: int) -> None:
        below = amount - amount % step
        near = f"{below} or {below + step}" if below else str(step)
        message = f"Stripe charges {currency} in multiples of {step} minor units: {amount} is none, {near} is"
        super().__init__(f"{message}.", step=step, errors=[{"field": "amount", "message": message}])


class CapBelowUsed(Refusal):
    """More places are in use than the new cap allows."""

    code = "cap-below-used"
    title = "Cap below what is used"

    def __init__(self, *, used: int) -> None:
        super().__init__(
            f"{used} places are in use. Confirm to lower the cap all the same: nobody new is let in until then.",
            used=used,
        )


class CodesTooDense(Refusal):
    """So many codes of this form would be guessed."""

    code = "codes-too-dense"
    title = "Codes that could be guessed"

    def __init__(self, *, codes: int, existing: int, one_in: int, hard_enough: int, pattern: str) -> None:
        there = f", with the {existing:,} that there are," if existing else ""
        super().__init__(
            f"{codes:,} codes of this form{there} could be guessed: one try in {one_in:,} would hit one, and it should "
            f"be {hard_enough:,} or more. The pattern {pattern} would do.",
            codes=codes,
            existing=existing,
            one_in=one_in,
            pattern=pattern,
        )


class FileUnreadable(Refusal):
    """The file is no table of codes."""

    code = "invalid-request"
    title = "The file cannot be read"


class NotSoManyFree(CapBelowUsed):
    """More places were to be moved away than are free."""

    def __init__(self, *, code: str, period: str, used: int, free: int) -> None:
        Refusal.__init__(
            self,
            f"{free} places of {code} are free in {period}, and {used} are in use. Move as many as are free, or fewer.",
            used=used,
            free=free,
        )


class NoCap(Refusal):
    """There is no cap there: what has no number has no places to give, and needs none."""

    code = "no-cap"
    title = "No cap to move places of"

    def __init__(self, *, code: str, period: str) -> None:
        super().__init__(
            f"{code} has no cap in {period}: everybody is let in. Set a cap there first.", uncapped=f"{code} {period}"
        )


class CannotMove(Refusal):
    """Places do not move like this."""

    code = "invalid-request"
    title = "Places do not move like this"


class PeriodOverlaps(Refusal):
    """Some of the days are another period's."""

    code = "period-overlaps"
    title = "The days are another period's"

    def __init__(self, *, period: str, starts_on: date | None, ends_on: date | None) -> None:
        super().__init__(
            f"{period} has some of these days: it is from {starts_on} to {ends_on}. A day is in one period at most.",
            period=period,
            starts_on=starts_on,
            ends_on=ends_on,
        )


class PeriodInUse(Refusal):
    """The period has an allocation."""

    code = "period-in-use"
    title = "Period in use"

    def __init__(self, period: str) -> None:
        super().__init__(
            f"{period} has an allocation: places of it were wanted, or its cap was set. Its days may be changed.",
            period=period,
        )


class CountsElsewhere(Refusal):
    """The code counts with another one: its calendar and its periods are that one's."""

    code = "counts-elsewhere"
    title = "The code counts with another"

    def __init__(self, counts_with: str) -> None:
        super().__init__(
            f"The code counts with {counts_with}: calendar and periods are that one's. Change them there.",
            counts_with=counts_with,
        )


class CapMoved(Refusal):
    """The cap is no longer the one that whoever changes it saw: somebody else changed it meanwhile."""

    code = "cap-moved"
    title = "The cap was changed meanwhile"

    def __init__(self, *, cap: int | None) -> None:
        now = "no cap" if cap is None else f"{cap} places"
        super().__init__(f"Somebody changed the cap meanwhile: it is {now} now. Look at it, and set it again.", cap=cap)


class AlreadyExists(Refusal):
    """The code, slug or product id is taken."""

    code = "already-exists"
    title = "Already exists"


class IdentityDiffers(Refusal):
    """The code that is to be counted with tells buyers apart by another rule."""

    code = "invalid-request"
    title = "Another rule of who is the same buyer"

    def __init__(self, *, counts_with: str, rule: str) -> None:
        self.said = f"{counts_with} tells buyers apart by {rule}, and so does every code that counts with it"
        super().__init__(
            f"{self.said}. Leave buyer_identity out.", errors=[{"field": "buyer_identity", "message": self.said}]
        )


class BuyerStillBuying(Refusal):
    """Something of this buyer's is under way, so they cannot be forgotten yet."""

    code = "buyer-still-buying"
    title = "The buyer is still buying"

    def __init__(self, *, redemptions: list[str], checkouts: list[str]) -> None:
        super().__init__(
            "A place is held for this buyer, or a payment page or a payment of theirs is open. Nothing was erased. "
            "Cancel it, or let open payment pages be ended first (end_open, --end-open); a payment that is under way "
            "must be waited for.",
            redemptions=redemptions,
            checkouts=checkouts,
        )


class NotFound(Refusal):
    """There is nothing of this id."""

    code = "not-found"
    title = "Not found"


class Busy(Refusal):
    """
    The lock was not won in time, or Stripe could not be asked about a lapsed hold.

    Never the same as spent: try again after ``retry_after`` seconds.
    """

    code = "busy"
    title = "Busy, try again"

    def __init__(
        self, detail: str = "Many are asking at once. Try again in a moment.", *, retry_after: int = 1
    ) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class StripeUnavailable(Refusal):
    """
    No session could be created, or asked about, whatever the reason. A place that was held for it was given back.

    Attributes:
        answered: Stripe answered, with an error; else it could not be reached.
        said: What Stripe answered, in a sentence.
        http_status: What it answered with, if it did.
    """

    code = "stripe-unavailable"
    title = "The payment provider could not be reached"

    def __init__(
        self,
        *,
        answered: bool,
        stripe_code: str | None = None,
        stripe_message: str | None = None,
        request_id: str | None = None,
        http_status: int | None = None,
    ) -> None:
        self.said = f"Stripe answered: {stripe_message}" if answered else "Stripe could not be reached."
        super().__init__(
            f"{self.said} Nothing was charged. Try again in a moment.",
            stripe_code=stripe_code,
            stripe_message=stripe_message,
            request_id=request_id,
        )
        self.answered = answered
        self.http_status = http_status


class SessionOutlivesHold(StripeUnavailable):
    """Stripe's expiry does not lie before the hold's. The session was ended, the place given back."""

    def __init__(self) -> None:
        super().__init__(answered=True, stripe_message="a session that would outlive its hold")


class BadSignature(Refusal):
    """The event was not signed by Stripe with a secret we know, or too long ago."""

    code = "bad-signature"
    title = "Signature not valid"

    def __init__(self) -> None:
        super().__init__(
            "The signature does not fit the body, or is too old. Check that STRIPE_WEBHOOK_SECRET is this endpoint's "
            "secret, that nothing on the way rewrites the body, and that this machine's clock is right."
        )


class InsideTransaction(Exception):
    """A place was to be decided inside a caller's transaction. Give the host an autocommit connection of its own."""
