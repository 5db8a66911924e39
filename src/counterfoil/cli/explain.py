"""`counterfoil explain`."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from counterfoil.cli import reach
from counterfoil.explanation import explain
from counterfoil.service.explaining import ExplanationOut
from counterfoil.service.fields import Buyer
from counterfoil.service.pages.reader import Reader

#: What is not shown in the table: it stands above it, or is shown where there is any.
_ABOVE = ("buyer_sees", "what_to_do", "detail", "admitted", "near", "claim")


@click.command("explain")
@click.argument("code")
@click.option("--buyer", type=reach.Field("buyer", Buyer), help="Whose own limit and open checkout are looked at too.")
@click.option("--product", help="What is bought; without it, the first product that the code is good for.")
@reach.json_option
@reach.embedded_option
def command(code: str, buyer: str | None, product: str | None, as_json: bool, use_embedded: bool) -> int:
    """
    Why a buyer would be let in or refused now, with every number. Exit 0: let in; 1: refused.

    Example: counterfoil explain NORTHFOLD-26 --buyer ada@northfold.example
    """
    holds, limits = reach.limits()
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(explain(code=code, buyer=buyer, product=product, holds_per_address=holds, limits=limits))
    shown = ExplanationOut.of(found, Reader(now=found.moment))
    document = shown.model_dump(mode="json")
    if as_json:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return int(not shown.admitted)
    console = Console(highlight=False)
    console.print("let in" if shown.admitted else f"refused: {shown.refusal}", style="bold", markup=False)
    console.print(f"  The buyer sees: {shown.buyer_sees}", markup=False)
    console.print(f"  {shown.what_to_do}", markup=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in document.items():
        if name not in _ABOVE and value is not None:
            table.add_row(name, str(value).lower() if isinstance(value, bool) else str(value))
    if shown.claim:
        table.add_row("claim", f"{shown.claim.id} {shown.claim.status}")
    console.print(table, markup=False)
    return int(not shown.admitted)
