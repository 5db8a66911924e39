"""`counterfoil cap`."""

from __future__ import annotations

import click

from counterfoil import calendars, catalogue, verbs
from counterfoil.cli import reach
from counterfoil.cli.code import Cap
from counterfoil.cli.trouble import NotFine
from counterfoil.clocks import Clocks
from counterfoil.errors import CapBelowUsed
from counterfoil.model import Shop
from counterfoil.service.fields import LongText
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
@click.option("--note", type=reach.Field("text", LongText), help="Why.")
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
        host.run(calendars.known_period(code=known, period=period))
        shop = Shop(clocks=Clocks(), livemode=False)
        try:
            host.run(catalogue.set_cap(code=known, period=period, cap=cap, note=note, confirmed=confirm, shop=shop))
        except CapBelowUsed as below:
            raise NotFine(
                f"{below.fields['used']} places are in use: --confirm lowers the cap all the same, and nobody new is "
                "let in until then"
            ) from None
        usage = host.run(verbs.usage(code=code, period=period))
    reach.show(
        UsageOut.of(usage),
        ("code", "period", "cap", "completed", "pending", "held", "remaining", "over", "note"),
        as_json=as_json,
    )
