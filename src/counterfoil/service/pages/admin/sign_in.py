"""Signing in and out of the seller's own pages: with an account, or, where there is none yet, with a key."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from counterfoil.audit import Actor
from counterfoil.service import accounts, sessions
from counterfoil.service.acting import acting
from counterfoil.service.auth import REACH
from counterfoil.service.edge import caller_of
from counterfoil.service.pages import browser
from counterfoil.service.pages.admin import coming_back, door
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.pages.shop import origin
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of
from counterfoil.service.throttle import Throttle

log = logging.getLogger(__name__)

#: Before the door, and behind it.
entrance = APIRouter(prefix="/admin", include_in_schema=False)
pages = AdminRouter()

_WITHIN = timedelta(minutes=15)
#: Of an address, whichever accounts it tries.
TRIES = Throttle("sign-in", most=10, within=_WITHIN)
#: Of an account, from wherever it is tried. Ten would let one stranger keep somebody out; none at all would let many
#: addresses guess together. A hundred in a quarter of an hour guess no password of twelve characters.
FROM_ANYWHERE = Throttle("sign-in from anywhere", most=100, within=_WITHIN)


@entrance.get("/sign-in")
async def form(request: Request) -> Response:
    """Ask who it is."""
    return _form(request, wanted=coming_back.safe(request.query_params.get("next", "")))


@entrance.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Let in whoever has an account, or a key that reaches `manage`. Ten that were wrong, and the address waits."""
    state = state_of(request)
    browser.must_be_ours(request, state)
    given = await request.form()
    email, password, key = (str(given.get(name, "")) for name in ("email", "password", "key"))
    wanted = coming_back.safe(str(given.get("next", "")))
    try:
        if key.strip():
            return await _with_key(request, state, key.strip(), wanted)
        return await _with_password(request, state, email, password, wanted)
    except Problem as problem:
        return _form(
            request, problem.status or 429, email=email, wrong=problem.detail, wanted=wanted, headers=problem.headers
        )


@pages.action("/sign-out", role=Role.READ_ONLY)
async def sign_out(request: Request) -> Response:
    """End the session."""
    await state_of(request).run(sessions.end(id=request.state.who.session))
    return door.let_out(RedirectResponse(door.SIGN_IN, 303))


async def _with_password(request: Request, state: State, email: str, password: str, wanted: str) -> Response:
    try:
        folded = accounts.fold(email)
    except ValueError:
        raise Problem("invalid-request", f"Write {accounts.AN_ADDRESS}.", 422) from None
    tried = await Tried.once(request, state, folded)
    known = await state.run(accounts.credentials(folded))
    # As much work, and the same answer, whether or not there is such an account.
    if not await state.passwords.are(known.password_hash if known else None, password) or known is None:
        log.warning("sign-in refused")
        raise Problem("forbidden", "The address or the password is not right.", 403)
    await tried.passed(state)
    with acting(Actor("account", folded, str(known.id))):
        return await door.let_in(RedirectResponse(wanted, 303), request, account=known.id)


async def _with_key(request: Request, state: State, secret: str, wanted: str) -> Response:
    address = here(request, state)
    await TRIES.must_pass(state, (address,))
    caller = await caller_of(secret, state)
    if caller is None or "manage" not in REACH[caller.scope]:
        log.warning("sign-in with a key refused")
        wrong = "This key was not recognised." if caller is None else "This key does not reach manage."
        raise Problem("forbidden", wrong, 403)
    if caller.key_id and any(one.disabled_at is None for one in await state.run(accounts.accounts())):
        # So that the log says who it was.
        raise Problem("forbidden", "Keys are for programs here, now that there are accounts: sign in with yours.", 403)
    await state.run(TRIES.passed(trusted=(), others=(address,)))
    with acting(caller.actor):
        return await door.let_in(RedirectResponse(wanted, 303), request, key=caller.key_id)


@dataclass(frozen=True)
class Tried:
    """A try of an account's password, as it was counted before it was made."""

    address: str
    account: str

    @classmethod
    async def once(cls, request: Request, state: State, email: str) -> Tried:
        """
        Count one try, of this client's address and of the account.

        Raises:
            Problem: ``rate-limited``.
        """
        one = cls(here(request, state), FROM_ANYWHERE.name(f"account {email}", state.settings))
        # The address first: whoever waits for that uses up nobody's account.
        await TRIES.must_pass(state, (one.address,))
        await FROM_ANYWHERE.must_pass(state, (one.account,))
        return one

    async def passed(self, state: State) -> None:
        """It went well, so it counts no more. What others tried from elsewhere does."""
        await state.run(TRIES.passed(trusted=(), others=(self.address,)))
        await state.run(FROM_ANYWHERE.passed(trusted=(), others=(self.account,)))


def here(request: Request, state: State) -> str:
    """What the tries of this client's address are counted by."""
    return TRIES.name(f"address {origin.of(request, state)}", state.settings)


def _form(
    request: Request,
    status: int = 200,
    *,
    wanted: str,
    email: str = "",
    wrong: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    provider = state_of(request).settings.provider
    return page(
        request, "admin/sign_in.html", status, headers=headers, email=email, wrong=wrong, provider=provider,
        wanted=wanted, asking=coming_back.asking,
    )  # fmt: skip
