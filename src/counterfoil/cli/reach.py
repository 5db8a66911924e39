"""What commands share: how they reach the database, and how they print."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import click
import psycopg
from pydantic import BaseModel, TypeAdapter, ValidationError, model_validator
from pydantic import Field as Setting
from pydantic_settings import BaseSettings, SettingsConfigDict
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from counterfoil import embedded
from counterfoil.audit import Actor
from counterfoil.guessing import WRONG_CODES_PER_ADDRESS, Limits
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import HOLDS_PER_ADDRESS
from counterfoil.service.settings import DatabaseUrl, Duration, SettingsImpossible, check_mail, explained

F = TypeVar("F", bound=Callable[..., Any])


class _Where(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", extra="ignore", env_ignore_empty=True)

    database_url: DatabaseUrl | None = Setting(default=None, validation_alias="COUNTERFOIL_DATABASE_URL")
    database_schema: str = Setting(
        default="counterfoil", validation_alias="COUNTERFOIL_DATABASE_SCHEMA", pattern=r"^[a-z_][a-z0-9_]{0,62}$"
    )
    public_url: str = Setting(default="http://127.0.0.1:8000", validation_alias="COUNTERFOIL_PUBLIC_URL")
    smtp_url: str | None = Setting(default=None, validation_alias="COUNTERFOIL_SMTP_URL")
    mail_from: str | None = Setting(default=None, validation_alias="COUNTERFOIL_MAIL_FROM")

    holds_per_address: int = Setting(default=HOLDS_PER_ADDRESS, validation_alias="COUNTERFOIL_HOLDS_PER_ADDRESS")
    wrong_codes: int = Setting(default=WRONG_CODES_PER_ADDRESS, validation_alias="COUNTERFOIL_WRONG_CODES_PER_ADDRESS")
    guessing_pause: Duration = Setting(default=timedelta(0), validation_alias="COUNTERFOIL_GUESSING_PAUSE")

    @model_validator(mode="after")
    def _must_be_possible(self) -> _Where:
        check_mail(self.smtp_url, self.mail_from)
        return self


def _where() -> _Where:
    with explained():
        return _Where()


class Field(click.ParamType[str]):
    """An argument that is checked as the API's field of this kind is."""

    def __init__(self, name: str, kind: Any) -> None:
        self.name = name
        self._adapter: TypeAdapter[str] = TypeAdapter(kind)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            self.fail(error.errors()[0]["msg"].removeprefix("Value error, "), param, ctx)


def embedded_option(command: F) -> F:
    """`--embedded`: this machine's own PostgreSQL instead of COUNTERFOIL_DATABASE_URL."""
    return click.option(
        "--embedded", "use_embedded", is_flag=True, help="Use the PostgreSQL embedded on this machine."
    )(command)


def json_option(command: F) -> F:
    """`--json`: print data instead of a table."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@contextmanager
def database_url(*, use_embedded: bool = False, otherwise_embedded: bool = False) -> Iterator[str]:
    """The URL of the database: of the setting, or of an embedded server that runs while the block does."""
    url = None if use_embedded else _where().database_url
    if url is not None:
        yield url
    elif use_embedded or otherwise_embedded:
        with embedded.start() as server:
            yield server.url
    else:
        raise SettingsImpossible(
            "COUNTERFOIL_DATABASE_URL is not set: for example postgresql://user@127.0.0.1/shop; or give --embedded"
        )


@contextmanager
def opened(*, use_embedded: bool = False) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """The URL of the database, and a connection in autocommit."""
    with database_url(use_embedded=use_embedded) as url, psycopg.connect(url, autocommit=True) as connection:
        yield url, connection


@contextmanager
def connection(*, use_embedded: bool = False) -> Iterator[psycopg.Connection[Any]]:
    """A connection in autocommit."""
    with opened(use_embedded=use_embedded) as (_, connection):
        yield connection


@contextmanager
def host(*, use_embedded: bool = False) -> Iterator[Psycopg]:
    """A host to run verbs on."""
    with opened(use_embedded=use_embedded) as (_, connection):
        yield Psycopg(connection, _where().database_schema, acting)


def acting() -> Actor:
    """Whom the audit log calls what a command changes by: whoever is signed in to this machine."""
    try:
        return Actor("command", getpass.getuser())
    except (OSError, KeyError):
        return Actor("command", str(os.getuid()) if hasattr(os, "getuid") else "somebody")


def schema_name() -> str:
    """The schema that commands work on."""
    return _where().database_schema


def public_url() -> str:
    """Where the service is seen, for links."""
    return _where().public_url


def limits() -> tuple[int, Limits]:
    """How many holds one address may leave unpaid, and how much guessing is put up with."""
    where = _where()
    return where.holds_per_address, Limits(per_address=where.wrong_codes, pause=where.guessing_pause)


def mail() -> tuple[str | None, str | None]:
    """How mails are sent, and from whom."""
    where = _where()
    return where.smtp_url, where.mail_from


def show(found: Sequence[BaseModel] | BaseModel, columns: Sequence[str], *, as_json: bool) -> None:
    """Print resources: as a table of these columns, or whole as JSON."""
    if as_json:
        data = (
            found.model_dump(mode="json")
            if isinstance(found, BaseModel)
            else [one.model_dump(mode="json") for one in found]
        )
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    for one in [found] if isinstance(found, BaseModel) else found:
        row = one.model_dump(mode="json")
        table.add_row(*("-" if row[column] is None else escape(_cell(row[column])) for column in columns))
    Console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
