"""Giving places back by hand: each on a page of its own that says what will happen before it is done."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import catalogue, ending, errors, verbs
from counterfoil.model import Redemption, RedemptionStatus, ReleaseReason
from counterfoil.service.pages.admin.codes import path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.redemptions import dashboard, found
from counterfoil.service.pages.admin.showing import POLICIES, show, then
from counterfoil.service.problems import of
from counterfoil.service.state import state_of

pages = AdminRouter()


@pages.page("/redemptions/{id}/release")
async def before_release(request: Request, id: str, back: str = "") -> Response:
    """Say what releasing does."""
    return await _ask(request, "release", await found(state_of(request), id), back)


@pages.action("/redemptions/{id}/release", role=Role.STAFF)
async def release(request: Request, id: str) -> Response:
    """End its session at Stripe, and give the place back. What was paid meanwhile stays."""
    state = state_of(request)
    back = (await Form.of(request)).typed("back")
    before = await found(state, id)
    try:
        await state.drive(ending.release(before, state.shop, ReleaseReason.BY_HAND))
    except (errors.StripeUnavailable, errors.Busy) as refusal:
        return await _ask(request, "release", before, back, refusal)
    after = await found(state, id)
    return then(_back(after, back), _became(before, after))


@pages.page("/redemptions/{id}/return")
async def before_return(request: Request, id: str, back: str = "") -> Response:
    """Say what returning does, or why it cannot be done here."""
    return await _ask(request, "return", await found(state_of(request), id), back)


@pages.action("/redemptions/{id}/return", role=Role.STAFF)
async def give_back(request: Request, id: str) -> Response:
    """Give back a completed place for which nothing was paid, and what it unlocked."""
    state = state_of(request)
    back = (await Form.of(request)).typed("back")
    before = await found(state, id)
    try:
        outcome, after = await state.run(verbs.return_place(claim=before, shop=state.shop))
    except errors.Busy as refusal:
        return await _ask(request, "return", before, back, refusal)
    return then(_back(after, back), "returned" if outcome == "returned" else "not-returned")


def _became(before: Redemption, after: Redemption) -> str:
    if before.status not in (RedemptionStatus.RESERVED, RedemptionStatus.PENDING):
        return "nothing-to-release"
    match after.status:
        case RedemptionStatus.RELEASED:
            return "released"
        case RedemptionStatus.RESERVED | RedemptionStatus.PENDING:
            return "paying-after-all"
        case RedemptionStatus.COMPLETED | RedemptionStatus.REFUNDED:
            return "paid-after-all"


def _back(claim: Redemption, back: str) -> str:
    """Where the button was: the code's page, or the redemption's."""
    return path_to(claim.code, claim.period) if back == "code" else f"/admin/redemptions/{claim.id}"


async def _ask(
    request: Request, what: str, claim: Redemption, back: str, refusal: errors.Refusal | None = None
) -> Response:
    state = state_of(request)
    sale = await state.run(verbs.checkout(redemption=claim.id))
    code = await state.run(catalogue.code(claim.code))
    problem = of(refusal) if refusal else None
    said = refusal.said if isinstance(refusal, errors.StripeUnavailable) else refusal.detail if refusal else None
    told = show(
        request,
        what,
        (problem.status or 503) if problem else 200,
        now=claim.read_at,
        claim=claim,
        sale=sale,
        code=code,
        zone=code.time_zone,
        back="code" if back == "code" else "",
        path_back=_back(claim, back),
        refusal=said,
        policies=POLICIES,
        **dashboard(state, sale),
    )
    if problem:
        told.headers.update(problem.headers)
    return told
