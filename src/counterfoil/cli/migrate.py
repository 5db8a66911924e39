"""`counterfoil migrate`."""

from __future__ import annotations

import click

from counterfoil import schema
from counterfoil.cli import reach


@click.command("migrate")
@click.option("--sql", "print_sql", is_flag=True, help="Print the SQL from nothing to the newest, and change nothing.")
@reach.embedded_option
def command(print_sql: bool, use_embedded: bool) -> None:
    """
    Bring the database's schema up to date, under a lock.

    Example: counterfoil migrate --sql | less
    """
    if print_sql:
        click.echo(schema.as_sql(reach.schema_name()), nl=False)
        return
    with reach.connection(use_embedded=use_embedded) as connection:
        before, after = schema.migrate(connection, reach.schema_name())
    if before == after:
        click.echo(f"the schema is up to date ({after.number})")
    else:
        click.echo(f"the schema went from {before.number} to {after.number}, with the functions of this version")
