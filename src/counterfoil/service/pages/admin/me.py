"""My account: the password, and the browsers that I am signed in with."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from counterfoil.service import accounts, passwords, sessions
from counterfoil.service.fields import row_id
from counterfoil.service.pages.admin.door import SIGN_IN, AdminRouter, Role, Who, let_out
from counterfoil.service.pages.admin.sign_in import Tried
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

pages = AdminRouter()

# Who may only look may still look after their own account.


@pages.page("/account")
async def shown(request: Request, changed: bool = False) -> Response:
    """My account."""
    return await _shown(request, changed=changed)


@pages.action("/account/password", role=Role.READ_ONLY)
async def change_password(request: Request) -> Response:
    """Another password, for whoever knows the present one. It ends my other sessions."""
    state, who = state_of(request), _with_account(request)
    given = await request.form()
    present, new, again = (str(given.get(name, "")) for name in ("present", "new", "again"))
    try:
        tried = await Tried.once(request, state, who.email or "")
    except Problem as problem:
        return await _shown(request, 429, wrong={"present": problem.detail}, headers=dict(problem.headers))
    known = await state.run(accounts.credentials(who.email or ""))
    if known is None or not await state.passwords.are(known.password_hash, present):
        return await _shown(request, 403, wrong={"present": "This is not your present password."})
    await tried.passed(state)
    try:
        plain = passwords.check(new, email=who.email or "")
    except ValueError as error:
        return await _shown(request, 422, wrong={"new": str(error)})
    if new != again:
        return await _shown(request, 422, wrong={"again": "The two are not the same."})
    if passwords.plainly(present) == plain:
        return await _shown(request, 422, wrong={"new": "That is the present one."})
    await state.run(
        accounts.set_password(
            id=known.id, password_hash=await state.passwords.hashed(plain), first=False, but_session=who.session
        )
    )
    return RedirectResponse("/admin/account?changed=true", 303)


@pages.action("/account/sessions/{id}/end", role=Role.READ_ONLY)
async def end_session(request: Request, id: str) -> Response:
    """Sign one of my browsers out."""
    who = _with_account(request)
    session = row_id(id)
    if session is not None:
        await state_of(request).run(sessions.end(id=session, account=who.account))
    return RedirectResponse("/admin/account", 303)


@pages.action("/account/sign-out-everywhere", role=Role.READ_ONLY)
async def sign_out_everywhere(request: Request) -> Response:
    """Sign all of my browsers out, this one too."""
    who = _with_account(request)
    await state_of(request).run(sessions.end(account=who.account))
    return let_out(RedirectResponse(SIGN_IN, 303))


def _with_account(request: Request) -> Who:
    who: Who = request.state.who
    if who.account is None:
        raise Problem("forbidden", "You are signed in with a key, which has no password here and no other sessions.")
    return who


async def _shown(
    request: Request,
    status: int = 200,
    *,
    wrong: dict[str, str] | None = None,
    changed: bool = False,
    headers: dict[str, str] | None = None,
) -> Response:
    who: Who = request.state.who
    mine = await state_of(request).run(sessions.sessions(account=who.account)) if who.account is not None else []
    return page(
        request, "admin/account.html", status, headers=headers, who=who, sessions=mine, wrong=wrong or {},
        changed=changed, least=passwords.LEAST,
    )  # fmt: skip
