"""Coupons and promotion codes. A use is counted when a session completes; an open session holds nothing."""

from __future__ import annotations

from typing import Any

from counterfoil.simulator import objects, reductions
from counterfoil.simulator.account import Account
from counterfoil.simulator.calls import Call, Routes, known, listing
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, exclusive, missing, missing_parameter


def create_coupon(account: Account, call: Call) -> Document:
    """A new coupon: so many percent, or an amount of one currency, off."""
    given = call.given
    percent, amount = given.pop("percent_off", None), given.pop("amount_off", None)
    currency = given.pop("currency", None)
    if percent is not None and amount is not None:
        raise exclusive("percent_off", "amount_off")
    if percent is None and amount is None:
        raise missing_parameter("percent_off")
    if amount is not None and currency is None:
        raise missing_parameter("currency")
    id = given.pop("id", None) or objects.new_id("", 8)[1:]
    if id in account.engine.coupons:
        raise ApiError(400, "Coupon already exists.", code="resource_already_exists")
    made = objects.coupon(
        id=id,
        created=account.engine.clock.stamp(),
        percent_off=_percent(percent) if percent is not None else None,
        amount_off=_positive("amount_off", amount),
        currency=currency,
        duration=given.pop("duration", "once"),
        max_redemptions=_positive("max_redemptions", given.pop("max_redemptions", None)),
        redeem_by=_positive("redeem_by", given.pop("redeem_by", None)),
        name=given.pop("name", None),
        metadata=given.pop("metadata", None) or {},
    )
    call.nothing_else()
    account.engine.coupons[id] = made
    return objects.shown(made)


def retrieve_coupon(account: Account, call: Call) -> Document:
    """One coupon, with its count as it is now."""
    call.expand()
    call.nothing_else()
    return _coupon(account, call.id)


def list_coupons(account: Account, call: Call) -> Document:
    """Coupons, newest first."""
    return listing(call, (_coupon(account, id) for id in reversed(account.engine.coupons)), "/v1/coupons")


def delete_coupon(account: Account, call: Call) -> Document:
    """No more."""
    if account.engine.coupons.pop(call.id, None) is None:
        raise missing("coupon", call.id, "coupon")
    return {"id": call.id, "object": "coupon", "deleted": True}


def create_promotion_code(account: Account, call: Call) -> Document:
    """A code that customers type for a coupon; one of its text may be active at a time."""
    engine, given = account.engine, call.given
    promotion = given.pop("promotion", None)
    if not isinstance(promotion, dict) or "coupon" not in promotion:
        raise missing_parameter("promotion[coupon]")
    most = known(engine.coupons, "coupon", promotion["coupon"], "promotion[coupon]")["max_redemptions"]
    code = given.pop("code", None) or objects.new_id("", 8)[1:].upper()
    if not all(character.isalnum() or character == "-" for character in code):
        raise ApiError(400, "Promotion codes may have letters, digits and dashes only.", param="code")
    made = objects.promotion_code(
        code=code,
        coupon=promotion["coupon"],
        created=engine.clock.stamp(),
        max_redemptions=_positive("max_redemptions", given.pop("max_redemptions", None)),
        expires_at=_positive("expires_at", given.pop("expires_at", None)),
        customer=given.pop("customer", None),
        active=given.pop("active", "true") == "true",
        metadata=given.pop("metadata", None) or {},
    )
    call.nothing_else()
    if most is not None and (made["max_redemptions"] or 0) > most:
        raise ApiError(400, "max_redemptions is more than the coupon's.", param="max_redemptions")
    if made["active"] and any(
        other["active"] and other["code"].lower() == code.lower() for other in engine.promotion_codes.values()
    ):
        raise ApiError(400, "An active promotion code with `code: " + code + "` already exists.", param="code")
    engine.promotion_codes[made["id"]] = made
    return _promotion_code(account, made["id"])


def retrieve_promotion_code(account: Account, call: Call) -> Document:
    """One promotion code."""
    call.expand()
    call.nothing_else()
    return _promotion_code(account, call.id)


def update_promotion_code(account: Account, call: Call) -> Document:
    """Switch it on or off: nothing else of it changes, its ``max_redemptions`` least of all."""
    code = known(account.engine.promotion_codes, "promotion code", call.id, "promotion_code")
    active, metadata = call.given.pop("active", None), call.given.pop("metadata", None)
    call.nothing_else()
    if active is not None:
        code["active"] = active == "true"
    if isinstance(metadata, dict):
        code["metadata"] |= metadata
    return _promotion_code(account, call.id)


def list_promotion_codes(account: Account, call: Call) -> Document:
    """Promotion codes, newest first."""
    code, coupon, active = (call.given.pop(name, None) for name in ("code", "coupon", "active"))
    fitting = (
        one
        for one in (_promotion_code(account, id) for id in reversed(account.engine.promotion_codes))
        if (code is None or one["code"].lower() == code.lower())
        and coupon in (None, one["promotion"]["coupon"])
        and active in (None, str(one["active"]).lower())
    )
    return listing(call, fitting, "/v1/promotion_codes")


def _coupon(account: Account, id: str) -> Document:
    coupon = known(account.engine.coupons, "coupon", id, "coupon")
    return objects.shown(coupon) | {"valid": reductions.is_valid(coupon, account.engine.clock.seconds())}


def _promotion_code(account: Account, id: str) -> Document:
    engine = account.engine
    code = known(engine.promotion_codes, "promotion code", id, "promotion_code")
    usable = reductions.usable(code, engine.coupons, engine.clock.seconds())
    return objects.shown(code) | {"active": code["active"] and usable}


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise ApiError(400, "Invalid percent_off: must be over 0 and at most 100", param="percent_off")
    return value


def _positive(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if not str(value).isdigit() or int(value) < 1:
        raise ApiError(400, f"Invalid positive integer: {value}", code="parameter_invalid_integer", param=name)
    return int(value)


ROUTES: Routes = [
    ("POST", "/v1/coupons", create_coupon),
    ("GET", "/v1/coupons", list_coupons),
    ("GET", "/v1/coupons/{id}", retrieve_coupon),
    ("DELETE", "/v1/coupons/{id}", delete_coupon),
    ("POST", "/v1/promotion_codes", create_promotion_code),
    ("GET", "/v1/promotion_codes", list_promotion_codes),
    ("GET", "/v1/promotion_codes/{id}", retrieve_promotion_code),
    ("POST", "/v1/promotion_codes/{id}", update_promotion_code),
]
