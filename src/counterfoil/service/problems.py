"""
What a refusal is over HTTP: one table, at the edge.

Every error is ``application/problem+json`` (RFC 9457), its ``type`` a page of ours that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import format_datetime
from typing import Any

from starlette.responses import JSONResponse

from counterfoil import errors


@dataclass(frozen=True)
class Kind:
    """One problem code: its status, what it means, and what the caller does about it."""

    status: int
    title: str
    advice: str


KINDS: dict[str, Kind] = {
    "code-unknown": Kind(422, "Code not recognised", "No code reads like this one. Check it with whoever gave it out."),
    "product-unknown": Kind(422, "Product unknown", "There is no product of this id. List them with GET /v1/products."),
    "institution-unknown": Kind(
        422, "Institution unknown", "There is no institution of this id or slug. List them with GET /v1/institutions."
    ),
    "currency-mismatch": Kind(
        422, "The code is for another currency", "The code takes off an amount in another currency than the price's."
    ),
    "discount-exceeds-price": Kind(
        422,
        "The discount exceeds the price",
        "The code takes off more than there is to pay: it is for dearer products.",
    ),
    "period-invalid": Kind(
        422,
        "Not a period of this code",
        "Write it as the code's calendar does: 2026-27, 2027, 2027-03, all, or the name of one of its periods.",
    ),
    "period-overlaps": Kind(
        409, "The days are another period's", "A day is in one period of a code at most; see period for the other one."
    ),
    "period-in-use": Kind(
        409, "Period in use", "It has an allocation, so it stays. Its days may be changed; its cap may be set to 0."
    ),
    "counts-elsewhere": Kind(
        409, "The code counts with another", "Calendar and periods are those of counts_with: change them there."
    ),
    "no-cap": Kind(409, "No cap to move places of", "One of the two has no cap in that period. Set one there first."),
    "code-paused": Kind(409, "Code paused", "The seller paused the code. It works again once it is resumed."),
    "code-replaced": Kind(
        409,
        "Code replaced",
        "Another code was put in its place, so it stays stopped. What you want to do, do with replaced_by.",
    ),
    "code-not-open": Kind(
        409, "Code not open yet", "The first day of the code, in the institution's zone, is starts_on."
    ),
    "code-ended": Kind(409, "Code ended", "The last day of the code, in the institution's zone, was ends_on."),
    "code-not-for-product": Kind(409, "Code not for this product", "The code is good for other products."),
    "allocation-spent": Kind(
        409,
        "All places are taken",
        "Every place of the period is paid for, or being paid for. Only a higher cap lets anybody in.",
    ),
    "allocation-held": Kind(
        409,
        "All places are taken at the moment",
        "No place is free now. Some are only held: the first may come back at next_release_at, so try again then.",
    ),
    "buyer-limit-reached": Kind(
        409, "The buyer has used this code", "This buyer has used the code as often as a buyer may; see checkout."
    ),
    "open-elsewhere": Kind(
        409,
        "A place is held for this buyer in another browser",
        "A checkout is shown only to the browser that began it. Continue there, or wait until expires_at.",
    ),
    "amount-too-small": Kind(
        422, "Amount too small to be charged", "The total is more than nothing and less than Stripe's minimum."
    ),
    "cap-below-used": Kind(
        409,
        "Cap below what is used",
        "More places are in use than the new cap allows. Send confirm to lower it anyway; only free places are moved.",
    ),
    "codes-too-dense": Kind(
        422,
        "Codes that could be guessed",
        "So many codes of this form that one try in one_in would hit one. Use the longer pattern, or fewer codes.",
    ),
    "cap-moved": Kind(
        409,
        "The cap was changed meanwhile",
        "It is no longer what you sent as was, but cap. Send that as was to change it all the same.",
    ),
    "buyer-still-buying": Kind(
        409,
        "The buyer is still buying",
        "Nothing was erased: see redemptions and checkouts for what is under way. Cancel each with POST "
        "/v1/checkouts/{id}/cancel, or send end_open=true; wait for a payment that is under way.",
    ),
    "already-exists": Kind(409, "Already exists", "The code, slug or product id is taken. Choose another."),
    "busy": Kind(
        503,
        "Busy, try again",
        "Many are asking at once, or Stripe could not be asked about a lapsed hold. It is not full.",
    ),
    "stripe-unavailable": Kind(
        503,
        "The payment provider did not make a page",
        "No session could be created. The place was given back and nothing was charged; try again in a moment.",
    ),
    "idempotency-mismatch": Kind(
        422, "Idempotency key used for something else", "The key was used with another body or path. Use a fresh one."
    ),
    "idempotency-in-progress": Kind(
        409,
        "The first request is still at work",
        "A request with this idempotency key has not been answered yet. Wait.",
    ),
    "invalid-request": Kind(422, "The request is not valid", "See errors: each names the field and what is wrong."),
    "bad-request": Kind(400, "The request could not be read", "The body is not JSON, or a header is malformed."),
    "bad-signature": Kind(
        400,
        "Signature not valid",
        "Check STRIPE_WEBHOOK_SECRET, that nothing on the way rewrites the body, and this machine's clock.",
    ),
    "unauthorized": Kind(401, "No valid key", "Send Authorization: Bearer with a key that was not revoked."),
    "forbidden": Kind(
        403, "Not allowed", "Use a key with the scope that the detail names; on pages, an account whose role reaches."
    ),
    "provider-refused": Kind(
        403,
        "The sign-in provider let nobody in",
        "On the seller's pages: what the OpenID Connect provider sent may let nobody in. The detail says why. Sign in "
        "again, or with a password.",
    ),
    "provider-unavailable": Kind(
        503,
        "The sign-in provider does not answer",
        "On the seller's pages: try again in a moment, or sign in with a password.",
    ),
    "not-found": Kind(404, "Not found", "There is nothing at this address."),
    "method-not-allowed": Kind(405, "Method not allowed", "See the Allow header."),
    "too-large": Kind(413, "The body is too large", "Send a smaller body."),
    "unsupported-media-type": Kind(415, "The body is not JSON", "Send Content-Type: application/json."),
    "rate-limited": Kind(
        429,
        "Too many attempts",
        "On pages: too many places held from one address and not paid for, or too many wrong codes or keys. Wait as "
        "long as Retry-After says.",
    ),
    "internal": Kind(500, "Something went wrong here", "It was logged. Nothing was charged because of it; try again."),
}


@dataclass
class Problem(Exception):
    """An error as it leaves the service."""

    code: str
    detail: str
    status: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self, public_url: str) -> JSONResponse:
        """The answer that says so."""
        kind = KINDS[self.code]
        status = self.status or kind.status
        body = {
            "type": f"{public_url.rstrip('/')}/problems/{self.code}",
            "title": kind.title,
            "status": status,
            "detail": self.detail,
            "code": self.code,
            **{name: _plain(value) for name, value in self.fields.items()},
        }
        return JSONResponse(body, status, dict(self.headers), media_type="application/problem+json")


def of(refusal: errors.Refusal) -> Problem:
    """The problem that a refusal is."""
    headers: dict[str, str] = {}
    status: int | None = None
    if isinstance(refusal, errors.Busy):
        headers["Retry-After"] = str(refusal.retry_after)
    elif isinstance(refusal, errors.StripeUnavailable):
        status = 502 if refusal.answered else 503
    elif isinstance(refusal, errors.TooManyHolds):
        headers["Retry-After"] = format_datetime(refusal.until.astimezone(UTC), usegmt=True) if refusal.until else "60"
    return Problem(refusal.code, refusal.detail, status, refusal.fields, headers)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value
