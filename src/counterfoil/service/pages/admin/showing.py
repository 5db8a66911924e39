"""What the admin's working pages have in common: how a thing is said, and what a page tells after a form was sent."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from counterfoil.codes import fold
from counterfoil.model import BuyerIdentity, RefundPolicy, ReleaseReason
from counterfoil.periods import Calendar
from counterfoil.service.pages.rendering import page

#: What a page tells after a form was sent: by the word in its address, so that no text comes from there.
TOLD = {
    "institution-added": ("good", "The institution was added. Give it a code."),
    "institution-renamed": ("good", "The name was changed."),
    "code-added": ("good", "The code was added and works from now on."),
    "codes-imported": ("good", "The codes of the file were added, and work from now on."),
    "code-changed": ("good", "The code was changed. Checkouts that are open keep the price they were opened with."),
    "code-paused": ("good", "The code is paused: nobody new is let in. Whoever is on the payment page may finish."),
    "code-replaced": ("good", "The code was replaced. This is the new one; the old lets nobody in any more."),
    "code-resumed": ("good", "The code works again."),
    "cap-set": ("good", "The cap was set."),
    "places-moved": ("good", "The places were moved."),
    "period-set": ("good", "The period has these days."),
    "period-removed": ("good", "The period was removed."),
    "calendar-changed": ("good", "It is counted like this from now on. What was counted stays where it was."),
    "calendar-same": ("info", "It was so already: nothing was changed."),
    "released": ("good", "The place is free again, and its payment page was closed."),
    "paid-after-all": ("info", "It was paid before it could be given back, so the place is spent."),
    "paying-after-all": ("info", "Its payment is under way, so the place is kept until that is decided."),
    "nothing-to-release": ("info", "There was nothing to give back: it had ended before."),
    "returned": ("good", "The place is free again, and what the purchase unlocked was taken back."),
    "not-returned": ("info", "Nothing was changed: it holds no completed place that was free of charge."),
    "forgotten": ("good", "They are forgotten. Every count is as it was."),
    "product-added": ("good", "The product was added."),
    "product-changed": ("good", "The product was changed. Checkouts that are open keep what they were opened with."),
}

#: Why a place was given back.
REASONS = {
    ReleaseReason.CREATION_FAILED: "no payment page could be made",
    ReleaseReason.SESSION_EXPIRED: "the payment page ended unpaid",
    ReleaseReason.CANCELLED: "the buyer cancelled",
    ReleaseReason.PAYMENT_FAILED: "the payment failed",
    ReleaseReason.SUPERSEDED: "the buyer's place moved to another checkout",
    ReleaseReason.BY_HAND: "by hand",
    ReleaseReason.LAPSED: "the hold lapsed, and somebody else wanted the place",
}

#: What a full refund does to a place.
POLICIES = {
    RefundPolicy.KEEP: "A place that was paid for stays spent, also after a refund",
    RefundPolicy.RETURN: "A full refund gives the place back",
    RefundPolicy.RETURN_UNLESS_DISPUTED: "A full refund gives the place back, unless the payment was disputed",
}

#: When two buyers are the same.
IDENTITIES = {
    BuyerIdentity.ADDRESS: "If they give the same address",
    BuyerIdentity.MAILBOX: "If their addresses reach one mailbox (ann+2@ and ann@)",
}

CALENDARS = {
    Calendar.ACADEMIC_YEAR: "Academic year of the institution",
    Calendar.CALENDAR_YEAR: "Calendar year",
    Calendar.MONTH: "Month",
    Calendar.ALL: "One allocation for ever",
    Calendar.CUSTOM: "Periods of its own, with names",
}


def show(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the admin, with what it tells about the form that led here."""
    told = TOLD.get(request.query_params.get("told", ""))
    common = {"told": told, "fold": fold, "who": request.state.who}
    return page(request, f"admin/{template}.html", status, **(common | values))


def then(path: str, told: str) -> RedirectResponse:
    """After a form: go there, and be told."""
    return RedirectResponse(f"{path}{'&' if '?' in path else '?'}told={told}", 303)
