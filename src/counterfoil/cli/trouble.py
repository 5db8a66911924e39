"""Errors on the command line: one line on stderr that says what to do."""

from __future__ import annotations

import click
import psycopg

from counterfoil import errors, schema
from counterfoil.embedded import EmbeddedError
from counterfoil.service.settings import SettingsImpossible


class NotFine(Exception):
    """What was asked about is not fine: exit 1."""


def in_one_line(error: Exception) -> str:
    """What a driver says over several lines."""
    return " ".join(str(error).split())


def exit_code(error: Exception) -> int:
    """Say what is wrong, and the exit code for it. What is no error of ours is raised again."""
    match error:
        case SettingsImpossible():
            for line in str(error).splitlines():
                click.echo(f"counterfoil: {line}", err=True)
            return 2
        case errors.Refusal():
            click.echo(f"counterfoil: {error.detail}", err=True)
            return 1
        case NotFine() | EmbeddedError() | schema.SchemaTooNew():
            click.echo(f"counterfoil: {error}", err=True)
            return 1
        case psycopg.errors.UndefinedTable() | psycopg.errors.UndefinedFunction() | psycopg.errors.InvalidSchemaName():
            click.echo("counterfoil: the database has no schema of this version: run `counterfoil migrate`", err=True)
            return 1
        case psycopg.OperationalError():
            click.echo(
                f"counterfoil: the database cannot be reached; check COUNTERFOIL_DATABASE_URL ({in_one_line(error)})",
                err=True,
            )
            return 1
    raise error
