"""Where our events are sent, and what became of them there."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from counterfoil import outgoing
from counterfoil.outgoing import Endpoint, EventType
from counterfoil.service.addresses import NotPublic, Unresolved, check_url
from counterfoil.service.fields import Body, WebAddress, cursor, read_cursor
from counterfoil.service.problems import Problem
from counterfoil.service.resources import DeliveryOut, EndpointMadeOut, EndpointOut, Page
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.sending import new_secret
from counterfoil.service.state import State, state_of

api = router("Webhook endpoints")


class EndpointIn(Body):
    """Where to send events: https, at a public address. *types*: which; null for all there are and will be."""

    url: WebAddress
    types: Annotated[list[Annotated[EventType, Field(strict=False)]], Field(min_length=1, max_length=100)] | None = None


async def found(state: State, id: str) -> Endpoint:
    """The endpoint of a path: 404 if there is none, or it was removed."""
    number = outgoing.endpoint_id(id)
    endpoints = await state.run(outgoing.endpoints(id=number, most=1)) if number is not None else []
    if not endpoints:
        raise Problem("not-found", f"There is no webhook endpoint {id}.")
    return endpoints[0]


@reader("webhook-endpoint")
async def shown(state: State, key: str) -> EndpointMadeOut:
    """An endpoint as it is now. Its secret was shown once, and is not shown again."""
    return EndpointMadeOut(**EndpointOut.of(await found(state, key)).model_dump(), secret=None)


@api.call("POST", "/webhook-endpoints", "manage", status_code=201, response_model=EndpointMadeOut)
async def add(request: Request, body: EndpointIn) -> Response:
    """
    Send events somewhere, from now on. The secret that signs them is in this answer and in no other.

    Whoever lost it removes the endpoint and adds it again.
    """
    state = state_of(request)
    if state.settings.webhook_private != "on":
        try:
            await check_url(body.url)
        except (NotPublic, Unresolved) as error:
            raise Problem(
                "invalid-request",
                f"url: {error}. Events are sent to public addresses, by https.",
                fields={"errors": [{"field": "url", "message": str(error)}]},
            ) from None
    secret = new_secret()
    types = list(dict.fromkeys(body.types)) if body.types is not None else None
    made = await state.run(outgoing.add_endpoint(url=body.url, types=types, secret=secret))
    shown_once = EndpointMadeOut(**EndpointOut.of(made).model_dump(), secret=secret)
    return answer(request, Resource("webhook-endpoint", str(made.id), shown_once, 201))


@api.call("GET", "/webhook-endpoints", "manage")
async def listed(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[EndpointOut]:
    """List where events are sent, newest first."""
    after = read_cursor(cursor_, int)
    endpoints = await state_of(request).run(outgoing.endpoints(after=after[0] if after else None, most=limit + 1))
    return Page[EndpointOut](
        data=[EndpointOut.of(endpoint) for endpoint in endpoints[:limit]],
        next_cursor=cursor(endpoints[limit - 1].id) if len(endpoints) > limit else None,
    )


@api.call("GET", "/webhook-endpoints/{id}", "manage")
async def one(request: Request, id: str) -> EndpointOut:
    """One endpoint."""
    return EndpointOut.of(await found(state_of(request), id))


@api.call("DELETE", "/webhook-endpoints/{id}", "manage", status_code=204, response_class=Response)
async def removed(request: Request, id: str) -> Response:
    """Send nothing more to an endpoint. What was not delivered to it never will be."""
    state = state_of(request)
    await state.run(outgoing.disable_endpoint(id=(await found(state, id)).id))
    return Response(status_code=204)


@api.call("GET", "/webhook-endpoints/{id}/deliveries", "manage")
async def delivered(
    request: Request,
    id: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[DeliveryOut]:
    """What became of the events for an endpoint, newest event first."""
    state = state_of(request)
    endpoint = await found(state, id)
    after = read_cursor(cursor_, int)
    deliveries = await state.run(
        outgoing.deliveries(endpoint=endpoint.id, after=after[0] if after else None, most=limit + 1)
    )
    return Page[DeliveryOut](
        data=[DeliveryOut.of(delivery) for delivery in deliveries[:limit]],
        next_cursor=cursor(deliveries[limit - 1].seq) if len(deliveries) > limit else None,
    )
