"""Codes and their allocations."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field, model_validator

from counterfoil import calendars, catalogue, errors, verbs
from counterfoil.catalogue import CodeTerms, Seen
from counterfoil.model import BuyerIdentity, Code, Institution, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, Discount, FixedPrice, PercentOff, check_chargeable
from counterfoil.service.fields import (
    Amount,
    Amounts,
    Body,
    Cap,
    Currency,
    Day,
    LongText,
    Percent,
    Slug,
    SoughtCode,
    Text,
    TypedCode,
    cursor,
    read_cursor,
)
from counterfoil.service.problems import Problem, of
from counterfoil.service.resources import CodeOut, Page, UsageOut
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of

api = router("Codes")

Limit = Annotated[int, Field(ge=1, le=1_000_000)]
CalendarIn = Annotated[Calendar, Field(strict=False)]
RefundPolicyIn = Annotated[RefundPolicy, Field(strict=False)]


class DiscountIn(Body):
    """
    Exactly one of percent (over 0 to 100, two decimals at most), amount_off and price; amounts with a currency.

    *currencies* has the amount in other currencies; *at_most* bounds what a percentage takes off, by currency, and a
    price in a currency that it does not name is refused.
    """

    percent: Percent | None = None
    amount_off: Amount | None = None
    price: Amount | None = None
    currency: Currency | None = None
    currencies: Amounts | None = None
    at_most: Amounts | None = None

    @model_validator(mode="after")
    def _one(self) -> DiscountIn:
        if len(self.model_fields_set & {"percent", "amount_off", "price"}) != 1:
            raise ValueError("give exactly one of percent, amount_off and price")
        if (self.percent is None) == (self.currency is None):
            raise ValueError("an amount needs its currency, a percentage has none")
        if self.percent is not None and self.currencies is not None:
            raise ValueError("a percentage is the same in all currencies; at_most bounds it in some")
        if self.percent is None and self.at_most is not None:
            raise ValueError("at_most bounds a percentage, not an amount")
        check_chargeable(self.noun())
        return self

    def noun(self) -> Discount:
        """The discount as a value; it refuses to exist if it makes no sense."""
        if self.percent is not None:
            return PercentOff(self.percent, self.at_most or {})
        if self.currency is not None and self.amount_off is not None:
            return AmountOff(self.amount_off, self.currency, self.currencies or {})
        if self.currency is not None and self.price is not None:
            return FixedPrice(self.price, self.currency, self.currencies or {})
        raise ValueError("give exactly one of percent, amount_off and price")


class TermsIn(Body):
    """What may be said of a code when it is made, and later."""

    per_buyer_limit: Limit | None = 1
    starts_on: Day | None = None
    ends_on: Day | None = None
    products: Annotated[list[Slug], Field(min_length=1, max_length=1000)] | None = None
    refund_policy: RefundPolicyIn = RefundPolicy.KEEP


class GrantIn(TermsIn):
    """
    What a code of an institution grants, whatever the code is.

    *buyer_identity* is when two buyers are the same, and fixed from then on: by `address` (the default), or by
    `mailbox`, where what follows a + makes no difference, and dots none where the provider ignores them. A code that
    counts with another has the rule of that one.
    """

    institution: Text
    cap: Cap | None
    discount: DiscountIn
    calendar: CalendarIn = Calendar.ACADEMIC_YEAR
    counts_with: SoughtCode | None = None
    buyer_identity: Annotated[BuyerIdentity, Field(strict=False)] | None = None


class CodeIn(GrantIn):
    """
    A code of an institution. *cap* is that of every period without an allocation of its own; null is no cap.

    *buyer_identity* is when two buyers are the same, and fixed from then on: by `address` (the default), or by
    `mailbox`, where what follows a + makes no difference, and dots none where the provider ignores them. A code that
    counts with another has the rule of that one.
    """

    code: TypedCode


class CodeChange(TermsIn):
    """What to change. A field that is not sent stays as it is."""

    cap: Cap | None = None
    discount: DiscountIn | None = None
    paused: bool = False
    calendar: CalendarIn = Calendar.ACADEMIC_YEAR


class AllocationIn(Body):
    """
    The cap of one period. *confirm* lowers it below what is used: holds may finish, nobody new is let in.

    With *was* it is set only while the cap is still that; null is no cap.
    """

    cap: Cap | None
    note: LongText | None = None
    confirm: bool = False
    was: Cap | None = None


async def found(state: State, typed: str) -> Code:
    """The code of a path: 404 if there is none."""
    try:
        return await state.run(catalogue.code(typed))
    except errors.CodeUnknown as unknown:
        problem = of(unknown)
        problem.status = 404
        raise problem from None


@reader("code")
async def shown(state: State, key: str) -> CodeOut:
    """A code as it is now."""
    return CodeOut.of(await found(state, key))


@api.call(
    "POST",
    "/codes",
    "manage",
    problems=("already-exists", "code-unknown", "institution-unknown", "product-unknown"),
    status_code=201,
    response_model=CodeOut,
)
async def add(request: Request, body: CodeIn) -> Response:
    """Add a code."""
    state = state_of(request)
    institution, terms = await granted(state, body)
    made = await state.run(
        catalogue.add_code(
            institution=institution,
            code=body.code,
            terms=terms,
            calendar=body.calendar,
            counts_with=body.counts_with,
            buyer_identity=body.buyer_identity,
        )
    )
    return answer(request, Resource("code", made.code, CodeOut.of(made), 201))


@api.call("GET", "/codes", "read", problems=("institution-unknown",))
async def listed(
    request: Request,
    institution: Annotated[Text | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[CodeOut]:
    """List codes, newest first."""
    state = state_of(request)
    after = read_cursor(cursor_, int)
    of_one = (await state.run(catalogue.institution(institution))).id if institution is not None else None
    codes = await state.run(catalogue.codes(institution=of_one, after=after[0] if after else None, most=limit + 1))
    return Page[CodeOut](
        data=[CodeOut.of(one) for one in codes[:limit]],
        next_cursor=cursor(codes[limit - 1].id) if len(codes) > limit else None,
    )


@api.call("GET", "/codes/{code}", "read", problems=("code-unknown",))
async def one(request: Request, code: str) -> CodeOut:
    """One code, however it is typed."""
    return await shown(state_of(request), code)


@api.call(
    "PATCH",
    "/codes/{code}",
    "manage",
    problems=("code-unknown", "code-replaced", "product-unknown", "counts-elsewhere"),
)
async def change(request: Request, code: str, body: CodeChange) -> CodeOut:
    """
    Change what a code grants, or pause it.

    *cap* is the default for periods to come: the cap of an allocation that exists is changed with
    PUT /v1/codes/{code}/allocations/{period}. By another *calendar* places are counted from now on; what was counted
    stays in the period that it was counted in.
    """
    state = state_of(request)
    sent: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set - {"calendar"}}
    calendar = body.calendar if "calendar" in body.model_fields_set else None
    if "discount" in sent:
        if body.discount is None:
            raise invalid("discount", "a code has a discount")
        sent["discount"] = body.discount.noun()
    if sent.get("products") is not None:
        sent["products"] = tuple(sent["products"])
    while True:
        current = await found(state, code)
        terms = replace(catalogue.terms_of(current), **sent)
        _check_window(terms)
        await state.run(catalogue.check_products(terms.products or ()))
        changed = await state.run(catalogue.change_code(code=current, terms=terms, calendar=calendar))
        if changed is not None:
            return CodeOut.of(changed)


@api.call("GET", "/codes/{code}/usage", "read", problems=("code-unknown", "period-invalid"))
async def usage(request: Request, code: str, period: str | None = None) -> UsageOut:
    """How full a code's allocation is: of the period that is now, or of another."""
    state = state_of(request)
    known = await found(state, code)
    if period is not None:
        await state.run(calendars.known_period(code=known, period=period))
    return UsageOut.of(await state.run(verbs.usage(code=code, period=period)))


