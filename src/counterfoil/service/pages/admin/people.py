"""A buyer's own page: all that is held about them, to take along; and forgetting them."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from starlette.responses import JSONResponse, RedirectResponse

from counterfoil import errors, forgetting, reading
from counterfoil.service.api.buyers import BuyerOut
from counterfoil.service.fields import Buyer
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.problems import of
from counterfoil.service.state import State, state_of

pages = AdminRouter()


@pages.page("/buyers")
async def one(request: Request, buyer: str = "") -> Response:
    """What is held about a buyer, in short."""
    return await _page(request, Form({"buyer": buyer.replace("\0", "")}))


@pages.page("/buyers.json", role=Role.STAFF)
async def taken_along(request: Request, buyer: str = "") -> Response:
    """Every row, as one document: what a person may ask for."""
    form = Form({"buyer": buyer.replace("\0", "")})
    whom = form.take("buyer", Buyer)
    if whom is None:
        return RedirectResponse("/admin/buyers", 303)
    document = await _held(state_of(request), whom)
    name = {"Content-Disposition": 'attachment; filename="what-is-held.json"'}
    return JSONResponse(document.model_dump(mode="json"), headers=name)


@pages.action("/buyers/forget", role=Role.OWNER)
async def forget(request: Request) -> Response:
    """Forget them, once it was said that this is meant."""
    state = state_of(request)
    form = await Form.of(request)
    whom = form.take("buyer", Buyer)
    if not form.ticked("meant"):
        form.wrong("meant", "Tick this if you mean it: it cannot be undone.")
    if form.errors:
        return await _page(request, form, 422)
    try:
        await state.drive(forgetting.forget(whom, state.shop, end_open=form.ticked("end_open")))
    except (errors.BuyerStillBuying, errors.StripeUnavailable, errors.Busy) as refusal:
        problem = of(refusal)
        told = await _page(request, form, problem.status or 409, refusal=refusal)
        told.headers.update(problem.headers)
        return told
    return then("/admin/buyers", "forgotten")


async def _held(state: State, whom: str) -> BuyerOut:
    return BuyerOut(buyer=whom, **await state.run(forgetting.held(buyer=whom)))


async def _page(request: Request, form: Form, status: int = 200, *, refusal: errors.Refusal | None = None) -> Response:
    whom = form.take("buyer", Buyer) if form.typed("buyer").strip() else None
    held = await _held(state_of(request), whom) if whom is not None else None
    said = None
    if isinstance(refusal, errors.BuyerStillBuying):
        said = "Something of theirs is still open: a held place, a payment page, or a payment that is under way."
    elif refusal is not None:
        said = refusal.said if isinstance(refusal, errors.StripeUnavailable) else refusal.detail
    return show(
        request,
        "buyer",
        status,
        form=form,
        held=held,
        buying=isinstance(refusal, errors.BuyerStillBuying),
        refusal=said,
        **(_rows(held) if held else {}),
    )


def _rows(held: BuyerOut) -> dict[str, Any]:
    """The rows that the page lists."""
    return {
        "claims": [
            (one["id"], one["period"], one["status"], reading.moment(one["reserved_at"])) for one in held.redemptions
        ],
        "sales": [
            (one["id"], one["name"], one["status"], one["amount"], one["currency"], reading.moment(one["created_at"]))
            for one in held.checkouts
        ],
    }
