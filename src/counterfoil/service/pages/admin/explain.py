"""Why would somebody be refused? Every number behind a yes or a no at this instant."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import errors
from counterfoil.buyers import check_buyer
from counterfoil.explanation import explain
from counterfoil.service.explaining import ExplanationOut
from counterfoil.service.pages.admin.door import AdminRouter
from counterfoil.service.pages.admin.showing import show
from counterfoil.service.pages.rendering import reader_of
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Characters that are looked at: a code as somebody types it, with whatever is around it.
_LONGEST = 200


@pages.page("/explain")
async def explained(request: Request, code: str = "", buyer: str = "", product: str = "") -> Response:
    """One code, however it is typed, for a buyer and a product if those are given."""
    state = state_of(request)
    typed = {"code": code[:_LONGEST], "buyer": buyer[:300], "product": product[:100]}
    wrong: dict[str, str] = {}
    asked = {name: value.replace("\0", "").strip() for name, value in typed.items()}
    if asked["buyer"]:
        try:
            check_buyer(asked["buyer"])
        except ValueError as error:
            wrong["buyer"] = f"{error}."
    shown: ExplanationOut | None = None
    found = None
    if asked["code"] and not wrong:
        try:
            found = await state.run(
                explain(
                    code=asked["code"],
                    buyer=asked["buyer"] or None,
                    product=asked["product"] or None,
                    holds_per_address=state.settings.holds_per_address,
                    limits=state.settings.guessing,
                )
            )
            shown = ExplanationOut.of(found, reader_of(request, found.moment))
        except errors.ProductUnknown as unknown:
            wrong["product"] = unknown.detail
    return show(
        request,
        "explain",
        422 if wrong else 200,
        now=found.moment if found else None,
        typed=typed,
        wrong=wrong,
        one=shown,
    )
