"""Redemptions: found by buyer, session, payment or code; one in full; as CSV."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Request, Response

from counterfoil import catalogue, errors, verbs
from counterfoil.buyers import check_buyer
from counterfoil.codes import fold
from counterfoil.model import Checkout, Redemption, RedemptionStatus
from counterfoil.occupancy import steps_of
from counterfoil.service.api.redemptions import as_csv
from counterfoil.service.fields import cursor, read_cursor
from counterfoil.service.pages.admin.door import AdminRouter
from counterfoil.service.pages.admin.showing import POLICIES, REASONS, show
from counterfoil.service.pages.pictures import length_of, timeline_picture
from counterfoil.service.pages.rendering import reader_of
from counterfoil.service.problems import Problem
from counterfoil.service.settings import STRIPE_API
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: Redemptions on a page.
MOST = 50
#: Institutions that the filter offers.
_INSTITUTIONS = 1000


@dataclass(frozen=True)
class Wanted:
    """
    What is looked for.

    Attributes:
        query: As it was typed, and as the links of the page carry it on.
        which: The same as `verbs.redemptions` understands it; None if nothing can fit.
        says: What the search was taken for, in words.
    """

    query: dict[str, str]
    which: dict[str, Any] | None
    says: str | None

    @property
    def searched(self) -> bool:
        """Whether anything was asked for."""
        return any(self.query.values())

    def address(self, path: str, **more: str) -> str:
        """A link that carries the search on."""
        kept = {name: value for name, value in (self.query | more).items() if value}
        return f"{path}?{urlencode(kept)}" if kept else path


@pages.page("/redemptions")
async def listed(
    request: Request,
    q: str = "",
    code: str = "",
    period: str = "",
    status: str = "",
    institution: str = "",
    buyer: str = "",
    after: str | None = None,
) -> Response:
    """Redemptions, newest first, that fit the search and the filters."""
    state = state_of(request)
    since = read_cursor(after, datetime.fromisoformat, UUID)
    wanted = await _wanted(state, q=q, code=code, period=period, status=status, institution=institution, buyer=buyer)
    found: list[Redemption] = []
    if wanted.which is not None:
        found = await state.run(
            verbs.redemptions(**wanted.which, after=(since[0], since[1]) if since else None, most=MOST + 1)
        )
    known = await state.run(catalogue.institutions(most=_INSTITUTIONS))
    return show(
        request,
        "redemptions",
        now=found[0].read_at if found else None,
        found=found[:MOST],
        wanted=wanted,
        query=wanted.query,
        more=cursor(found[MOST - 1].reserved_at, found[MOST - 1].id) if len(found) > MOST else None,
        first=since is None,
        known=[(one.slug, one.name) for one in sorted(known, key=lambda one: one.name.casefold())],
        reasons=REASONS,
    )


@pages.page("/redemptions.csv")
async def table(
    request: Request,
    q: str = "",
    code: str = "",
    period: str = "",
    status: str = "",
    institution: str = "",
    buyer: str = "",
) -> Response:
    """All that fit, as CSV, read page by page."""
    state = state_of(request)
    wanted = await _wanted(state, q=q, code=code, period=period, status=status, institution=institution, buyer=buyer)
    if wanted.which is None:
        raise Problem("not-found", "No redemption fits this search. Change it on the page of redemptions.")
    return as_csv(state, **wanted.which)


async def found(state: State, id: str) -> Redemption:
    """The redemption of a path: 404 if there is none."""
    try:
        claims = await state.run(verbs.redemptions(id=UUID(id), most=1))
    except ValueError:
        claims = []
    if not claims:
        raise Problem("not-found", "There is no redemption of this id.")
    return claims[0]


@pages.page("/redemptions/{id}")
async def one(request: Request, id: str) -> Response:
    """One redemption: its buyer, its place, its checkout, its sessions, and what can be done."""
    state = state_of(request)
    claim = await found(state, id)
    sale = await state.run(verbs.checkout(redemption=claim.id))
    code = await state.run(catalogue.code(claim.code))
    steps = await state.run(steps_of(counts_with=claim.counts_with, redemption=claim.id))
    return show(
        request,
        "redemption",
        now=claim.read_at,
        claim=claim,
        sale=sale,
        code=code,
        zone=code.time_zone,
        timeline=timeline_picture(claim, steps, code.time_zone, reader_of(request, claim.read_at)),
        length_of=length_of,
        reasons=REASONS,
        policies=POLICIES,
        **dashboard(state, sale),
    )


def dashboard(state: State, sale: Checkout | None) -> dict[str, Any]:
    """Where the payment of a checkout is looked at: in Stripe's dashboard, or on the simulator's page."""
    base = state.settings.stripe_api_base.rstrip("/")
    if base != STRIPE_API:
        return {"dashboard": f"{base}/_simulator/", "at_stripe": False}
    test = "" if state.settings.livemode else "test/"
    intent = sale.payment_intent if sale else None
    return {
        "dashboard": f"https://dashboard.stripe.com/{test}payments/{intent}" if intent else None,
        "at_stripe": True,
    }


async def _wanted(state: State, **typed: str) -> Wanted:
    """Take a search for what it looks like: a session, a payment, an id, a code, or how a buyer begins."""
    query = {name: value.replace("\0", "").strip()[:250] for name, value in typed.items()}
    which: dict[str, Any] = {}
    fits = True
    try:
        if query["status"]:
            which["status"] = RedemptionStatus(query["status"])
        if query["institution"]:
            which["institution"] = (await state.run(catalogue.institution(query["institution"]))).id
    except (ValueError, errors.InstitutionUnknown):
        fits = False
    if query["code"]:
        which["code"] = query["code"]
    if query["period"]:
        which["period"] = query["period"]
    says = None
    if query["q"]:
        found, says = await _search(state, query["q"], as_buyer=bool(query["buyer"]))
        fits = fits and found is not None
        which = (found or {}) | which
    return Wanted(query, which if fits else None, says)


async def _search(state: State, text: str, *, as_buyer: bool) -> tuple[dict[str, Any] | None, str]:
    if text.startswith("cs_"):
        return {"session_id": text}, "the session"
    if text.startswith("pi_"):
        return {"payment_intent": text}, "the payment"
    if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text, re.ASCII):
        sale = await state.run(verbs.checkout(id=UUID(text)))
        return {"id": sale.redemption.id if sale and sale.redemption else UUID(text)}, "the id"
    if not as_buyer and "@" not in text and fold(text):
        try:
            return {"code": (await state.run(catalogue.code(text))).code}, "the code"
        except errors.CodeUnknown:
            pass
    try:
        return {"buyer": check_buyer(text)}, "buyers that begin with"
    except ValueError:
        return None, "buyers that begin with"
