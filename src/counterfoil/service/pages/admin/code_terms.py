"""What a code grants, as forms: a new code, and a change that overwrites nobody's unseen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Request, Response

from counterfoil import catalogue, errors
from counterfoil.catalogue import CodeTerms
from counterfoil.model import BuyerIdentity, Code, Product, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import CURRENCIES
from counterfoil.service.fields import SoughtCode, TypedCode
from counterfoil.service.pages.admin import discount_form, institutions
from counterfoil.service.pages.admin.caps import MOST_CAP
from counterfoil.service.pages.admin.codes import found, path_to
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.admin.forms import Form
from counterfoil.service.pages.admin.showing import CALENDARS, IDENTITIES, POLICIES, show, then
from counterfoil.service.problems import of
from counterfoil.service.state import State, state_of

pages = AdminRouter()

#: What a form of a new code begins with.
NEW = {
    "kind": "percent",
    "currency": "gbp",
    "calendar": "academic_year",
    "per_buyer": "1",
    "refund_policy": "keep",
    "buyer_identity": "address",
}
#: Products that a form offers.
_PRODUCTS = 500


@pages.page("/institutions/{institution}/new-code")
async def new(request: Request, institution: str) -> Response:
    """Ask about a new code of an institution."""
    return await form_page(request, Form(dict(NEW)), slug=institution)


@pages.action("/institutions/{institution}/new-code", role=Role.STAFF)
async def add(request: Request, institution: str) -> Response:
    """Add it."""
    state = state_of(request)
    form = await Form.of(request)
    school = await institutions.found(state, institution)
    code = form.take("code", TypedCode)
    calendar = form.one_of("calendar", list(Calendar))
    counts_with = form.take("counts_with", SoughtCode, or_none=True)
    rule = form.one_of("buyer_identity", list(BuyerIdentity)) if form.typed("buyer_identity") else "address"
    terms = await terms_in(state, form, paused=False)
    if terms is None or form.errors or calendar is None or rule is None:
        return await form_page(request, form, 422, slug=institution)
    identity = BuyerIdentity(rule)
    try:
        await state.run(catalogue.check_identity(counts_with=counts_with, buyer_identity=identity))
        made = await state.run(
            catalogue.add_code(
                institution=school,
                code=code,
                terms=terms,
                calendar=Calendar(calendar),
                counts_with=counts_with,
                buyer_identity=identity,
            )
        )
    except errors.AlreadyExists:
        form.wrong("code", "There is a code that reads the same: case, spaces and dashes make no difference.")
        return await form_page(request, form, 409, slug=institution)
    except errors.IdentityDiffers as differs:
        form.wrong("buyer_identity", f"{differs.said}.")
        return await form_page(request, form, 422, slug=institution)
    except errors.CodeUnknown as unknown:
        form.wrong("counts_with", unknown.detail)
        return await form_page(request, form, 422, slug=institution)
    return then(path_to(made.code), "code-added")


@pages.page("/codes/{code}/edit")
async def edit(request: Request, code: str) -> Response:
    """What a code grants now, to be changed."""
    full = await found(state_of(request), code)
    if full.code.replaced_by is not None:
        raise of(errors.CodeReplaced(full.code.code, replaced_by=full.code.replaced_by))
    return await form_page(request, _filled(full.code), code=full.code)


@pages.action("/codes/{code}/edit", role=Role.STAFF)
async def change(request: Request, code: str) -> Response:
    """Change it, if it still is as it was read. Allocations keep their caps, and redemptions their prices."""
    state = state_of(request)
    form = await Form.of(request)
    current = (await found(state, code)).code
    version = form.whole("version", least=1, most=2**62)
    terms = await terms_in(state, form, paused=current.paused)
    if terms is None or version is None or form.errors:
        return await form_page(request, form, 422, code=current)
    changed = await state.run(catalogue.change_code(code=replace(current, version=version), terms=terms))
    if changed is None:
        current = (await found(state, code)).code
        return await form_page(request, form, 409, code=current, differs=_differences(form, _filled(current)))
    return then(path_to(changed.code), "code-changed")


async def terms_in(state: State, form: Form, *, paused: bool) -> CodeTerms | None:
    """What the form grants, or None with what is wrong said in the form."""
    cap = form.places(most=MOST_CAP)
    discount = discount_form.read(form)
    per_buyer = form.whole("per_buyer", least=1, most=1_000_000, or_none=True)
    starts_on, ends_on = form.day("starts_on"), form.day("ends_on")
    if starts_on and ends_on and starts_on > ends_on:
        form.wrong("ends_on", "The last day lies before the first.")
    policy = form.one_of("refund_policy", list(RefundPolicy))
    products = form.all_of("products")
    try:
        await state.run(catalogue.check_products(products))
    except errors.ProductUnknown as unknown:
        form.wrong("products", unknown.detail)
    if form.errors or discount is None or policy is None:
        return None
    return CodeTerms(
        cap=cap,
        discount=discount,
        per_buyer_limit=per_buyer,
        starts_on=starts_on,
        ends_on=ends_on,
        products=products or None,
        refund_policy=RefundPolicy(policy),
        paused=paused,
    )


def _filled(code: Code) -> Form:
    """The form as the code is now."""
    values: dict[str, str | list[str]] = {
        "version": str(code.version),
        "per_buyer": str(code.per_buyer_limit or ""),
        "starts_on": code.starts_on.isoformat() if code.starts_on else "",
        "ends_on": code.ends_on.isoformat() if code.ends_on else "",
        "refund_policy": str(code.refund_policy),
        "products": list(code.products or ()),
        "currency": "gbp",
    }
    values |= {"uncapped": "yes"} if code.cap is None else {"cap": str(code.cap)}
    values |= discount_form.filled(code.discount)
    return Form(values)


#: What is compared when two people have edited the same code, and how it is called.
_COMPARED = {
    "cap": "Places in a new period",
    "uncapped": "No cap",
    "kind": "Discount",
    "value": "Of",
    "currency": "Currency",
    "currencies": "In other currencies",
    "at_most": "At most",
    "per_buyer": "Times a buyer may use it",
    "starts_on": "First day",
    "ends_on": "Last day",
    "refund_policy": "After a refund",
    "products": "Products",
}


def _differences(mine: Form, theirs: Form) -> list[tuple[str, str, str]]:
    """What the code says now, and what was typed, where they are not the same."""
    told = []
    for name, label in _COMPARED.items():
        here, there = (", ".join("\n".join(one.all_of(name)).splitlines()) for one in (mine, theirs))
        if here != there and not (name == "currency" and mine.typed("kind") == theirs.typed("kind") == "percent"):
            told.append((label, there or "nothing", here or "nothing"))
    return told


async def form_page(request: Request, form: Form, status: int = 200, **given: Any) -> Response:
    """The form of a code's terms: of a new one, of many (*most_at_once*), or of one that there is (*code*)."""
    state = state_of(request)
    slug: str | None = given.pop("slug", None)
    # Many codes at once: how many there may be.
    most_at_once: int | None = given.pop("most_at_once", None)
    code: Code | None = given.pop("code", None)
    products: list[Product] = await state.run(catalogue.products(most=_PRODUCTS))
    return show(
        request,
        "code_terms",
        status,
        form=form,
        code=code,
        institution=await institutions.found(state, slug or (code.institution if code else "")),
        products=products,
        kinds=discount_form.KINDS,
        calendars=CALENDARS,
        policies=POLICIES,
        identities=IDENTITIES,
        currencies=sorted(CURRENCIES),
        differs=given.get("differs"),
        most_at_once=most_at_once,
        # What was read when the form was offered; if it is offered again because of another's change, that change.
        version=code.version if code and given.get("differs") is not None else form.typed("version"),
        path_here=path_to(code.code) if code else None,
    )
