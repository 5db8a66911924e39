"""The objects, with every key that the SDK's classes of API version 2026-10-28.endive have."""

from __future__ import annotations

import secrets
from typing import Any

API_VERSION = "2026-10-28.endive"

Document = dict[str, Any]

_SESSION_NULLS = (
    "after_expiration billing_address_collection branding_settings client_secret consent "
    "consent_collection currency_conversion customer_account customer_details "
    "excluded_payment_method_types integration_identifier invoice locale name_collection origin_context payment_intent "
    "payment_link payment_method_configuration_details permissions presentment_details recovered_from "
    "redirect_on_completion return_url saved_payment_method_options setup_intent shipping_address_collection "
    "shipping_cost submit_type subscription tax_id_collection wallet_options"
).split()

_INTENT_NULLS = (
    "amount_details application application_fee_amount canceled_at cancellation_reason customer customer_account "
    "description excluded_payment_method_types hooks last_payment_error latest_charge managed_payments next_action "
    "on_behalf_of payment_details payment_method payment_method_configuration_details payment_record "
    "presentment_details processing receipt_email review setup_future_usage shipping source statement_descriptor "
    "statement_descriptor_suffix transfer_data transfer_group allowed_payment_method_types"
).split()

_CHARGE_NULLS = (
    "application application_fee application_fee_amount authorization_code balance_transaction customer description "
    "failure_balance_transaction failure_code failure_message level3 on_behalf_of payment_method "
    "presentment_details radar_options receipt_email receipt_number receipt_url review shipping source "
    "source_transfer statement_descriptor statement_descriptor_suffix transfer transfer_data transfer_group"
).split()


