"""Codes out to a file, and in from one: looked at first, line by line, and then added all at once."""

from __future__ import annotations

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from counterfoil import catalogue, errors
from counterfoil.importing import cells, plan
from counterfoil.importing.plan import Fate, Format, Imported
from counterfoil.importing.wanted import Given
from counterfoil.model import Institution
from counterfoil.periods import Calendar
from counterfoil.pricing import CURRENCIES
from counterfoil.service.api.code_files import as_csv
from counterfoil.service.pages.admin import institutions
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import CALENDARS, show, then
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Lines that a page shows; of more, those that are bad come first.
_SHOWN = 200
FORMATS = {
    "": "As its first line says",
    Format.COUNTERFOIL.value: "Our own, or a plain one",
    Format.STRIPE.value: "Stripe's promotion codes",
    Format.VOUCHERIFY.value: "Voucherify's",
}
#: What may be said for all lines.
_BESIDE = ("cap", "percent", "currency", "calendar", "per_buyer_limit")


@pages.page("/codes.csv")
async def table(request: Request, institution: str = "") -> Response:
    """The codes in force, of one institution or of all."""
    state = state_of(request)
    try:
        of_one = (await state.run(catalogue.institution(institution))).id if institution else None
    except errors.InstitutionUnknown as unknown:
        raise Problem("not-found", unknown.detail) from None
    return as_csv(state, institution=of_one)


@pages.page("/institutions/{institution}/import")
async def ask(request: Request, institution: str) -> Response:
    """Ask for a file."""
    school = await institutions.found(state_of(request), institution)
    return _page(request, school, Form())


@pages.action("/institutions/{institution}/import", role=Role.STAFF)
async def bring(request: Request, institution: str) -> Response:
    """Look at a file; or, once it was looked at, add its codes."""
    state = state_of(request)
    school = await institutions.found(state, institution)
    async with request.form(max_files=1, max_fields=30, max_part_size=2 * cells.MOST_BYTES) as sent:
        form = Form(sent)
        chosen = sent.get("file")
        data = await chosen.read() if isinstance(chosen, UploadFile) else form.typed("text").encode("utf-8", "replace")
    written_by = form.one_of("format", list(FORMATS)) if form.typed("format") else None
    amounts = form.one_of("amounts", ("minor", "major")) if form.typed("amounts") else None
    beside = {name: form.typed(name).strip() for name in _BESIDE if form.typed(name).strip()}
    if not data:
        form.wrong("file", "Choose a file.")
    if form.errors:
        return _page(request, school, form, 422)
    try:
        text = cells.decoded(data)
        found = await state.drive(
            plan.import_codes(
                data=text.encode(),
                given=Given(school, beside, amounts),
                format=Format(written_by) if written_by else None,
                dry_run=not form.ticked("apply"),
                skip_bad=form.ticked("skip"),
            )
        )
    except (cells.Unreadable, errors.FileUnreadable) as why:
        message = str(why)
        form.wrong("file", message[:1].upper() + message[1:] + ".")
        return _page(request, school, form, 422)
    if found.done and found.count(Fate.ADD):
        return then(f"/admin/institutions/{school.slug}", "codes-imported")
    return _page(request, school, form, 409 if form.ticked("apply") else 200, found=found, text=text)


def _page(
    request: Request,
    school: Institution,
    form: Form,
    status: int = 200,
    *,
    found: Imported | None = None,
    text: str = "",
) -> Response:
    lines = sorted(found.lines, key=lambda line: line.fate is not Fate.BAD) if found else []
    return show(
        request,
        "import",
        status,
        institution=school,
        form=form,
        found=found,
        lines=lines[:_SHOWN],
        text=text,
        counts={fate.value: found.count(fate) for fate in Fate} if found else {},
        formats=FORMATS,
        known=[(calendar.value, CALENDARS[calendar]) for calendar in Calendar],
        currencies=[("", "None"), *((one, one.upper()) for one in sorted(CURRENCIES))],
        beside=_BESIDE,
    )
