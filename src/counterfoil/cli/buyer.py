"""`counterfoil buyer`."""

from __future__ import annotations

import click

from counterfoil import forgetting
from counterfoil.cli import reach
from counterfoil.service.api.buyers import BuyerOut
from counterfoil.service.fields import Buyer


@click.group("buyer")
def command() -> None:
    """
    What is held about a person.

    Example: counterfoil buyer show ann@school.example --json
    """


@command.command("show")
@click.argument("buyer", type=reach.Field("buyer", Buyer))
@reach.json_option
@reach.embedded_option
def show(buyer: str, as_json: bool, use_embedded: bool) -> None:
    """
    All that is held about a buyer. With --json every row, as it is: what a person may ask for.

    Example: counterfoil buyer show ann@school.example --json
    """
    with reach.host(use_embedded=use_embedded) as host:
        found = BuyerOut(buyer=buyer, **host.run(forgetting.held(buyer=buyer)))
    if as_json:
        click.echo(found.model_dump_json(indent=2))
        return
    kinds = {kind: rows for kind, rows in found.model_dump().items() if isinstance(rows, list) and rows}
    if not kinds:
        click.echo(f"nothing is held about {buyer}")
    for kind, rows in kinds.items():
        shown = ", ".join(rows) if kind == "addresses" else len(rows)
        click.echo(f"{kind.replace('_', ' ')}: {shown}")
