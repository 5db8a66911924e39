"""`counterfoil code`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation

import click

from counterfoil import catalogue
from counterfoil.catalogue import CodeTerms
from counterfoil.cli import code_bulk, code_files, code_replace, reach
from counterfoil.codes import check_code
from counterfoil.model import BuyerIdentity, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, Discount, FixedPrice, PercentOff, check_chargeable
from counterfoil.service.resources import CodeOut

COLUMNS = ("code", "institution", "cap", "discount", "calendar", "period", "paused")

_DAY = click.DateTime(["%Y-%m-%d"])


@click.group("code")
def command() -> None:
    """
    Codes: what they take off, and how many may use them.

    Example: counterfoil code add NORTHFOLD-26 --institution northfold-college --cap 200 --percent 50
    """


class Cap(click.ParamType[int | None]):
    """A whole number from 0, or the word none for no cap."""

    name = "number or none"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Read it."""
        text = str(value).strip().lower()
        if text == "none":
            return None
        if not (text.isascii() and text.isdigit() and int(text) <= 1_000_000_000):
            self.fail(f"{value!r} is no cap: write a whole number from 0 to 1,000,000,000, or none", param, ctx)
        return int(text)


@command.command("add")
@click.argument("code")
@click.option("--institution", required=True, help="Whose code it is: slug or id.")
@click.option("--cap", required=True, type=Cap(), help="Purchases per period; none for no cap. 0 admits nobody.")
@click.option("--percent", help="Take off so many percent.")
@click.option("--amount-off", type=int, help="Take off so many minor units; needs --currency.")
@click.option("--price", type=int, help="A price of so many minor units; needs --currency.")
@click.option("--currency", help="Such as gbp.")
@click.option(
    "--also", multiple=True, metavar="CUR=N", help="The amount in another currency, like eur=600; again for more."
)
@click.option("--at-most", multiple=True, metavar="CUR=N", help="The most that --percent takes off, like gbp=2000.")
@click.option(
    "--calendar",
    type=click.Choice([str(one) for one in Calendar]),
    default="academic_year",
    show_default=True,
    help="What its periods are; of a code that counts with another, they are that one's.",
)
@click.option(
    "--per-buyer", type=Cap(), default="1", show_default=True, help="Purchases per buyer and period, or none."
)
@click.option("--starts-on", type=_DAY, help="Its first local day.")
@click.option("--ends-on", type=_DAY, help="Its last local day, included whole.")
@click.option("--product", "products", multiple=True, help="Good for this product only; may be given again.")
@click.option("--refunds", type=click.Choice([str(one) for one in RefundPolicy]), default="keep", show_default=True)
@click.option("--counts-with", help="Another code: both count against that one's allocations.")
@click.option(
    "--buyer-identity",
    type=click.Choice([str(one) for one in BuyerIdentity]),
    help="When two buyers are the same; address, or that of --counts-with, if left out. It cannot be changed later.",
)
@reach.json_option
@reach.embedded_option
def add(
    code: str,
    institution: str,
    cap: int | None,
    percent: str | None,
    amount_off: int | None,
    price: int | None,
    currency: str | None,
    also: tuple[str, ...],
    at_most: tuple[str, ...],
    calendar: str,
    per_buyer: int | None,
    starts_on: datetime | None,
    ends_on: datetime | None,
    products: tuple[str, ...],
    refunds: str,
    counts_with: str | None,
    buyer_identity: str | None,
    as_json: bool,
    use_embedded: bool,
) -> None:
    """
    Add a code of an institution.

    Example: counterfoil code add NORTHFOLD-26 --institution northfold-college --cap 200 --percent 50
    """
    try:
        check_code(code)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    terms = terms_of(
        percent, amount_off, price, currency, also, at_most, cap, per_buyer, starts_on, ends_on, products, refunds
    )
    with reach.host(use_embedded=use_embedded) as host:
        whose = host.run(catalogue.institution(institution))
        host.run(catalogue.check_products(products))
        rule = BuyerIdentity(buyer_identity) if buyer_identity else None
        host.run(catalogue.check_identity(counts_with=counts_with, buyer_identity=rule))
        made = host.run(
            catalogue.add_code(
                institution=whose,
                code=code,
                terms=terms,
                calendar=Calendar(calendar),
                counts_with=counts_with,
                buyer_identity=rule,
            )
        )
    reach.show(CodeOut.of(made), COLUMNS, as_json=as_json)


