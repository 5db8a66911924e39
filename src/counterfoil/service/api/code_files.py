"""Codes as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from counterfoil import catalogue
from counterfoil.importing import own, writing
from counterfoil.service import spreadsheet
from counterfoil.service.fields import Text
from counterfoil.service.routing import router
from counterfoil.service.state import State, state_of

api = router("Codes")


@api.call(
    "GET",
    "/codes.csv",
    "read",
    response_class=Response,
    problems=("institution-unknown",),
    responses={200: {"description": "A line for each", "content": {"text/csv": {}}}},
)
async def table(request: Request, institution: Annotated[Text | None, Query()] = None) -> Response:
    """The codes in force as CSV, oldest first, as `counterfoil code import` reads them again."""
    state = state_of(request)
    of_one = (await state.run(catalogue.institution(institution))).id if institution else None
    return as_csv(state, institution=of_one)


def as_csv(
    state: State, *, institution: int | None = None, batch: UUID | None = None, name: str = "codes.csv"
) -> Response:
    """The codes in force of an institution, or those of a batch, a line for each, read page by page."""

    async def lines() -> AsyncIterator[str]:
        yield spreadsheet.line(own.COLUMNS)
        after: int | None = 0
        while after is not None:
            found, after = await state.run(writing.lines_after(after=after, institution=institution, batch=batch))
            for cells in found:
                yield spreadsheet.line(cells)

    return spreadsheet.table(lines(), name)
