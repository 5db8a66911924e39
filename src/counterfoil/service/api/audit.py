"""Who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from counterfoil import audit
from counterfoil.service.fields import Text, cursor, read_cursor
from counterfoil.service.resources import AuditOut, Page
from counterfoil.service.routing import router
from counterfoil.service.state import state_of

api = router("Audit")


@api.call("GET", "/audit", "manage")
async def listed(
    request: Request,
    action: Annotated[Text | None, Query()] = None,
    subject: Annotated[Text | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[AuditOut]:
    """List who changed what, newest first: of an action such as `code.changed`, or of a subject such as a code."""
    after = read_cursor(cursor_, int)
    entries = await state_of(request).run(
        audit.entries(action=action, subject=subject, after=after[0] if after else None, most=limit + 1)
    )
    return Page[AuditOut](
        data=[AuditOut.of(entry) for entry in entries[:limit]],
        next_cursor=cursor(entries[limit - 1].id) if len(entries) > limit else None,
    )
