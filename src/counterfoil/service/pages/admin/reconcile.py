"""What our rows and Stripe do not agree about, and settling it."""

from __future__ import annotations

from datetime import timedelta

from fastapi import Request, Response

from counterfoil import audit
from counterfoil.drift import WORDS
from counterfoil.reconcile import DAYS, reconcile
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Days that a page may wait for.
_MOST_DAYS = 30


@pages.page("/reconcile")
async def before_looking(request: Request) -> Response:
    """Ask how far back to look. Stripe is asked only when the button is pressed."""
    return page(request, "admin/reconcile.html", report=None, days=DAYS.days, words=WORDS)


@pages.action("/reconcile", role=Role.STAFF)
async def look(request: Request) -> Response:
    """Compare our rows with Stripe's sessions; settle what differs if the button said so."""
    state = state_of(request)
    given = await request.form()
    text = str(given.get("days", ""))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _MOST_DAYS):
        raise Problem("invalid-request", f"Days are a whole number from 1 to {_MOST_DAYS}.")
    applied = "apply" in given
    if applied:
        await state.run(audit.keep(action="reconcile.applied", subject="Stripe", after={"days": int(text)}))
    report = await state.drive(reconcile(state.shop, apply=applied, last=timedelta(days=int(text))))
    return page(request, "admin/reconcile.html", report=report, days=int(text), words=WORDS)
