"""`counterfoil restore`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import psycopg
from psycopg import sql

from counterfoil import schema
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.embedded import EmbeddedError, archive


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="Set what the database has aside, under another name, and keep it.")
@reach.embedded_option
def command(file: Path, replace: bool, use_embedded: bool) -> None:
    """
    Bring back what `counterfoil backup` kept, whole or not at all. Stop the service first.

    What happened at Stripe since the backup is fetched afterwards, by the commands that it prints.

    Example: counterfoil restore counterfoil-2026-12-03.dump
    """
    name = reach.schema_name()
    held = archive.schema_in(file)
    if held != name:
        raise NotFine(f"{file} is no backup of the schema {name}" + (f": it holds {held}" if held else ""))
    with reach.opened(use_embedded=use_embedded) as (url, connection):
        aside = _set_aside(connection, name) if _is_there(connection, name) and replace else None
        if aside is None and _is_there(connection, name):
            raise NotFine(
                f"the database has a schema {name} already: restore into an empty database, or give --replace, which "
                "sets it aside under another name"
            )
        try:
            archive.restore(url, file)
        except EmbeddedError:
            if aside:
                _rename(connection, aside, name)
            raise
        standing = schema.version(connection, name)
    click.echo(f"restored from {file}")
    if aside:
        click.echo(f'what was there is kept; once all is well: DROP SCHEMA "{aside}" CASCADE')
    if standing.behind:
        click.echo(standing.behind)
    click.echo(
        "then fetch what happened at Stripe since: "
        "counterfoil replay; counterfoil reconcile --apply; counterfoil doctor"
    )


def _is_there(connection: psycopg.Connection[Any], name: str) -> bool:
    return connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (name,)).fetchall()[0][0] is True


def _set_aside(connection: psycopg.Connection[Any], name: str) -> str:
    aside = f"{name}_until_{datetime.now(UTC):%Y%m%d_%H%M%S}"
    _rename(connection, name, aside)
    return aside


def _rename(connection: psycopg.Connection[Any], old: str, new: str) -> None:
    connection.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(sql.Identifier(old), sql.Identifier(new)))
