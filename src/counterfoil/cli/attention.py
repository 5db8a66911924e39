"""`counterfoil attention`."""

from __future__ import annotations

import json

import click
from rich.console import Console

from counterfoil import attention
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.service.resources import MatterOut


@click.group("attention", invoke_without_command=True)
@click.option("--kind", help="Only of this kind.")
@click.option("--all", "also_resolved", is_flag=True, help="Also what was resolved.")
@reach.json_option
@reach.embedded_option
@click.pass_context
def command(ctx: click.Context, kind: str | None, also_resolved: bool, as_json: bool, use_embedded: bool) -> int:
    """
    What a person must look at, newest first: what happened, and what to do. Exit 1 if anything is open.

    Example: counterfoil attention
    """
    if ctx.invoked_subcommand:
        return 0
    with reach.host(use_embedded=use_embedded) as host:
        host.run(attention.notice())
        found = host.run(attention.matters(kind=kind, resolved=None if also_resolved else False, most=1000))
    if as_json:
        click.echo(
            json.dumps([MatterOut.of(matter).model_dump(mode="json") for matter in found], indent=2, ensure_ascii=False)
        )
    else:
        console = Console(highlight=False)
        for matter in found:
            seen = f", resolved {matter.resolved_at:%Y-%m-%d %H:%M}" if matter.resolved_at else ""
            console.print(f"[bold]{matter.id}[/] {matter.kind}, {matter.raised_at:%Y-%m-%d %H:%M} UTC{seen}")
            for line in (matter.sentence, matter.mend):
                console.print(f"  {line}", markup=False)
        if not found:
            click.echo("nothing")
    return int(any(matter.resolved_at is None for matter in found))


@command.command("resolve")
@click.argument("id", type=click.IntRange(1, 2**63 - 1))
@reach.json_option
@reach.embedded_option
def resolve(id: int, as_json: bool, use_embedded: bool) -> None:
    """
    Say that a person has seen to it. It is open again if something new is noticed about it.

    Example: counterfoil attention resolve 7
    """
    with reach.host(use_embedded=use_embedded) as host:
        matter = host.run(attention.resolve(id=id))
    if matter is None:
        raise NotFine(f"there is no matter {id}: see `counterfoil attention --all`")
    reach.show(MatterOut.of(matter), ("id", "kind", "subject", "resolved_at"), as_json=as_json)
