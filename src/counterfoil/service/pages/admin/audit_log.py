"""The audit log: who changed what, newest first."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import audit
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter
from counterfoil.service.pages.rendering import page
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Entries on a page.
_MOST = 50


#: What was done with an institution's people; what they are known by is the institution.
_WORDS = {
    "member.invited": "Invited to the institution's page",
    "member.joined": "Opened the page with their invitation",
    "member.signed_in": "Signed in by a link",
    "member.signed_out": "Signed out everywhere",
    "member.link_called_off": "A link to the page was called off",
    "member.changed": "Proved a new address",
    "member.removed": "Taken out of the institution's page",
}


@pages.page("/audit")
async def listed(request: Request, action: str = "", subject: str = "", after: str | None = None) -> Response:
    """Who changed what."""
    since = read_cursor(after, int)
    wanted = {"action": action.strip().replace("\0", ""), "subject": subject.strip().replace("\0", "")}
    entries = await state_of(request).run(
        audit.entries(
            action=wanted["action"] or None,
            subject=wanted["subject"] or None,
            after=since[0] if since else None,
            most=_MOST + 1,
        )
    )
    more = cursor(entries[_MOST - 1].id) if len(entries) > _MOST else None
    return page(request, "admin/audit.html", entries=entries[:_MOST], wanted=wanted, more=more, words=_WORDS)
