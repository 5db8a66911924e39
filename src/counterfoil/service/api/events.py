"""Our own events: the log of them, and sending one again."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from counterfoil import outgoing
from counterfoil.outgoing import Event, EventType
from counterfoil.service.fields import Body, Text, cursor, read_cursor
from counterfoil.service.problems import Problem
from counterfoil.service.resources import EventOut, Page
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Events")


class ResendIn(Body):
    """To which endpoint an event is sent again; null for all that want its type."""

    endpoint: Text | None = None


async def found(state: State, id: str) -> Event:
    """The event of a path: 404 if there is none."""
    events = await state.run(outgoing.events(id=id, most=1))
    if not events:
        raise Problem("not-found", f"There is no event {id}.")
    return events[0]


@reader("event")
async def shown(state: State, key: str) -> EventOut:
    """An event as it is."""
    return EventOut.of(await found(state, key), livemode=state.shop.livemode)


@api.call("GET", "/events", "manage")
async def listed(
    request: Request,
    type: EventType | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[EventOut]:
    """List what became true, newest first."""
    state = state_of(request)
    after = read_cursor(cursor_, int)
    events = await state.run(outgoing.events(type=type, after=after[0] if after else None, most=limit + 1))
    return Page[EventOut](
        data=[EventOut.of(event, livemode=state.shop.livemode) for event in events[:limit]],
        next_cursor=cursor(events[limit - 1].seq) if len(events) > limit else None,
    )


@api.call("GET", "/events/{id}", "manage")
async def one(request: Request, id: str) -> EventOut:
    """One event."""
    return await shown(state_of(request), id)


@api.call("POST", "/events/{id}/resend", "manage", response_model=EventOut)
async def resent(request: Request, id: str, body: ResendIn | None = None) -> Response:
    """
    Send an event again, under the same id: to one endpoint, or to all that want its type.

    It is sent soon, and its attempts are counted from the first, also where it had been given up.
    """
    state = state_of(request)
    event = await found(state, id)
    wanted = body.endpoint if body else None
    endpoint = outgoing.endpoint_id(wanted) if wanted is not None else None
    if wanted is not None and (endpoint is None or not await state.run(outgoing.endpoints(id=endpoint, most=1))):
        raise Problem(
            "invalid-request",
            f"There is no endpoint {wanted}. List them with GET /v1/webhook-endpoints.",
            fields={"errors": [{"field": "endpoint", "message": "no such endpoint"}]},
        )
    await state.run(outgoing.resend(event=event, endpoint=endpoint))
    return answer(request, Resource("event", event.id, EventOut.of(event, livemode=state.shop.livemode)))
