"""Entitlements: what a buyer's purchases opened."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request

from counterfoil import catalogue
from counterfoil.service.fields import Buyer, cursor, read_cursor
from counterfoil.service.resources import EntitlementOut, Page
from counterfoil.service.routing import router
from counterfoil.service.state import state_of

api = router("Entitlements")


@api.call("GET", "/entitlements", "checkout")
async def listed(
    request: Request,
    buyer: Buyer,
    all: bool = False,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[EntitlementOut]:
    """What is open to a buyer now; with `all=true` also what a full refund took back."""
    after = read_cursor(cursor_, datetime.fromisoformat, UUID, str)
    found = await state_of(request).run(
        catalogue.entitlements(
            buyer=buyer, all=all, after=(after[0], after[1], after[2]) if after else None, most=limit + 1
        )
    )
    return Page[EntitlementOut](
        data=[EntitlementOut.of(one) for one in found[:limit]],
        next_cursor=cursor(found[limit - 1].granted_at, found[limit - 1].checkout, found[limit - 1].unlock)
        if len(found) > limit
        else None,
    )
