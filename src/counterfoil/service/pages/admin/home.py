"""The first page: every institution's numbers of the periods that are now, and what needs attention."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import attention, overview
from counterfoil.service.pages.admin.door import AdminRouter
from counterfoil.service.pages.admin.showing import show
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Institutions on a page.
MOST = 25


@pages.page("")
async def home(request: Request, q: str = "", sort: str = "", page: str = "1") -> Response:
    """Institutions with their sums, searched and sorted, a page of them; and the sums of all that fit."""
    state = state_of(request)
    searched = q.replace("\0", "").strip()[:250]
    number = max(1, int(page[:6])) if page.isascii() and page.isdigit() else 1
    await state.run(attention.notice())
    matters = await state.run(attention.matters(resolved=False, most=1))
    found = await state.run(
        overview.overview(search=searched or None, fullest=sort == "fullest", skip=(number - 1) * MOST, most=MOST)
    )
    return show(
        request,
        "home",
        found=found,
        q=searched,
        sort="fullest" if sort == "fullest" else "",
        number=number,
        pages=max(1, -(-found.number // MOST)),
        most=MOST,
        newest_matter=matters[0] if matters else None,
    )
