"""What was written to whom, and what became of it."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import mail
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Mails on a page.
_MOST = 50


@pages.page("/outbox", role=Role.STAFF)
async def outbox(request: Request, after: str | None = None) -> Response:
    """Mails, newest first. A link is shown only where nothing sends it: then this is how it is handed on."""
    state = state_of(request)
    since = read_cursor(after, int)
    found = await state.run(mail.mails(after=since[0] if since else None, most=_MOST + 1))
    return page(
        request,
        "admin/outbox.html",
        mails=found[:_MOST],
        sends=state.settings.smtp_url is not None,
        more=cursor(found[_MOST - 1].id) if len(found) > _MOST else None,
    )
