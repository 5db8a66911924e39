"""`counterfoil code replace`."""

from __future__ import annotations

import click

from counterfoil import catalogue, replacing
from counterfoil.cli import reach
from counterfoil.service.fields import TypedCode
from counterfoil.service.resources import CodeOut


@click.command("replace")
@click.argument("old")
@click.argument("new", type=reach.Field("code", TypedCode))
@reach.json_option
@reach.embedded_option
def replace(old: str, new: str, as_json: bool, use_embedded: bool) -> None:
    """
    Replace a code that leaked. The old one lets nobody in from now on; the new one has its terms and its count.

    Whoever holds a place may finish, or get the same place by typing the new code.

    Example: counterfoil code replace NORTHFOLD-26 NORTHFOLD-26B
    """
    with reach.host(use_embedded=use_embedded) as host:
        before = host.run(catalogue.code(old))
        made = host.run(replacing.replace_code(old=old, new=new))
    if as_json:
        reach.show(CodeOut.of(made), (), as_json=True)
    else:
        click.echo(f"{before.code} is stopped for good; {made.code} works in its place, and counts on where it stood")
