"""What a request to create a session must satisfy, in the order and the words of Stripe's answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from counterfoil.simulator import money
from counterfoil.simulator.refusals import ApiError, exclusive, missing_parameter, unknown_parameter

FLOOR = 30 * 60
CEILING = 24 * 60 * 60

#: The parameters of 2026-10-28.endive that have an effect here.
KNOWN = frozenset(
    """
    adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types cancel_url client_reference_id
    currency customer customer_creation customer_email discounts expand expires_at line_items locale metadata mode
    payment_intent_data payment_method_collection payment_method_options submit_type success_url ui_mode
    """.split()
)


#: What one discount takes off a subtotal of a currency; the object's ``discounts``.
Reduction = Callable[[int, str], tuple[int, list[Any]]]


def check(given: dict[str, Any], now: int, floor: int, reduce: Reduction) -> dict[str, Any]:
    """
    Check the parameters of a create call, and work out the amounts: subtotal, discount, total, in minor units.

    Raises:
        ApiError: In Stripe's words.
    """
    for name in given:
        if name not in KNOWN:
            raise unknown_parameter(name)
    if given.get("mode") is None:
        raise missing_parameter("mode")
    if given["mode"] != "payment":
        raise ApiError(400, f"Invalid mode: {given['mode']}. The simulator knows `payment`.", param="mode")
    if given.get("ui_mode", "hosted_page") != "hosted_page":
        raise ApiError(
            400,
            f"Invalid ui_mode: must be one of elements, embedded_page, form, or hosted_page (got {given['ui_mode']}).",
            param="ui_mode",
        )
    if not given.get("success_url"):
        raise missing_parameter("success_url")
    for name in ("success_url", "cancel_url"):
        if given.get(name) and urlsplit(given[name]).scheme not in ("http", "https"):
            raise ApiError(400, "Not a valid URL", code="url_invalid", param=name)
    if "customer" in given and "customer_email" in given:
        raise exclusive("customer", "customer_email")
    if given.get("customer_email") and "@" not in given["customer_email"]:
        raise ApiError(
            400, f"Invalid email address: {given['customer_email']}", code="email_invalid", param="customer_email"
        )
    if len(given.get("client_reference_id", "")) > 200:
        raise ApiError(400, "Invalid string: must be at most 200 characters", param="client_reference_id")
    check_metadata("metadata", given.get("metadata"))
    if "payment_intent_data" in given:
        check_metadata("payment_intent_data[metadata]", given["payment_intent_data"].get("metadata"))
    amounts = _amounts(given, reduce)
    if "expires_at" in given:
        _check_expiry(given["expires_at"], now, floor)
    return amounts


def _check_expiry(text: str, now: int, floor: int) -> None:
    if not text.isdigit():
        raise ApiError(400, f"Invalid integer: {text}", code="parameter_invalid_integer", param="expires_at")
    if int(text) < now + floor:
        raise ApiError(
            400,
            "The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.",
            param="expires_at",
        )
    if int(text) >= now + CEILING:
        raise ApiError(
            400,
            "The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.",
            param="expires_at",
        )


def check_metadata(name: str, metadata: Any) -> None:
    """
    Stripe's bounds: 50 keys of 40 characters, values of 500.

    Raises:
        ApiError: They are passed.
    """
    if metadata is None or metadata == "":
        return
    if not isinstance(metadata, dict):
        raise ApiError(400, f"Invalid object: {name}", param=name)
    if len(metadata) > 50:
        raise ApiError(400, f"You can only have up to 50 keys in {name}.", param=name)
    for key, value in metadata.items():
        if len(key) > 40 or len(str(value)) > 500:
            raise ApiError(400, "Metadata keys may have 40 characters and values 500.", param=f"{name}[{key}]")


def _amounts(given: dict[str, Any], reduce: Reduction) -> dict[str, Any]:
    items = given.get("line_items")
    if not items:
        raise missing_parameter("line_items")
    total, currencies = 0, set()
    for index, item in enumerate(items):
        price = item.get("price_data") if isinstance(item, dict) else None
        if not isinstance(price, dict):
            raise missing_parameter(f"line_items[{index}][price_data]")
        if "price" in item:
            raise exclusive("price", "price_data")
        for name in ("currency", "unit_amount", "product_data"):
            if name not in price:
                raise missing_parameter(f"line_items[{index}][price_data][{name}]")
        if not price["product_data"].get("name"):
            raise missing_parameter(f"line_items[{index}][price_data][product_data][name]")
        if not price["unit_amount"].isdigit() or not item.get("quantity", "1").isdigit():
            raise ApiError(
                400,
                f"Invalid integer: {price['unit_amount']}",
                code="parameter_invalid_integer",
                param=f"line_items[{index}][price_data][unit_amount]",
            )
        currencies.add(price["currency"])
        total += int(price["unit_amount"]) * int(item.get("quantity", "1"))
    if len(currencies) != 1:
        raise ApiError(400, "All line items must have the same currency.", param="line_items")
    currency = currencies.pop()
    subtotal = total
    off, discounts = reduce(subtotal, currency)
    total -= off
    least = money.MINIMUMS.get(currency, 1)
    if 0 < total < least:
        raise ApiError(
            400,
            f"The Checkout Session's total amount must convert to at least {money.written(least, currency)}.",
            code="amount_too_small",
        )
    if total > money.MAXIMUM:
        raise ApiError(
            400,
            f"The Checkout Session's total amount must be no more than {money.written(money.MAXIMUM, currency)}.",
            code="amount_too_large",
        )
    return {"subtotal": subtotal, "discount": off, "total": total, "currency": currency, "discounts": discounts}
