"""Many codes at once."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, Field, StringConstraints

from counterfoil import batches, patterns
from counterfoil.batches import Batch
from counterfoil.patterns import Form
from counterfoil.service.api.codes import GrantIn, granted
from counterfoil.service.problems import Problem
from counterfoil.service.resources import Moment
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Codes")


class BulkIn(GrantIn):
    """
    Many codes of an institution, all with the same terms; with *counts_with*, all over the places of another code.

    *pattern*: X for each character at random, with dashes between.
    """

    count: Annotated[int, Field(ge=1, le=batches.MOST)]
    prefix: Annotated[str, StringConstraints(max_length=64)] = ""
    pattern: Annotated[str, StringConstraints(max_length=64)] = patterns.DEFAULT


class BatchOut(BaseModel):
    """
    Codes that were made together.

    With one try, whoever knows what these codes look like hits one of those there were then with a chance of one in
    *one_in*.
    """

    id: str
    institution: str
    count: int
    prefix: str
    pattern: str
    one_in: int
    codes: list[str]
    created_at: Moment

    @classmethod
    def of(cls, made: Batch) -> BatchOut:
        """A batch as it is shown."""
        return cls(
            id=str(made.id),
            institution=made.institution,
            count=len(made.codes),
            prefix=made.prefix,
            pattern=made.pattern,
            one_in=made.one_in,
            codes=list(made.codes),
            created_at=made.created_at,
        )


@reader("batch")
async def shown(state: State, key: str) -> BatchOut:
    """A batch, as it is read again."""
    try:
        found = await state.run(batches.batch(UUID(key)))
    except ValueError:
        found = None
    if found is None:
        raise Problem("not-found", "There is no batch of this id.")
    return BatchOut.of(found)


@api.call(
    "POST",
    "/codes/bulk",
    "manage",
    problems=("codes-too-dense", "code-unknown", "institution-unknown", "product-unknown"),
    status_code=201,
    response_model=BatchOut,
)
async def make(request: Request, body: BulkIn) -> Response:
    """
    Make many codes at random, all or none.

    Out of characters that nobody takes for another. So many codes of one form that one try in a million would hit one
    are refused, with the pattern that would do.
    """
    state = state_of(request)
    try:
        form = Form(body.prefix, body.pattern)
    except ValueError as error:
        raise Problem(
            "invalid-request",
            f"pattern: {error}.",
            fields={"errors": [{"field": "pattern", "message": str(error)}]},
        ) from None
    institution, terms = await granted(state, body)
    made = await state.drive(
        batches.make_codes(
            institution=institution,
            number=body.count,
            form=form,
            terms=terms,
            calendar=body.calendar,
            counts_with=body.counts_with,
            buyer_identity=body.buyer_identity,
        )
    )
    return answer(request, Resource("batch", str(made.id), BatchOut.of(made), 201))


@api.call("GET", "/codes/batches/{id}", "read")
async def one(request: Request, id: str) -> BatchOut:
    """Codes that were made together."""
    return await shown(state_of(request), id)
