"""`counterfoil backup`."""

from __future__ import annotations

from pathlib import Path

import click

from counterfoil import schema
from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.embedded import archive


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Put it in the place of a file that is there.")
@reach.embedded_option
def command(file: Path, force: bool, use_embedded: bool) -> None:
    """
    Keep everything in a file, as it is at one instant, while the service runs.

    The file holds what buyers typed, and digests of secrets: its owner alone may read it. It is pg_dump's own format.

    Example: counterfoil backup counterfoil-2026-12-03.dump
    """
    if file.exists() and not force:
        raise click.UsageError(f"{file} is there already: choose another name, or give --force")
    with reach.opened(use_embedded=use_embedded) as (url, connection):
        if schema.version(connection, reach.schema_name()).number == 0:
            raise NotFine(f"there is nothing to keep: the database has no schema {reach.schema_name()}")
        archive.dump(url, reach.schema_name(), file)
    click.echo(f"kept in {file}: {file.stat().st_size:,} bytes")
