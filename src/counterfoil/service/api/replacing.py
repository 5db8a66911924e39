"""A leaked code, and the one that takes its place."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import replacing
from counterfoil.service.api.codes import found
from counterfoil.service.fields import Body, TypedCode
from counterfoil.service.resources import CodeOut
from counterfoil.service.routing import Resource, answer, router
from counterfoil.service.state import state_of

api = router("Codes")


class ReplacementIn(Body):
    """The code that takes the other's place."""

    code: TypedCode


@api.call(
    "POST",
    "/codes/{code}/replace",
    "manage",
    problems=("code-unknown", "code-replaced", "already-exists"),
    status_code=201,
    response_model=CodeOut,
)
async def replace(request: Request, code: str, body: ReplacementIn) -> Response:
    """
    Replace a code that leaked: the old stops at once, the count carries over.

    The new one has all terms of the old, is not paused, and counts against the same allocations; what a buyer used
    counts with it too. The old can never be resumed: asked about, it answers `code-paused`, and names the new one in
    `replaced_by`. Whoever holds a place may finish, or get the same place by typing the new code.
    """
    state = state_of(request)
    await found(state, code)
    made = await state.run(replacing.replace_code(old=code, new=body.code))
    return answer(request, Resource("code", made.code, CodeOut.of(made), 201))
