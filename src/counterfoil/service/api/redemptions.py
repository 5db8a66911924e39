"""Redemptions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request, Response

from counterfoil import catalogue, ending, verbs
from counterfoil.model import Redemption, RedemptionStatus, ReleaseReason
from counterfoil.service import spreadsheet
from counterfoil.service.api.checkouts import in_path
from counterfoil.service.fields import SoughtCode, Text, cursor, read_cursor
from counterfoil.service.problems import Problem
from counterfoil.service.resources import Page, RedemptionOut, ReleasedOut
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Redemptions")


async def found(state: State, id: UUID) -> Redemption:
    """The redemption of a path: 404 if there is none."""
    claims = await state.run(verbs.redemptions(id=id, most=1))
    if not claims:
        raise Problem("not-found", f"There is no redemption {id}.")
    return claims[0]


@reader("redemption")
async def shown(state: State, key: str) -> ReleasedOut:
    """A redemption as it is now. What was asked to be released was settled by then."""
    return ReleasedOut(**RedemptionOut.of(await found(state, UUID(key))).model_dump(), already_settled=True)


@api.call("GET", "/redemptions", "read", problems=("institution-unknown",))
async def listed(
    request: Request,
    code: Annotated[SoughtCode | None, Query()] = None,
    period: Annotated[Text | None, Query()] = None,
    status: RedemptionStatus | None = None,
    institution: Annotated[Text | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[RedemptionOut]:
    """List redemptions, newest first."""
    state = state_of(request)
    after = read_cursor(cursor_, datetime.fromisoformat, UUID)
    claims = await state.run(
        verbs.redemptions(
            code=code,
            period=period,
            status=status,
            institution=(await state.run(catalogue.institution(institution))).id if institution else None,
            after=(after[0], after[1]) if after else None,
            most=limit + 1,
        )
    )
    return Page[RedemptionOut](
        data=[RedemptionOut.of(claim) for claim in claims[:limit]],
        next_cursor=cursor(claims[limit - 1].reserved_at, claims[limit - 1].id) if len(claims) > limit else None,
    )


@api.call(
    "GET",
    "/redemptions.csv",
    "read",
    response_class=Response,
    problems=("institution-unknown",),
    responses={200: {"description": "A line for each", "content": {"text/csv": {}}}},
)
async def table(
    request: Request,
    code: Annotated[SoughtCode | None, Query()] = None,
    period: Annotated[Text | None, Query()] = None,
    status: RedemptionStatus | None = None,
    institution: Annotated[Text | None, Query()] = None,
) -> Response:
    """All redemptions that fit, as CSV, newest first, read page by page."""
    state = state_of(request)
    of_one = (await state.run(catalogue.institution(institution))).id if institution else None
    return as_csv(state, code=code, period=period, status=status, institution=of_one)


def as_csv(state: State, **which: Any) -> Response:
    """Redemptions that `verbs.redemptions` finds by these, a line for each, read page by page."""

    async def lines() -> AsyncIterator[str]:
        columns = list(RedemptionOut.model_fields)
        yield spreadsheet.line(columns)
        after: tuple[datetime, UUID] | None = None
        while True:
            claims = await state.run(verbs.redemptions(**which, after=after, most=500))
            for claim in claims:
                row = RedemptionOut.of(claim).model_dump(mode="json")
                yield spreadsheet.line([row[column] for column in columns])
            if len(claims) < 500:
                return
            after = claims[-1].reserved_at, claims[-1].id

    return spreadsheet.table(lines(), "redemptions.csv")


@api.call("GET", "/redemptions/{id}", "read")
async def one(request: Request, id: str) -> RedemptionOut:
    """One redemption."""
    return RedemptionOut.of(await found(state_of(request), in_path(id)))


@api.call("POST", "/redemptions/{id}/release", "manage", response_model=ReleasedOut, problems=("stripe-unavailable",))
async def released(request: Request, id: str) -> Response:
    """Give a place back by hand and end its session at Stripe. A completed one stays: a sale cannot be un-sold."""
    state = state_of(request)
    before = await found(state, in_path(id))
    await state.drive(ending.release(before, state.shop, ReleaseReason.BY_HAND))
    after = await found(state, before.id)
    shown_now = ReleasedOut(
        **RedemptionOut.of(after).model_dump(),
        already_settled=after.status is not RedemptionStatus.RELEASED or before.status is RedemptionStatus.RELEASED,
    )
    return answer(request, Resource("redemption", str(after.id), shown_now))


@api.call("POST", "/redemptions/{id}/return", "manage", response_model=ReleasedOut)
async def returned(request: Request, id: str) -> Response:
    """
    Give a completed place back for which nothing was paid, and revoke what it unlocked.

    One that was paid for stays `completed`: refund it at Stripe, and the code's refund policy decides about its place.
    """
    state = state_of(request)
    before = await found(state, in_path(id))
    outcome, after = await state.run(verbs.return_place(claim=before, shop=state.shop))
    shown_now = ReleasedOut(**RedemptionOut.of(after).model_dump(), already_settled=outcome != "returned")
    return answer(request, Resource("redemption", str(after.id), shown_now))