@command.command("list")
@click.option("--institution", help="Of this institution only: slug or id.")
@reach.json_option
@reach.embedded_option
def listed(institution: str | None, as_json: bool, use_embedded: bool) -> None:
    """
    List codes.

    Example: counterfoil code list --institution northfold-college
    """
    with reach.host(use_embedded=use_embedded) as host:
        whose = host.run(catalogue.institution(institution)).id if institution else None
        found = host.run(catalogue.codes(institution=whose, most=100_000))
    reach.show([CodeOut.of(one) for one in found], COLUMNS, as_json=as_json)


@command.command("show")
@click.argument("code")
@reach.json_option
@reach.embedded_option
def shown(code: str, as_json: bool, use_embedded: bool) -> None:
    """
    Show one code, however it is typed.

    Example: counterfoil code show northfold-26
    """
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(catalogue.code(code))
    reach.show(CodeOut.of(found), COLUMNS, as_json=as_json)


@command.command("pause")
@click.argument("code")
@reach.embedded_option
def pause(code: str, use_embedded: bool) -> None:
    """
    Let nobody new in with a code. Holds may finish.

    Example: counterfoil code pause NORTHFOLD-26
    """
    _set_paused(code, paused=True, use_embedded=use_embedded)
    click.echo(f"{code} is paused: nobody new is let in")


@command.command("resume")
@click.argument("code")
@reach.embedded_option
def resume(code: str, use_embedded: bool) -> None:
    """
    Let a paused code work again.

    Example: counterfoil code resume NORTHFOLD-26
    """
    _set_paused(code, paused=False, use_embedded=use_embedded)
    click.echo(f"{code} works again")


def _set_paused(typed: str, *, paused: bool, use_embedded: bool) -> None:
    with reach.host(use_embedded=use_embedded) as host:
        changed = None
        while changed is None:
            code = host.run(catalogue.code(typed))
            changed = host.run(catalogue.change_code(code=code, terms=replace(catalogue.terms_of(code), paused=paused)))


def terms_of(
    percent: str | None,
    amount_off: int | None,
    price: int | None,
    currency: str | None,
    also: tuple[str, ...],
    at_most: tuple[str, ...],
    cap: int | None,
    per_buyer: int | None,
    starts_on: datetime | None,
    ends_on: datetime | None,
    products: tuple[str, ...],
    refunds: str,
) -> CodeTerms:
    """The terms that the options of `code add` say."""
    try:
        discount = _discount(percent, amount_off, price, currency, also, at_most)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if starts_on and ends_on and starts_on > ends_on:
        raise click.UsageError("the last day lies before the first")
    if per_buyer == 0:
        raise click.UsageError("--per-buyer is 1 or more, or none")
    return CodeTerms(
        cap=cap,
        discount=discount,
        per_buyer_limit=per_buyer,
        starts_on=starts_on.date() if starts_on else None,
        ends_on=ends_on.date() if ends_on else None,
        products=products or None,
        refund_policy=RefundPolicy(refunds),
    )


def _discount(
    percent: str | None,
    amount_off: int | None,
    price: int | None,
    currency: str | None,
    also: tuple[str, ...],
    at_most: tuple[str, ...],
) -> Discount:
    given = [one for one in (percent, amount_off, price) if one is not None]
    if len(given) != 1:
        raise ValueError("give exactly one of --percent, --amount-off and --price")
    if percent is not None:
        if currency is not None or also:
            raise ValueError("a percentage has no --currency and no --also; --at-most bounds it")
        try:
            return check_chargeable(PercentOff(Decimal(percent), _by_currency("--at-most", at_most)))
        except InvalidOperation:
            raise ValueError(f"{percent!r} is no percentage: write it like 50 or 12.5") from None
    if currency is None:
        raise ValueError("an amount needs its --currency")
    if at_most:
        raise ValueError("--at-most bounds a --percent, not an amount")
    others = _by_currency("--also", also)
    if amount_off is not None:
        return check_chargeable(AmountOff(amount_off, currency, others))
    return check_chargeable(FixedPrice(price or 0, currency, others))


def _by_currency(option: str, given: tuple[str, ...]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for text in given:
        currency, sign, amount = text.partition("=")
        if not sign or not amount.isascii() or not amount.isdigit():
            raise ValueError(f"{option} {text}: write a currency and its minor units, like eur=600")
        if currency in amounts:
            raise ValueError(f"{option}: {currency} is given twice")
        amounts[currency] = int(amount)
    return amounts


command.add_command(code_replace.replace)
command.add_command(code_bulk.bulk([one for one in add.params if one.name != "code"], terms_of))
command.add_command(code_files.export)
command.add_command(code_files.import_)
