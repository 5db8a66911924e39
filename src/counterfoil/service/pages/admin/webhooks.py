"""Webhook endpoints: where our events are sent, what became of them there, and sending one again."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError
from starlette.responses import RedirectResponse

from counterfoil import outgoing
from counterfoil.outgoing import EventType
from counterfoil.service.addresses import NotPublic, Unresolved, check_url
from counterfoil.service.api.events import found as found_event
from counterfoil.service.api.webhook_endpoints import found
from counterfoil.service.fields import WebAddress, cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.sending import new_secret
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Deliveries on a page.
_MOST = 50
_URL: TypeAdapter[str] = TypeAdapter(WebAddress)


@pages.page("/webhooks")
async def listed(request: Request) -> Response:
    """Where events are sent."""
    return await _all(request)


@pages.action("/webhooks", role=Role.OWNER)
async def add(request: Request) -> Response:
    """Send events somewhere, from now on. This answer alone has the secret that signs them."""
    state = state_of(request)
    given = await request.form()
    url, chosen = str(given.get("url", "")).strip(), [str(one) for one in given.getlist("types")]
    wrong: dict[str, str] = {}
    try:
        _URL.validate_python(url)
        if state.settings.webhook_private != "on":
            await check_url(url)
    except ValidationError:
        wrong["url"] = "Write an address such as https://shop.example.org/hooks."
    except (NotPublic, Unresolved) as error:
        wrong["url"] = f"{error}. Events are sent to public addresses, by https."
    if any(one not in list(EventType) for one in chosen):
        wrong["types"] = "Choose among the types that there are."
    if wrong:
        return await _all(request, 422, url=url, chosen=chosen, wrong=wrong)
    secret = new_secret()
    types = [EventType(one) for one in dict.fromkeys(chosen)] or None
    made = await state.run(outgoing.add_endpoint(url=url, types=types, secret=secret))
    return await _all(request, made=made, secret=secret)


@pages.page("/webhooks/{id}")
async def one(request: Request, id: str, after: str | None = None, sent: bool = False) -> Response:
    """One endpoint, and what became of the events for it."""
    state = state_of(request)
    endpoint = await found(state, id)
    since = read_cursor(after, int)
    deliveries = await state.run(
        outgoing.deliveries(endpoint=endpoint.id, after=since[0] if since else None, most=_MOST + 1)
    )
    more = cursor(deliveries[_MOST - 1].seq) if len(deliveries) > _MOST else None
    return page(request, "admin/webhook.html", endpoint=endpoint, deliveries=deliveries[:_MOST], more=more, sent=sent)


@pages.action("/webhooks/{id}/resend/{event}", role=Role.STAFF)
async def resend(request: Request, id: str, event: str) -> Response:
    """Send an event to it again, soon."""
    state = state_of(request)
    endpoint, again = await found(state, id), await found_event(state, event)
    await state.run(outgoing.resend(event=again, endpoint=endpoint.id))
    return RedirectResponse(f"/admin/webhooks/{endpoint.id}?sent=true", 303)


@pages.action("/webhooks/{id}/disable", role=Role.OWNER)
async def disable(request: Request, id: str) -> Response:
    """Send nothing more to it."""
    state = state_of(request)
    await state.run(outgoing.disable_endpoint(id=(await found(state, id)).id))
    return RedirectResponse("/admin/webhooks", 303)


async def _all(request: Request, status: int = 200, **values: Any) -> Response:
    endpoints = await state_of(request).run(outgoing.endpoints())
    shown = {"url": "", "chosen": [], "wrong": {}, "made": None, "secret": None} | values
    return page(request, "admin/webhooks.html", status, endpoints=endpoints, types=list(EventType), **shown)