def new_id(prefix: str, length: int = 24) -> str:
    """An opaque id as Stripe writes them."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return f"{prefix}_{''.join(secrets.choice(alphabet) for _ in range(length))}"


def session(given: Document, *, id: str, url: str, created: int, expires_at: int, amounts: Document) -> Document:
    """A Checkout Session that was just made out of the parameters that were given."""
    document: Document = dict.fromkeys(_SESSION_NULLS)
    document.update(
        id=id,
        object="checkout.session",
        adaptive_pricing={"enabled": given.get("adaptive_pricing", {}).get("enabled", "true") == "true"},
        allowed_payment_method_types=given.get("allowed_payment_method_types"),
        amount_subtotal=amounts["subtotal"],
        amount_total=amounts["total"],
        automatic_tax={"enabled": False, "liability": None, "provider": None, "status": None},
        cancel_url=given.get("cancel_url"),
        client_reference_id=given.get("client_reference_id"),
        collected_information={"business_name": None, "individual_name": None, "shipping_details": None},
        created=created,
        currency=amounts["currency"],
        custom_fields=[],
        custom_text={
            "after_submit": None,
            "shipping_address": None,
            "submit": None,
            "terms_of_service_acceptance": None,
        },
        allow_promotion_codes=_flag(given.get("allow_promotion_codes")),
        customer=given.get("customer"),
        customer_creation=given.get("customer_creation", "if_required"),
        customer_email=given.get("customer_email"),
        discounts=amounts["discounts"],
        expires_at=expires_at,
        invoice_creation={
            "enabled": False,
            "invoice_data": {
                "account_tax_ids": None,
                "custom_fields": None,
                "description": None,
                "footer": None,
                "issuer": None,
                "metadata": {},
                "rendering_options": None,
            },
        },
        livemode=False,
        managed_payments={"enabled": False},
        metadata=given.get("metadata") or {},
        mode=given["mode"],
        optional_items=[],
        payment_method_collection="if_required",
        payment_method_options={"card": {"request_three_d_secure": "automatic"}},
        payment_method_types=given.get("allowed_payment_method_types") or ["card", "bacs_debit"],
        payment_status="unpaid",
        phone_number_collection={"enabled": False},
        shipping_options=[],
        status="open",
        success_url=given.get("success_url"),
        total_details={"amount_discount": amounts["discount"], "amount_shipping": 0, "amount_tax": 0},
        ui_mode="hosted_page",
        url=url,
    )
    return document


def _flag(text: str | None) -> bool | None:
    return None if text is None else text == "true"


def line_item(given: Document, created: int) -> Document:
    """One line of a session, as it is shown under ``line_items``."""
    price = given["price_data"]
    quantity = int(given.get("quantity", "1"))
    amount = int(price["unit_amount"]) * quantity
    return {
        "id": new_id("li"),
        "object": "item",
        "adjustable_quantity": None,
        "amount_discount": 0,
        "amount_subtotal": amount,
        "amount_tax": 0,
        "amount_total": amount,
        "currency": price["currency"],
        "description": price["product_data"]["name"],
        "discounts": [],
        "metadata": given.get("metadata") or {},
        "price": {
            "id": new_id("price"),
            "object": "price",
            "active": False,
            "billing_scheme": "per_unit",
            "created": created,
            "currency": price["currency"],
            "custom_unit_amount": None,
            "livemode": False,
            "lookup_key": None,
            "metadata": {},
            "nickname": None,
            "product": new_id("prod", 14),
            "recurring": None,
            "tax_behavior": "unspecified",
            "tiers_mode": None,
            "transform_quantity": None,
            "type": "one_time",
            "unit_amount": int(price["unit_amount"]),
            "unit_amount_decimal": price["unit_amount"],
        },
        "quantity": quantity,
        "taxes": [],
    }


def intent(of: Document, metadata: Document, created: int) -> Document:
    """The payment intent of a session: made late, when the buyer confirms."""
    document: Document = dict.fromkeys(_INTENT_NULLS)
    id = new_id("pi")
    document.update(
        id=id,
        object="payment_intent",
        amount=of["amount_total"],
        amount_capturable=0,
        amount_received=0,
        automatic_payment_methods=None,
        capture_method="automatic_async",
        client_secret=f"{id}_secret_{new_id('s', 20)[2:]}",
        confirmation_method="automatic",
        created=created,
        currency=of["currency"],
        livemode=False,
        metadata=metadata,
        payment_method_options={"card": {"request_three_d_secure": "automatic"}},
        payment_method_types=of["payment_method_types"],
        status="requires_payment_method",
    )
    return document


def charge(of: Document, details: Document, created: int, *, paid: bool) -> Document:
    """One attempt to take the money of a payment intent."""
    document: Document = dict.fromkeys(_CHARGE_NULLS)
    document.update(
        id=new_id("ch"),
        object="charge",
        amount=of["amount"],
        amount_captured=of["amount"] if paid else 0,
        amount_refunded=0,
        billing_details={"address": None, "email": None, "name": None, "phone": None, "tax_id": None},
        calculated_statement_descriptor="SIMULATED",
        captured=paid,
        created=created,
        currency=of["currency"],
        disputed=False,
        fraud_details={},
        livemode=False,
        metadata=dict(of["metadata"]),
        outcome={
            "advice_code": None,
            "network_advice_code": None,
            "network_decline_code": None if paid else "05",
            "network_status": "approved_by_network" if paid else "declined_by_network",
            "reason": None if paid else "generic_decline",
            "risk_level": "normal",
            "risk_score": 20,
            "rule": None,
            "seller_message": "Payment complete." if paid else "The bank did not return any further details.",
            "type": "authorized" if paid else "issuer_declined",
        },
        paid=paid,
        payment_intent=of["id"],
        payment_method_details=details,
        refunded=False,
        status="succeeded" if paid else "failed",
    )
    return document


def event(
    type: str, about: Document, *, created: int, api_version: str, request_id: str | None, key: str | None
) -> Document:
    """A snapshot event: the whole object as it is now, and never changed later."""
    return {
        "id": new_id("evt"),
        "object": "event",
        "account": None,
        "api_version": api_version,
        "context": None,
        "created": created,
        "data": {"object": about},
        "livemode": False,
        "pending_webhooks": 0,
        "request": {"id": request_id, "idempotency_key": key},
        "type": type,
    }


def thin(of: Document, created: str) -> Document:
    """The thin notification of a snapshot event."""
    about = of["data"]["object"]
    kinds = {
        "checkout.session": "checkout/sessions",
        "payment_intent": "payment_intents",
        "charge": "charges",
        "refund": "refunds",
        "dispute": "disputes",
        "customer": "customers",
    }
    return {
        "id": of["id"],
        "object": "v2.core.event",
        "type": f"v1.{of['type']}",
        "created": created,
        "livemode": False,
        "context": None,
        "reason": None,
        "related_object": {
            "id": about["id"],
            "type": about["object"],
            "url": f"/v1/{kinds[about['object']]}/{about['id']}",
        },
    }


def shown(document: Document) -> Document:
    """What leaves: without the keys that are ours alone."""
    return {key: value for key, value in document.items() if not key.startswith("_")}


_REFUND_NULLS = (
    "balance_transaction customer customer_account description destination_details failure_balance_transaction "
    "failure_reason instructions_email next_action payment_method pending_reason presentment_details receipt_number "
    "source_transfer_reversal transfer_reversal"
).split()


def refund(of: Document, amount: int, reason: str | None, metadata: Document, created: int, status: str) -> Document:
    """Money given back, of a charge."""
    document: Document = dict.fromkeys(_REFUND_NULLS)
    document.update(
        id=new_id("re"),
        object="refund",
        amount=amount,
        charge=of["id"],
        created=created,
        currency=of["currency"],
        customer=of["customer"],
        metadata=metadata,
        payment_intent=of["payment_intent"],
        pending_reason="processing" if status == "pending" else None,
        reason=reason,
        status=status,
    )
    return document


_EVIDENCE = (
    "access_activity_log appeal billing_address cancellation_policy cancellation_policy_disclosure "
    "cancellation_rebuttal customer_communication customer_email_address customer_name customer_purchase_ip "
    "customer_signature "
    "duplicate_charge_documentation duplicate_charge_explanation duplicate_charge_id product_description receipt "
    "refund_policy refund_policy_disclosure refund_refusal_explanation service_date service_documentation "
    "shipping_address shipping_carrier shipping_date shipping_documentation shipping_tracking_number "
    "uncategorized_file uncategorized_text"
).split()


def dispute(of: Document, created: int) -> Document:
    """A charge that its holder does not own up to."""
    return {
        "id": new_id("du"),
        "object": "dispute",
        "amount": of["amount"],
        "balance_transactions": [],
        "charge": of["id"],
        "created": created,
        "currency": of["currency"],
        "enhanced_eligibility_types": [],
        "evidence": {**dict.fromkeys(_EVIDENCE), "enhanced_evidence": {}},
        "evidence_details": {
            "due_by": created + 7 * 24 * 60 * 60,
            "enhanced_eligibility": {},
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
            "submission_method": None,
        },
        "intended_submission_method": None,
        "is_charge_refundable": False,
        "livemode": False,
        "metadata": {},
        "network_reason_code": "10.4",
        "payment_intent": of["payment_intent"],
        "payment_method_details": {
            "card": {"brand": "visa", "case_type": "chargeback", "network": "visa", "network_reason_code": "10.4"},
            "type": "card",
        },
        "reason": "fraudulent",
        "status": "needs_response",
    }


def coupon(*, id: str, created: int, **given: Any) -> Document:
    """A coupon."""
    return {
        "id": id,
        "object": "coupon",
        "created": created,
        "duration_in_months": None,
        "livemode": False,
        "times_redeemed": 0,
        "valid": True,
        **given,
    }


def promotion_code(*, code: str, coupon: str, created: int, **given: Any) -> Document:
    """A code that customers type for a coupon."""
    return {
        "id": new_id("promo"),
        "object": "promotion_code",
        "code": code,
        "created": created,
        "customer_account": None,
        "livemode": False,
        "promotion": {"type": "coupon", "coupon": coupon},
        "restrictions": {"first_time_transaction": False, "minimum_amount": None, "minimum_amount_currency": None},
        "times_redeemed": 0,
        **given,
    }


def customer(given: Document, metadata: Document, created: int) -> Document:
    """A customer."""
    return {
        "id": new_id("cus", 14),
        "object": "customer",
        "address": None,
        "balance": 0,
        "business_name": None,
        "created": created,
        "currency": None,
        "customer_account": None,
        "default_source": None,
        "delinquent": False,
        "description": given.get("description"),
        "discount": None,
        "email": given.get("email"),
        "individual_name": None,
        "invoice_prefix": "SIM",
        "invoice_settings": {
            "custom_fields": None, "default_payment_method": None, "footer": None, "rendering_options": None,
        },
        "livemode": False,
        "metadata": metadata,
        "name": given.get("name"),
        "next_invoice_sequence": 1,
        "phone": given.get("phone"),
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "test_clock": None,
    }  # fmt: skip
