"""Institutions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from counterfoil import catalogue, errors
from counterfoil.service.fields import Body, Slug, Text, YearStart, Zone, cursor, read_cursor
from counterfoil.service.problems import Problem
from counterfoil.service.resources import InstitutionOut, Page
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Institutions")


class InstitutionIn(Body):
    """A school, college or employer. Its years start on *year_start* at midnight in its zone."""

    name: Text
    time_zone: Zone
    year_start: YearStart = "09-01"
    slug: Slug | None = None


class InstitutionChange(Body):
    """What to change. A field that is not sent stays as it is."""

    name: Text = ""
    time_zone: Zone = ""
    year_start: YearStart = ""


@reader("institution")
async def shown(state: State, key: str) -> InstitutionOut:
    """An institution as it is now."""
    try:
        return InstitutionOut.of(await state.run(catalogue.institution(key)))
    except errors.InstitutionUnknown as unknown:
        raise Problem("not-found", unknown.detail) from None


@api.call(
    "POST", "/institutions", "manage", problems=("already-exists",), status_code=201, response_model=InstitutionOut
)
async def add(request: Request, body: InstitutionIn) -> Response:
    """Add an institution."""
    slug = body.slug or catalogue.slug_of(body.name)
    if not slug:
        raise Problem(
            "invalid-request",
            "No slug can be made of this name. Give one.",
            fields={"errors": [{"field": "slug", "message": "lower-case letters, digits and single dashes"}]},
        )
    state = state_of(request)
    made = await state.run(
        catalogue.add_institution(name=body.name, time_zone=body.time_zone, year_start=body.year_start, slug=slug)
    )
    return answer(request, Resource("institution", made.slug, InstitutionOut.of(made), 201))


@api.call("GET", "/institutions", "read")
async def listed(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[InstitutionOut]:
    """List institutions, newest first."""
    after = read_cursor(cursor_, int)
    found = await state_of(request).run(catalogue.institutions(after=after[0] if after else None, most=limit + 1))
    return Page[InstitutionOut](
        data=[InstitutionOut.of(one) for one in found[:limit]],
        next_cursor=cursor(found[limit - 1].id) if len(found) > limit else None,
    )


@api.call("GET", "/institutions/{institution}", "read")
async def one(request: Request, institution: str) -> InstitutionOut:
    """One institution, by its id or slug."""
    return await shown(state_of(request), institution)


@api.call("PATCH", "/institutions/{institution}", "manage")
async def change(request: Request, institution: str, body: InstitutionChange) -> InstitutionOut:
    """
    Change an institution's name, its time zone, or the day its years start on.

    Zone and day say which period is now from now on. What was counted stays in the period that it was counted in.
    """
    state = state_of(request)
    while True:
        try:
            current = await state.run(catalogue.institution(institution))
        except errors.InstitutionUnknown as unknown:
            raise Problem("not-found", unknown.detail) from None
        sent = {name: getattr(body, name) for name in body.model_fields_set}
        kept = {name: getattr(current, name) for name in ("name", "time_zone", "year_start")}
        changed = await state.run(catalogue.change_institution(institution=current, **(kept | sent)))
        if changed is not None:
            return InstitutionOut.of(changed)
