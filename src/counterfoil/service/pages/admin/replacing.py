"""Replacing a code that leaked."""

from __future__ import annotations

from fastapi import Request, Response

from counterfoil import errors, replacing
from counterfoil.overview import CodeInFull
from counterfoil.service.fields import TypedCode
from counterfoil.service.pages.admin.codes import found, path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show, then
from counterfoil.service.state import state_of

pages = AdminRouter()


@pages.page("/codes/{code}/replace")
async def ask(request: Request, code: str) -> Response:
    """Ask which code takes its place."""
    return _form(request, await found(state_of(request), code), Form())


@pages.action("/codes/{code}/replace", role=Role.STAFF)
async def replace(request: Request, code: str) -> Response:
    """Put it in its place."""
    state = state_of(request)
    form = await Form.of(request)
    full = await found(state, code)
    new = form.take("code", TypedCode)
    if form.errors:
        return _form(request, full, form, 422)
    try:
        made = await state.run(replacing.replace_code(old=code, new=new))
    except errors.AlreadyExists:
        form.wrong("code", "There is a code that reads the same: case, spaces and dashes make no difference.")
        return _form(request, full, form, 409)
    except errors.CodeReplaced:
        return _form(request, await found(state, code), form, 409)
    return then(path_to(made.code), "code-replaced")


def _form(request: Request, full: CodeInFull, form: Form, status: int = 200) -> Response:
    return show(request, "replace", status, full=full, code=full.code, form=form, path_here=path_to(full.code.code))
