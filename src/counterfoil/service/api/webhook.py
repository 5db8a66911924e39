"""Where Stripe's events arrive. 2xx only once an event is settled, or known to ask nothing of us."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from counterfoil.service.openapi import PROBLEMS
from counterfoil.service.state import state_of
from counterfoil.settlement import settle_event
from counterfoil.stripe.events import read_event

webhook = APIRouter(tags=["Webhook"])
log = logging.getLogger(__name__)


@webhook.post(
    "/webhooks/stripe",
    openapi_extra={
        PROBLEMS: ["bad-signature", "too-large", "stripe-unavailable", "busy", "internal"],
        "parameters": [{"name": "Stripe-Signature", "in": "header", "required": True, "schema": {"type": "string"}}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
    },
)
async def received(request: Request) -> JSONResponse:
    """Settle an event of Stripe's: the raw body and its signature, no key. A foreign event is fine too."""
    state = state_of(request)
    event = read_event(await request.body(), request.headers.get("stripe-signature"), state.settings.webhook_secrets)
    settled = await state.drive(settle_event(event, state.shop))
    state.metrics.settled.labels(settled.outcome).inc()
    log.info("event %s (%s): %s", event.id, event.type, settled.outcome)
    return JSONResponse({"outcome": settled.outcome})
