"""What a person must look at."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query, Request, Response

from counterfoil import attention
from counterfoil.service.fields import Text, cursor, read_cursor, row_id
from counterfoil.service.problems import Problem
from counterfoil.service.resources import MatterOut, Page
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Attention")


@reader("matter")
async def shown(state: State, key: str) -> MatterOut:
    """A matter as it is now."""
    found = await state.run(attention.matters(id=int(key), most=1))
    if not found:
        raise _unknown(key)
    return MatterOut.of(found[0])


@api.call("GET", "/attention", "manage")
async def listed(
    request: Request,
    kind: Annotated[Text | None, Query()] = None,
    resolved: bool | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[MatterOut]:
    """List what a person must look at, newest first; `resolved=false` for what is open."""
    state = state_of(request)
    after = read_cursor(cursor_, datetime.fromisoformat, int)
    await state.run(attention.notice())
    found = await state.run(
        attention.matters(kind=kind, resolved=resolved, after=(after[0], after[1]) if after else None, most=limit + 1)
    )
    return Page[MatterOut](
        data=[MatterOut.of(matter) for matter in found[:limit]],
        next_cursor=cursor(found[limit - 1].raised_at, found[limit - 1].id) if len(found) > limit else None,
    )


@api.call("POST", "/attention/{id}/resolve", "manage", response_model=MatterOut)
async def resolved(request: Request, id: str) -> Response:
    """Say that a person has seen to it. It is open again if something new is noticed about it."""
    matter = await resolve(state_of(request), id)
    return answer(request, Resource("matter", str(matter.id), MatterOut.of(matter)))


async def resolve(state: State, id: str) -> attention.Matter:
    """Resolve the matter of a path: 404 if there is none."""
    row = row_id(id)
    matter = await state.run(attention.resolve(id=row)) if row is not None else None
    if matter is None:
        raise _unknown(id)
    return matter


def _unknown(id: str) -> Problem:
    return Problem("not-found", f"There is no matter {id}.")