@api.call("GET", "/codes/{code}/allocations", "read", problems=("code-unknown",))
async def allocations(
    request: Request,
    code: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor_: Annotated[str | None, Query(alias="cursor")] = None,
) -> Page[UsageOut]:
    """The periods that have an allocation of their own, newest first."""
    state = state_of(request)
    await found(state, code)
    after = read_cursor(cursor_, str)
    periods = await state.run(catalogue.periods_of(code=code, after=after[0] if after else None, most=limit + 1))
    return Page[UsageOut](
        data=[UsageOut.of(await state.run(verbs.usage(code=code, period=period))) for period in periods[:limit]],
        next_cursor=cursor(periods[limit - 1]) if len(periods) > limit else None,
    )


@api.call(
    "PUT",
    "/codes/{code}/allocations/{period}",
    "manage",
    problems=("code-unknown", "period-invalid", "cap-below-used", "cap-moved"),
)
async def set_cap(request: Request, code: str, period: str, body: AllocationIn) -> UsageOut:
    """Set the cap of one period. Raised freely; below what is used only with *confirm*."""
    state = state_of(request)
    known = await found(state, code)
    await state.run(calendars.known_period(code=known, period=period))
    await state.run(
        catalogue.set_cap(
            code=known,
            period=period,
            cap=body.cap,
            note=body.note,
            confirmed=body.confirm,
            shop=state.shop,
            seen=Seen(body.was) if "was" in body.model_fields_set else None,
        )
    )
    return UsageOut.of(await state.run(verbs.usage(code=code, period=period)))


async def granted(state: State, body: GrantIn) -> tuple[Institution, CodeTerms]:
    """Whose code it is to be, and its terms; refused if they make no sense."""
    institution = await state.run(catalogue.institution(body.institution))
    if body.counts_with is not None and "calendar" in body.model_fields_set:
        pool = await state.run(catalogue.code(body.counts_with))
        if pool.calendar is not body.calendar:
            raise invalid("calendar", f"it counts with {pool.code}, whose calendar is {pool.calendar}: leave it out")
    terms = CodeTerms(
        cap=body.cap,
        discount=body.discount.noun(),
        per_buyer_limit=body.per_buyer_limit,
        starts_on=body.starts_on,
        ends_on=body.ends_on,
        products=tuple(body.products) if body.products is not None else None,
        refund_policy=body.refund_policy,
    )
    _check_window(terms)
    await state.run(catalogue.check_products(terms.products or ()))
    await state.run(catalogue.check_identity(counts_with=body.counts_with, buyer_identity=body.buyer_identity))
    return institution, terms


def _check_window(terms: CodeTerms) -> None:
    if terms.starts_on and terms.ends_on and terms.starts_on > terms.ends_on:
        raise invalid("ends_on", "the last day lies before the first")


def invalid(field: str, message: str) -> Problem:
    """What is wrong with one field of a request."""
    return Problem("invalid-request", f"{field}: {message}.", fields={"errors": [{"field": field, "message": message}]})
