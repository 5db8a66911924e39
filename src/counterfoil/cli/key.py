"""`counterfoil key`."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.service import auth
from counterfoil.service.auth import Scope
from counterfoil.service.fields import Text


@click.group("key")
def command() -> None:
    """
    API keys.

    Example: counterfoil key create --name shop --scope checkout
    """


@command.command("create")
@click.option("--name", required=True, type=reach.Field("name", Text), help="What it is for.")
@click.option("--scope", required=True, type=click.Choice(["checkout", "read", "manage"]), help="What it may do.")
@reach.json_option
@reach.embedded_option
def create(name: str, scope: Scope, as_json: bool, use_embedded: bool) -> None:
    """
    Make a key. Its secret is shown now and never again.

    Example: counterfoil key create --name shop --scope checkout
    """
    secret = auth.new_secret()
    with reach.host(use_embedded=use_embedded) as host:
        made = host.run(auth.create_key(name=name, scope=scope, secret=secret))
    if as_json:
        click.echo(json.dumps({"id": str(made.id), "name": made.name, "scope": made.scope, "secret": secret}, indent=2))
    else:
        click.echo(secret)
        click.echo(f"key {made.id} ({name}, {scope}): keep it now, it is not shown again", err=True)


@command.command("list")
@reach.json_option
@reach.embedded_option
def listed(as_json: bool, use_embedded: bool) -> None:
    """
    List keys, without their secrets.

    Example: counterfoil key list
    """
    with reach.host(use_embedded=use_embedded) as host:
        found = host.run(auth.keys())
    rows = [
        {
            "id": str(key.id),
            "name": key.name,
            "scope": key.scope,
            "hint": key.hint,
            "created_at": key.created_at.isoformat(),
            "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
        }
        for key in found
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "name", "scope", "hint", "created_at", "revoked_at"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(value or "-" for value in row.values()))
    Console().print(table)


@command.command("revoke")
@click.argument("id", type=int)
@reach.embedded_option
def revoke(id: int, use_embedded: bool) -> None:
    """
    Stop a key at once.

    Example: counterfoil key revoke 3
    """
    with reach.host(use_embedded=use_embedded) as host:
        if not host.run(auth.revoke_key(id)):
            raise NotFine(f"there is no key {id} that still works: see `counterfoil key list`")
    click.echo(f"key {id} works no more")
