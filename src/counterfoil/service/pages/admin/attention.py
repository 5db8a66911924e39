"""What needs attention: what happened, what to do, and a button for having done it."""

from __future__ import annotations

from datetime import datetime

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from counterfoil import attention
from counterfoil.service.api.attention import resolve
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Matters on a page.
_MOST = 50


@pages.page("/attention")
async def matters(request: Request, resolved: bool = False, after: str | None = None) -> Response:
    """What a person must look at, newest first."""
    state = state_of(request)
    since = read_cursor(after, datetime.fromisoformat, int)
    await state.run(attention.notice())
    found = await state.run(
        attention.matters(resolved=resolved, after=(since[0], since[1]) if since else None, most=_MOST + 1)
    )
    more = cursor(found[_MOST - 1].raised_at, found[_MOST - 1].id) if len(found) > _MOST else None
    return page(request, "admin/attention.html", matters=found[:_MOST], resolved=resolved, more=more)


@pages.action("/attention/{id}/resolve", role=Role.STAFF)
async def seen_to(request: Request, id: str) -> Response:
    """A person has seen to it."""
    await resolve(state_of(request), id)
    return RedirectResponse("/admin/attention", 303)
