"""
Signing in to the seller's own pages with an OpenID Connect provider.

The browser keeps one random text for ten minutes. What the provider is told is made from it with our key: the state is
this browser's alone, and the nonce and the verifier are known to nobody but us.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from datetime import timedelta
from urllib.parse import quote, unquote

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil import records
from counterfoil.audit import Actor
from counterfoil.service import accounts, oidc
from counterfoil.service.accounts import Account
from counterfoil.service.acting import acting
from counterfoil.service.oidc import Flow
from counterfoil.service.pages.admin import coming_back, door
from counterfoil.service.pages.admin.sign_in import TRIES, here
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import KINDS, Problem
from counterfoil.service.provider import Provider
from counterfoil.service.state import State, state_of

log = logging.getLogger(__name__)

entrance = APIRouter(prefix="/admin", include_in_schema=False)

PATH = "/admin/sign-in/oidc"
COOKIE = "counterfoil_oidc"
#: How long somebody may take at the provider's.
_LASTS = timedelta(minutes=10)


@entrance.get("/sign-in/oidc")
async def begin(request: Request) -> Response:
    """Send the browser to the provider."""
    state, provider = state_of(request), _provider(request)
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        # Another site's page begins nothing here, and uses up nobody's tries: whoever came by its link sees our form.
        return RedirectResponse(door.SIGN_IN, 303)
    try:
        await TRIES.must_pass(state, (here(request, state),))
        now = await state.run(records.now())
        wanted = coming_back.safe(request.query_params.get("next", ""))
        kept = f"{int(now.timestamp())}.{secrets.token_urlsafe(32)}.{quote(wanted, safe='').replace('.', '%2E')}"
        to = await oidc.begin(provider, _flow(kept, state), _back(state))
    except Problem as problem:
        return _refused(request, problem)
    response = RedirectResponse(to, 303)
    response.set_cookie(
        COOKIE,
        kept,
        max_age=int(_LASTS.total_seconds()),
        path=PATH,
        httponly=True,
        # The way back is begun by the provider's page: a strict one would not come along.
        samesite="lax",
        secure=state.settings.public_url.startswith("https:"),
    )
    return response


@entrance.get("/sign-in/oidc/back")
async def back(request: Request) -> Response:
    """Let in whoever the provider says has an address with an account that is open."""
    state, provider = state_of(request), _provider(request)
    try:
        await TRIES.must_pass(state, (here(request, state),))
        account = await _known(request, state, provider)
    except Problem as problem:
        return _refused(request, problem)
    # It is a part of what the state was made from: nobody put another there.
    wanted = coming_back.safe(unquote(request.cookies.get(COOKIE, "").rpartition(".")[2]))
    # This try, and the one that began it.
    for _ in range(2):
        await state.run(TRIES.passed(trusted=(), others=(here(request, state),)))
    with acting(Actor("account", account.email, str(account.id))):
        if account.first_until is not None:
            # They chose how to sign in. The password that somebody else made for them is nobody's from now on.
            nobodys = await state.passwords.hashed(secrets.token_urlsafe(32))
            await state.run(accounts.set_password(id=account.id, password_hash=nobodys, first=False))
        # A page, and no redirect: the browser sends our strict cookie only where our own page leads.
        response = await door.let_in(page(request, "admin/signed_in.html", wanted=wanted), request, account=account.id)
    response.delete_cookie(COOKIE, path=PATH)
    return response


async def _known(request: Request, state: State, provider: Provider) -> Account:
    query, kept = request.query_params, request.cookies.get(COOKIE, "")
    flow = _flow(kept, state)
    # guard: only-the-browser-that-began
    if not hmac.compare_digest(query.get("state", "").encode(), flow.state.encode()):
        raise Problem("forbidden", "This sign-in was not begun in this browser, or is over. Begin it again.")
    if not await _is_fresh(kept, state):
        raise Problem("forbidden", "This sign-in took more than ten minutes. Begin it again.")
    if "code" not in query:
        said = f"{query.get('error', 'no code')} {query.get('error_description', '')}".strip()
        log.warning("the OpenID Connect provider let nobody in: %r", said[:300])
        raise oidc.refused(provider, "it said: " + "".join(letter for letter in said if letter.isprintable())[:300])
    leeway = int(state.settings.allowed_skew.total_seconds())
    said = await oidc.verified_email(provider, flow, _back(state), query["code"], leeway)
    # Letters that are one address to us may be two to the provider: faß@ and fass@ are two people there.
    # guard: one-address-at-the-provider-is-one-here
    if not said.isascii():
        raise Problem(
            "forbidden",
            f"{provider.host} told of an address that has letters beyond plain ones. Use another address there, or "
            "sign in with a password.",
        )
    try:
        email = accounts.fold(said)
    except ValueError as error:
        raise oidc.refused(provider, "it told of no e-mail address") from error
    found = await state.run(accounts.accounts(email=email))
    # guard: only-whom-an-owner-added
    if not found or found[0].disabled_at is not None:
        log.warning("sign-in refused")
        raise Problem(
            "forbidden",
            f"No account that is open has the address {email}. Ask an owner to add it under Accounts, or to enable it.",
        )
    return found[0]


async def _is_fresh(kept: str, state: State) -> bool:
    began = re.match(r"([0-9]{1,12})\.", kept)
    now = await state.run(records.now())
    return began is not None and now.timestamp() - int(began[1]) <= _LASTS.total_seconds()


def _flow(kept: str, state: State) -> Flow:
    def made(what: str) -> str:
        text = f"oidc {what} {kept}".encode("utf-8", "surrogatepass")
        return hmac.new(state.settings.secret_key.encode(), text, hashlib.sha256).hexdigest()

    return Flow(made("state"), made("nonce"), made("verifier"))


def _back(state: State) -> str:
    return f"{state.settings.public_url.rstrip('/')}{PATH}/back"


def _provider(request: Request) -> Provider:
    provider = state_of(request).settings.provider
    if provider is None:
        raise Problem("not-found", KINDS["not-found"].advice)
    return provider


def _refused(request: Request, problem: Problem) -> Response:
    kind = KINDS[problem.code]
    response = page(
        request, "admin/oidc_refused.html", problem.status or kind.status, headers=problem.headers, title=kind.title,
        advice=problem.detail,
    )  # fmt: skip
    response.delete_cookie(COOKIE, path=PATH)
    return response
