"""Accounts: who may do what. Owners alone decide that."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError
from starlette.responses import RedirectResponse

from counterfoil.errors import Refusal
from counterfoil.service import accounts, passwords, sessions
from counterfoil.service.accounts import Account
from counterfoil.service.fields import Text, row_id
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: What each role may do, in words for whoever gives it.
ROLES = {
    Role.READ_ONLY: "Sees everything, changes nothing.",
    Role.STAFF: "Changes what is sold and to whom: institutions, codes, caps, products, places.",
    Role.OWNER: "Also accounts, keys, webhooks, and the settings.",
}
_TEXT: TypeAdapter[str] = TypeAdapter(Text)


@pages.page("/accounts", role=Role.OWNER)
async def listed(request: Request) -> Response:
    """Everybody who works here."""
    return await _all(request)


@pages.action("/accounts", role=Role.OWNER)
async def add(request: Request) -> Response:
    """Make an account, with a password that is shown once and changed by its owner."""
    state = state_of(request)
    given = await request.form()
    typed = {name: str(given.get(name, "")) for name in ("email", "name", "role")}
    wrong: dict[str, str] = {}
    email = ""
    try:
        email = accounts.fold(typed["email"])
    except ValueError as error:
        wrong["email"] = f"Write {error}."
    if not _is_text(typed["name"]):
        wrong["name"] = "Write a name, of 250 characters at most."
    if typed["role"] not in list(Role):
        wrong["role"] = "Choose a role."
    if wrong:
        return await _all(request, 422, typed=typed, wrong=wrong)
    password = passwords.first_password()
    try:
        made = await state.run(
            accounts.add(
                email=email,
                name=typed["name"].strip(),
                role=Role(typed["role"]),
                password_hash=await state.passwords.hashed(password),
                first=True,
            )
        )
    except Refusal as refusal:
        return await _all(request, 409, typed=typed, wrong={"email": refusal.detail})
    return page(request, "admin/first_password.html", account=made, password=password)


@pages.page("/accounts/{id}", role=Role.OWNER)
async def one(request: Request, id: str) -> Response:
    """One account, and the browsers it is signed in with."""
    state = state_of(request)
    return await _one(request, state, await _found(state, id))


@pages.action("/accounts/{id}", role=Role.OWNER)
async def change(request: Request, id: str) -> Response:
    """Another name, or another role."""
    state = state_of(request)
    account = await _found(state, id)
    given = await request.form()
    name, role = str(given.get("name", "")), str(given.get("role", ""))
    if not _is_text(name):
        return await _one(request, state, account, 422, wrong="Write a name, of 250 characters at most.", name=name)
    if role not in list(Role):
        return await _one(request, state, account, 422, wrong="Choose a role.", name=name)
    was = (str(given.get("was_name", account.name)), str(given.get("was_role", account.role)))
    changed = accounts.change(id=account.id, name=name.strip(), role=Role(role), was=was)
    return await _done(request, state, account, changed)


@pages.action("/accounts/{id}/disable", role=Role.OWNER)
async def disable(request: Request, id: str) -> Response:
    """Let nobody in with it."""
    state = state_of(request)
    account = await _found(state, id)
    return await _done(request, state, account, accounts.disable(id=account.id))


@pages.action("/accounts/{id}/enable", role=Role.OWNER)
async def enable(request: Request, id: str) -> Response:
    """Let it in again."""
    state = state_of(request)
    account = await _found(state, id)
    return await _done(request, state, account, accounts.enable(id=account.id))


@pages.action("/accounts/{id}/password", role=Role.OWNER)
async def new_password(request: Request, id: str) -> Response:
    """Make another first password for somebody who forgot theirs. It ends their sessions."""
    state = state_of(request)
    account = await _found(state, id)
    password = passwords.first_password()
    await state.run(
        accounts.set_password(id=account.id, password_hash=await state.passwords.hashed(password), first=True)
    )
    return page(request, "admin/first_password.html", account=await _found(state, id), password=password)


async def _all(request: Request, status: int = 200, **values: Any) -> Response:
    found = await state_of(request).run(accounts.accounts())
    shown = {"typed": {"email": "", "name": "", "role": "staff"}, "wrong": {}} | values
    return page(request, "admin/accounts.html", status, accounts=found, roles=ROLES, **shown)


async def _one(
    request: Request,
    state: State,
    account: Account,
    status: int = 200,
    *,
    wrong: str | None = None,
    name: str | None = None,
) -> Response:
    signed_in = await state.run(sessions.sessions(account=account.id))
    return page(
        request, "admin/account_of.html", status, account=account, sessions=signed_in, roles=ROLES, wrong=wrong,
        name=account.name if name is None else name,
    )  # fmt: skip


async def _done(request: Request, state: State, account: Account, statement: Any) -> Response:
    try:
        await state.run(statement)
    except (accounts.LastOwner, accounts.AccountMoved) as refusal:
        return await _one(request, state, await _found(state, str(account.id)), 409, wrong=refusal.detail)
    return RedirectResponse(f"/admin/accounts/{account.id}", 303)


async def _found(state: State, id: str) -> Account:
    row = row_id(id)
    found = await state.run(accounts.accounts(id=row)) if row is not None else []
    if not found:
        raise Problem("not-found", f"There is no account {id[:20]}.")
    return found[0]


def _is_text(value: str) -> bool:
    try:
        _TEXT.validate_python(value)
    except ValidationError:
        return False
    return True
