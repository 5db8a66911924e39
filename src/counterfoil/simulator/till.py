"""The payment page: what a buyer sees at a session's ``url``. Plain forms; nothing leaves this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from counterfoil.simulator.account import Account
from counterfoil.simulator.engine import Challenged, Closed, Declined
from counterfoil.simulator.money import written
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError

templates = Jinja2Templates(Path(__file__).parent / "templates")

_DECLINES = {
    "card_declined": "Your card was declined. Nothing was charged. Try another card.",
    "insufficient_funds": "Your card has insufficient funds. Nothing was charged. Try another card.",
    "expired_card": "Your card has expired. Nothing was charged. Try another card.",
    "authentication_required": "Your bank was told that it was not you. Nothing was charged. Try another card.",
    "coupon_expired": "The discount is used up meanwhile. Nothing was charged.",
    "code_unknown": "This code is not valid.",
    "method_unknown": "This payment method is not accepted here.",
}


async def show(request: Request) -> Response:
    """The page of a session, in whatever state it is."""
    account: Account = request.app.state.account
    try:
        return _page(request, account.engine.session(request.path_params["id"]))
    except ApiError:
        return templates.TemplateResponse(request, "gone.html", {"why": "unknown"}, 404)


async def pay(request: Request) -> Response:
    """Press pay."""
    account: Account = request.app.state.account
    form = await request.form()
    email = str(form.get("email") or "buyer@example.test").strip()
    method = str(form.get("method", "card"))

    def press(id: str) -> Document:
        session = account.engine.session(id)
        if method not in session["payment_method_types"] and session["amount_total"] > 0:
            raise Declined("method_unknown")
        if method == "bacs_debit":
            return account.engine.pay_delayed(id, email=email)
        return account.engine.pay(id, str(form.get("card", "")), email)

    done = _tried(request, press, email)
    return done if isinstance(done, Response) else await _sent_back(account, done)


async def ask(request: Request) -> Response:
    """The page of the card's bank. Whoever closes it leaves the session as it is: open."""
    account: Account = request.app.state.account
    try:
        session = account.engine.session(request.path_params["id"])
    except ApiError:
        return templates.TemplateResponse(request, "gone.html", {"why": "unknown"}, 404)
    total = written(session["amount_total"], session["currency"])
    return templates.TemplateResponse(request, "challenge.html", {"id": session["id"], "total": total})


async def answer(request: Request) -> Response:
    """The card's holder has answered."""
    account: Account = request.app.state.account
    approve = (await request.form()).get("answer") == "approve"
    done = _tried(request, lambda session: account.engine.answer_challenge(session, approve=approve))
    return done if isinstance(done, Response) else await _sent_back(account, done)


async def promotion(request: Request) -> Response:
    """A promotion code was typed."""
    account: Account = request.app.state.account
    typed = str((await request.form()).get("promotion", ""))
    done = _tried(request, lambda session: account.engine.apply_promotion(session, typed))
    return done if isinstance(done, Response) else _page(request, done)


def _tried(request: Request, act: Callable[[str], Document], email: str = "") -> Document | Response:
    """The session after something was tried with it, or the page that says why it was not done."""
    account: Account = request.app.state.account
    id = request.path_params["id"]
    try:
        return act(id)
    except Challenged:
        return RedirectResponse(f"/pay/{id}/challenge", 303)
    except Declined as declined:
        return _page(request, account.engine.session(id), email=email, problem=_DECLINES[declined.code], status=402)
    except Closed:
        return _page(request, account.engine.session(id), pressed=True)
    except ApiError:
        return templates.TemplateResponse(request, "gone.html", {"why": "unknown"}, 404)


async def _sent_back(account: Account, session: Document) -> Response:
    # As the hosted page does: the seller's endpoint is waited for before the buyer is sent back.
    await account.deliveries.answered("checkout.session.completed", session["id"])
    return RedirectResponse(session["success_url"].replace("{CHECKOUT_SESSION_ID}", session["id"]), 303)


def _page(
    request: Request,
    session: Document,
    *,
    email: str = "",
    problem: str | None = None,
    pressed: bool = False,
    status: int = 200,
) -> Response:
    account: Account = request.app.state.account
    if session["status"] != "open" or session["expires_at"] <= account.engine.clock.seconds():
        why = "complete" if session["status"] == "complete" else "expired"
        return templates.TemplateResponse(
            request, "gone.html", {"why": why, "pressed": pressed, "back": session["cancel_url"]}, 200
        )
    lines: list[dict[str, Any]] = [
        {
            "name": item["description"],
            "quantity": item["quantity"],
            "amount": written(item["amount_subtotal"], item["currency"]),
        }
        for item in session["_line_items"]
    ]
    return templates.TemplateResponse(
        request,
        "till.html",
        {
            "id": session["id"],
            "lines": lines,
            "total": written(session["amount_total"], session["currency"]),
            "discount": written(off, session["currency"])
            if (off := session["total_details"]["amount_discount"])
            else None,
            "codes": bool(session["allow_promotion_codes"]),
            "free": session["amount_total"] == 0,
            "methods": session["payment_method_types"],
            "email": email or session["customer_email"] or "",
            "back": session["cancel_url"],
            "problem": problem,
        },
        status,
    )


routes = [
    Route("/pay/{id}", show, methods=["GET"]),
    Route("/pay/{id}", pay, methods=["POST"]),
    Route("/pay/{id}/challenge", ask, methods=["GET"]),
    Route("/pay/{id}/challenge", answer, methods=["POST"]),
    Route("/pay/{id}/promotion", promotion, methods=["POST"]),
]
