"""`counterfoil cap`."""

from __future__ import annotations

import click

from counterfoil import calendars, catalogue, moving, verbs
from counterfoil.cli import reach
from counterfoil.cli.code import Cap
from counterfoil.cli.trouble import NotFine
from counterfoil.clocks import Clocks
from counterfoil.errors import CapBelowUsed
from counterfoil.model import Shop
from counterfoil.service.fields import LongText
from counterfoil.service.resources import UsageOut

COLUMNS = ("code", "period", "cap", "completed", "pending", "held", "remaining", "over", "note")


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
        COLUMNS,
        as_json=as_json,
    )


@command.command("move")
@click.argument("code")
@click.argument("period")
@click.argument("places", type=click.IntRange(1, 1_000_000_000))
@click.option("--to", help="Another code; the same unless given.")
@click.option("--to-period", help="Another period; the same unless given.")
@click.option("--note", type=reach.Field("text", LongText), help="Why.")
@reach.json_option
@reach.embedded_option
def move(
    code: str,
    period: str,
    places: int,
    to: str | None,
    to_period: str | None,
    note: str | None,
    as_json: bool,
    use_embedded: bool,
) -> None:
    """
    Move free places to another period, or to another code, in one step.

    Example: counterfoil cap move NORTHFOLD-26 2026-27 20 --to-period 2027-28 --note "not needed this year"
    """
    with reach.host(use_embedded=use_embedded) as host:
        source = host.run(catalogue.code(code))
        target = host.run(catalogue.code(to)) if to else source
        to_period = to_period or period
        host.run(calendars.known_period(code=source, period=period))
        host.run(calendars.known_period(code=target, period=to_period))
        shop = Shop(clocks=Clocks(), livemode=False)
        host.run(
            moving.move_places(
                code=source, period=period, to=target, to_period=to_period, places=places, note=note, shop=shop
            )
        )
        both = [
            host.run(verbs.usage(code=source.code, period=period)),
            host.run(verbs.usage(code=target.code, period=to_period)),
        ]
    reach.show([UsageOut.of(one) for one in both], COLUMNS, as_json=as_json)
