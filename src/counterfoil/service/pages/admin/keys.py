"""API keys: made, with a secret that is shown once, and revoked."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError
from starlette.responses import RedirectResponse

from counterfoil.service import auth
from counterfoil.service.auth import Scope
from counterfoil.service.fields import Text, row_id
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

pages = AdminRouter()

SCOPES: dict[str, str] = {
    "checkout": "Sells: quotes, checkouts, what buyers own.",
    "read": "Reads institutions, codes, products, usage and redemptions.",
    "manage": "Reads, and changes what is sold and to whom.",
}
_NAME: TypeAdapter[str] = TypeAdapter(Text)
_SCOPE: TypeAdapter[Scope] = TypeAdapter(Scope)


@pages.page("/keys")
async def listed(request: Request) -> Response:
    """All keys, also those that work no more. Never a secret."""
    return await _all(request)


@pages.action("/keys", role=Role.OWNER)
async def create(request: Request) -> Response:
    """A new key. This answer alone has its secret."""
    given = await request.form()
    typed = {name: str(given.get(name, "")) for name in ("name", "scope")}
    wrong: dict[str, str] = {}
    name, scope = "", None
    try:
        name = _NAME.validate_python(typed["name"])
    except ValidationError:
        wrong["name"] = "Write what it is for, in 250 characters at most."
    try:
        scope = _SCOPE.validate_python(typed["scope"])
    except ValidationError:
        wrong["scope"] = "Choose what it may do."
    if wrong or scope is None:
        return await _all(request, 422, typed=typed, wrong=wrong)
    secret = auth.new_secret()
    made = await state_of(request).run(auth.create_key(name=name, scope=scope, secret=secret))
    return await _all(request, made=made, secret=secret)


@pages.action("/keys/{id}/revoke", role=Role.OWNER)
async def revoke(request: Request, id: str) -> Response:
    """Stop a key at once."""
    key = row_id(id)
    if key is None or not await state_of(request).run(auth.revoke_key(key)):
        raise Problem("not-found", f"There is no key {id[:20]} that still works.")
    return RedirectResponse("/admin/keys", 303)


async def _all(request: Request, status: int = 200, **values: Any) -> Response:
    keys = await state_of(request).run(auth.keys())
    shown = {"typed": {"name": "", "scope": "checkout"}, "wrong": {}, "made": None, "secret": None} | values
    return page(request, "admin/keys.html", status, keys=keys, scopes=SCOPES, **shown)
