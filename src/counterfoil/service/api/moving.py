"""Places that move from one allocation to another."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, Field

from counterfoil import calendars, catalogue, moving, verbs
from counterfoil.service.api.codes import found
from counterfoil.service.fields import Body, LongText, TypedCode
from counterfoil.service.resources import UsageOut
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Codes")


class MoveIn(Body):
    """How many free places go where. *to* is another code, the same unless given; *period* that of the path."""

    places: Annotated[int, Field(ge=1, le=1_000_000_000, examples=[20])]
    to: TypedCode | None = None
    period: Annotated[str, Field(examples=["2027-28"])] | None = None
    note: LongText | None = None


class MoveOut(BaseModel):
    """Both allocations as they are now."""

    taken_from: UsageOut
    given_to: UsageOut


@reader("move")
async def shown(state: State, key: str) -> MoveOut:
    """Both sides of a move as they are now."""
    code, period, to, to_period = json.loads(key)
    return MoveOut(
        taken_from=UsageOut.of(await state.run(verbs.usage(code=code, period=period))),
        given_to=UsageOut.of(await state.run(verbs.usage(code=to, period=to_period))),
    )


@api.call(
    "POST",
    "/codes/{code}/allocations/{period}/move",
    "manage",
    problems=("code-unknown", "period-invalid", "cap-below-used", "no-cap"),
    response_model=MoveOut,
)
async def move(request: Request, code: str, period: str, body: MoveIn) -> Response:
    """Move free places to another period, or to another code: the sum of the two caps stays what it was."""
    state = state_of(request)
    source = await found(state, code)
    target = source if body.to is None else await state.run(catalogue.code(body.to))
    to_period = period if body.period is None else body.period
    await state.run(calendars.known_period(code=source, period=period))
    await state.run(calendars.known_period(code=target, period=to_period))
    await state.run(
        moving.move_places(
            code=source,
            period=period,
            to=target,
            to_period=to_period,
            places=body.places,
            note=body.note,
            shop=state.shop,
        )
    )
    key = json.dumps([source.code, period, target.code, to_period])
    return answer(request, Resource("move", key, await shown(state, key)))
