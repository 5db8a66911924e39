"""What a coupon takes off, and when it may."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, exclusive, missing


def is_valid(coupon: Document, now: float) -> bool:
    """Whether it can be used once more."""
    used_up = coupon["max_redemptions"] is not None and coupon["times_redeemed"] >= coupon["max_redemptions"]
    return not used_up and (coupon["redeem_by"] is None or now < coupon["redeem_by"])


def usable(code: Document, coupons: dict[str, Document], now: float) -> bool:
    """Whether a promotion code can be used once more: by its own bounds and by its coupon's."""
    used_up = code["max_redemptions"] is not None and code["times_redeemed"] >= code["max_redemptions"]
    over = code["expires_at"] is not None and now >= code["expires_at"]
    coupon = coupons.get(code["promotion"]["coupon"])
    return not used_up and not over and coupon is not None and is_valid(coupon, now)


def chosen(
    given: dict[str, Any], coupons: dict[str, Document], codes: dict[str, Document], now: float
) -> tuple[Document, Document | None] | None:
    """
    The coupon that a create call asks for, and the promotion code it came by.

    Raises:
        ApiError: In Stripe's words.
    """
    if "discounts" in given and "allow_promotion_codes" in given:
        raise exclusive("allow_promotion_codes", "discounts")
    if not given.get("discounts"):
        return None
    entries = given["discounts"]
    if not isinstance(entries, list) or len(entries) > 1:
        raise ApiError(400, "You may only specify one discount.", param="discounts")
    entry = entries[0] if isinstance(entries[0], dict) else {}
    if "promotion_code" in entry:
        code = codes.get(entry["promotion_code"])
        if code is None:
            raise missing("promotion code", entry["promotion_code"], "discounts[0][promotion_code]")
        return by_code(code, coupons, now), code
    coupon = coupons.get(entry.get("coupon", ""))
    if coupon is None:
        raise missing("coupon", str(entry.get("coupon")), "discounts[0][coupon]")
    if not is_valid(coupon, now):
        raise ApiError(400, f"Coupon expired: {coupon['id']}", code="coupon_expired", param="discounts[0][coupon]")
    return coupon, None


def by_code(code: Document, coupons: dict[str, Document], now: float) -> Document:
    """
    The coupon of a promotion code.

    Raises:
        ApiError: It is off, over or used up.
    """
    if not code["active"] or not usable(code, coupons, now):
        raise ApiError(400, "This promotion code is no longer valid.", param="discounts[0][promotion_code]")
    return coupons[code["promotion"]["coupon"]]


def taken_off(coupon: Document, subtotal: int, currency: str) -> int:
    """
    How much a coupon takes off, never more than there is.

    Raises:
        ApiError: It is an amount of another currency.
    """
    if coupon["percent_off"] is not None:
        share = Decimal(subtotal) * Decimal(str(coupon["percent_off"])) / 100
        return int(share.quantize(Decimal(1), ROUND_HALF_UP))
    if coupon["currency"] != currency:
        raise ApiError(
            400, f"The coupon {coupon['id']} cannot be used with the currency {currency}.", param="discounts"
        )
    return min(int(coupon["amount_off"]), subtotal)


def spread(amount: int, items: list[Document]) -> None:
    """Write an amount over lines, in proportion; what does not divide goes to the last."""
    total = sum(item["amount_subtotal"] for item in items)
    left = amount
    for index, item in enumerate(items):
        share = left if index == len(items) - 1 else (amount * item["amount_subtotal"] // total if total else 0)
        item["amount_discount"] = share
        item["amount_total"] = item["amount_subtotal"] - share
        left -= share
