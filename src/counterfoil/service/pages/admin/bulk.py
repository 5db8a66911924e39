"""Many codes at once, and the file of those that were made."""

from __future__ import annotations

from uuid import UUID

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from counterfoil import batches, catalogue, errors, patterns
from counterfoil.batches import Batch
from counterfoil.model import BuyerIdentity
from counterfoil.patterns import Form as CodeForm
from counterfoil.periods import Calendar
from counterfoil.service.api.code_files import as_csv
from counterfoil.service.fields import SoughtCode
from counterfoil.service.pages.admin import institutions
from counterfoil.service.pages.admin.code_terms import NEW, form_page, terms_in
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import show
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: Codes of a batch that its page shows.
_SHOWN = 20


@pages.page("/institutions/{institution}/new-codes")
async def new(request: Request, institution: str) -> Response:
    """Ask about many codes of an institution."""
    form = Form({**NEW, "pattern": patterns.DEFAULT, "cap": "1"})
    return await form_page(request, form, slug=institution, most_at_once=batches.MOST)


@pages.action("/institutions/{institution}/new-codes", role=Role.STAFF)
async def make(request: Request, institution: str) -> Response:
    """Make them."""
    state = state_of(request)
    form = await Form.of(request)
    school = await institutions.found(state, institution)
    number = form.whole("count", least=1, most=batches.MOST)
    looks: CodeForm | None = None
    try:
        looks = CodeForm(form.typed("prefix").strip(), form.typed("pattern").strip().upper())
    except ValueError as error:
        message = str(error)
        form.wrong("prefix" if "prefix" in message else "pattern", message[:1].upper() + message[1:] + ".")
    calendar = form.one_of("calendar", list(Calendar))
    counts_with = form.take("counts_with", SoughtCode, or_none=True)
    rule = form.one_of("buyer_identity", list(BuyerIdentity)) if form.typed("buyer_identity") else "address"
    terms = await terms_in(state, form, paused=False)
    if terms is None or form.errors or calendar is None or number is None or looks is None or rule is None:
        return await form_page(request, form, 422, slug=institution, most_at_once=batches.MOST)
    try:
        await state.run(catalogue.check_identity(counts_with=counts_with, buyer_identity=BuyerIdentity(rule)))
        made = await state.drive(
            batches.make_codes(
                institution=school,
                number=number,
                form=looks,
                terms=terms,
                calendar=Calendar(calendar),
                counts_with=counts_with,
                buyer_identity=BuyerIdentity(rule),
            )
        )
    except errors.CodesTooDense as dense:
        form.wrong("pattern", dense.detail)
    except errors.IdentityDiffers as differs:
        form.wrong("buyer_identity", f"{differs.said}.")
    except errors.CodeUnknown as unknown:
        form.wrong("counts_with", unknown.detail)
    else:
        return RedirectResponse(f"/admin/batches/{made.id}", 303)
    return await form_page(request, form, 422, slug=institution, most_at_once=batches.MOST)


@pages.page("/batches/{id}.csv")
async def table(request: Request, id: str) -> Response:
    """Those that are in force, as a file."""
    state = state_of(request)
    made = await _found(state, id)
    return as_csv(state, batch=made.id, name=f"codes-{made.institution}-{made.created_at:%Y-%m-%d}.csv")


@pages.page("/batches/{id}")
async def one(request: Request, id: str) -> Response:
    """What was made: how many, how hard they are to guess, and the file of them."""
    state = state_of(request)
    made = await _found(state, id)
    return show(
        request,
        "batch",
        made=made,
        institution=await institutions.found(state, made.institution),
        shown=made.codes[:_SHOWN],
    )


async def _found(state: State, id: str) -> Batch:
    try:
        made = await state.run(batches.batch(UUID(id)))
    except ValueError:
        made = None
    if made is None:
        raise Problem("not-found", "There are no codes that were made under this address.")
    return made
