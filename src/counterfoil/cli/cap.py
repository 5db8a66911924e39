"""`counterfoil cap`."""

from __future__ import annotations

import click

from counterfoil import catalogue, verbs
from counterfoil.cli import reach
from counterfoil.cli.code import Cap
from counterfoil.clocks import Clocks
from counterfoil.errors import PeriodInvalid
from counterfoil.model import Shop
from counterfoil.periods import check_key
from counterfoil.service.resources import UsageOut


@click.group("cap")
def command() -> None:
    """
    Caps of single periods.

    Example: counterfoil cap set NORTHFOLD-26 2027-28 250 --note "agreed with Ms Okafor"
    """


@command.command("set")
@click.argument("code")
@click.argument("period")
@click.argument("cap", type=Cap())
@click.option("--note", help="Why.")
@click.option("--confirm", is_flag=True, help="Lower it below what is used: holds may finish, nobody new is let in.")
@reach.json_option
@reach.embedded_option
def set_cap(
    code: str, period: str, cap: int | None, note: str | None, confirm: bool, as_json: bool, use_embedded: bool
) -> None:
    """
    Set the cap of a code for one period; none for no cap. Raised freely.

    Example: counterfoil cap set NORTHFOLD-26 2027-28 250 --note "agreed with Ms Okafor"
    """
    with reach.host(use_embedded=use_embedded) as host:
        known = host.run(catalogue.code(code))
        try:
            check_key(known.calendar, period)
        except ValueError as error:
            raise PeriodInvalid(str(error)) from None
        shop = Shop(clocks=Clocks(), livemode=False)
        host.run(catalogue.set_cap(code=known, period=period, cap=cap, note=note, confirmed=confirm, shop=shop))
        usage = host.run(verbs.usage(code=code, period=period))
    reach.show(
        UsageOut.of(usage),
        ("code", "period", "cap", "completed", "pending", "held", "remaining", "over", "note"),
        as_json=as_json,
    )
