"""What a buyer is told. Public pages say this much, and no more: the exact reason is for callers with a key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from counterfoil import errors
from counterfoil.model import Code
from counterfoil.service import problems
from counterfoil.service.pages.reader import Reader
from counterfoil.service.throttle import in_words


@dataclass(frozen=True)
class Said:
    """A sentence, what comes next, and the status and the headers of the page that says so."""

    sentence: str
    next_step: str
    status: int = 409
    retry: bool = False
    #: Where the next step is taken: its address, and its name.
    link: tuple[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def said(refusal: errors.Refusal, code: Code | None, reader: Reader) -> Said:
    """What a buyer is told of a refusal. When to try again is said to programs as well."""
    return replace(_told(refusal, code, reader), headers=problems.of(refusal).headers)


def not_asked(refusal: errors.Refusal) -> Said:
    """What is told to whoever may have paid, when Stripe could not be asked."""
    return Said(
        "Whether your payment arrived is not known yet.",
        "Look again in a moment. If you paid, it counts: there is no need to pay twice.",
        503,
        headers=problems.of(refusal).headers,
    )


def not_cancelled(refusal: errors.Refusal) -> Said:
    """What is told when the payment page could not be closed, so that nothing was given back."""
    return Said(
        "It could not be cancelled just now, and nothing has changed.",
        "Try again in a moment, or leave it: it ends by itself.",
        503,
        headers=problems.of(refusal).headers,
    )


def too_many(wait: timedelta) -> Said:
    """What is told to whoever must wait because of wrong codes: the same whether theirs is right."""
    seconds = max(1, math.ceil(wait.total_seconds()))
    return Said(
        "Too many wrong codes were typed.",
        f"Wait {in_words(seconds)}, then try yours again.",
        429,
        headers={"Retry-After": str(seconds)},
    )


def _told(refusal: errors.Refusal, code: Code | None, reader: Reader) -> Said:
    zone = code.time_zone if code else "UTC"
    school = code.institution_name if code else "your school"
    match refusal:
        case errors.AllocationSpent():
            return Said(f"All places for {refusal.fields['period']} are taken.", f"Ask {school} for more places.")
        case errors.AllocationHeld():
            return Said("All places are taken at the moment.", _may_come_back(refusal, zone, reader), retry=True)
        case errors.BuyerLimitReached():
            return Said("You have used this code.", "What it opened is there:", link=("/purchases", "My purchases"))
        case errors.OpenElsewhere():
            until: datetime = refusal.fields["expires_at"]
            return Said(
                "A place is being held for this address in another browser.",
                f"Go on where you began, or wait until {reader.time(until, zone)}.",
            )
        case errors.TooManyHolds():
            when = f"after {reader.time(refusal.until, zone)}" if refusal.until else "once one of them is paid for"
            return Said(
                "Too many places were held from your network and not paid for.",
                f"Try again {when}, or from another network.",
                429,
                retry=True,
            )
        case errors.CodeNotOpen():
            opens = refusal.fields["starts_on"]
            return Said(f"This code opens on {reader.day(opens)}." if opens else "This code is not open yet.", "")
        case errors.CodeEnded():
            return Said(f"This code ended on {reader.day(refusal.fields['ends_on'])}.", "")
        case errors.CodeNotForProduct() | errors.CurrencyMismatch() | errors.DiscountExceedsPrice():
            return Said("This code is for something else.", f"Check with {school} what it is good for.")
        case errors.CodeUnknown() | errors.CodePaused():
            return Said("We do not recognise this code.", "Check it with whoever gave it to you.", 422)
        case errors.AmountTooSmall():
            return Said("The total would be too small to be charged.", "Buy without the code, or ask us.", 422)
        case errors.AmountNotChargeable() | errors.AmountTooLarge():
            return Said("What is left to pay cannot be charged.", "Buy without the code, or ask us.", 422)
        case errors.StripeUnavailable():
            return Said(
                "The payment page could not be made. Nothing was charged, and no place was used.",
                "Try again in a moment.",
                503,
                retry=True,
            )
    return Said("Many are buying right now.", "Try again in a moment: your place is not lost.", 503, retry=True)


def _may_come_back(refusal: errors.AllocationHeld, zone: str, reader: Reader) -> str:
    held, when = refusal.fields["held"], refusal.fields["next_release_at"]
    if when is None:
        return "Some may come back. Try again in a moment."
    by = reader.time(when, zone)
    said = f"One place may come back by {by}" if held == 1 else f"{held} places may come back, the first by {by}"
    return f"{said}. Try again then."
