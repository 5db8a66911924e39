"""`counterfoil account`."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from counterfoil.cli import reach
from counterfoil.cli.trouble import NotFine
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, passwords
from counterfoil.service.accounts import Account, Email
from counterfoil.service.fields import Text
from counterfoil.service.roles import Role


@click.group("account")
def command() -> None:
    """
    Who works on the seller's pages, and what they may do.

    Example: counterfoil account add mina@seller.example --role owner
    """


@command.command("add")
@click.argument("email", type=reach.Field("address", Email))
@click.option(
    "--role", required=True, type=click.Choice([str(role) for role in Role]),
    help="read-only looks; staff changes what is sold; owner does everything.",
)  # fmt: skip
@click.option("--name", type=reach.Field("name", Text), help="Made of the address unless given.")
@click.option("--ask", is_flag=True, help="Ask for a password instead of making a first one.")
@reach.json_option
@reach.embedded_option
def add(email: str, role: str, name: str | None, ask: bool, as_json: bool, use_embedded: bool) -> None:
    """
    Add an account. Its first password is shown now and never again, and is changed when it is used.

    Example: counterfoil account add mina@seller.example --role owner
    """
    password = _password(email, ask=ask)
    with reach.host(use_embedded=use_embedded) as host:
        made = host.run(
            accounts.add(
                email=email,
                name=name or email.partition("@")[0],
                role=Role(role),
                password_hash=passwords.hashed(password),
                first=not ask,
            )
        )
    _told(made, None if ask else password, as_json=as_json)


@command.command("list")
@reach.json_option
@reach.embedded_option
def listed(as_json: bool, use_embedded: bool) -> None:
    """
    List accounts.

    Example: counterfoil account list
    """
    with reach.host(use_embedded=use_embedded) as host:
        rows = [_row(one) for one in host.run(accounts.accounts())]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("email", "name", "role", "last_seen_at", "disabled_at"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(row[column] or "-" for column in ("email", "name", "role", "last_seen_at", "disabled_at")))
    Console().print(table)


@command.command("disable")
@click.argument("email", type=reach.Field("address", Email))
@reach.embedded_option
def disable(email: str, use_embedded: bool) -> None:
    """
    Let nobody in with an account, and sign its browsers out at once.

    Example: counterfoil account disable mina@seller.example
    """
    with reach.host(use_embedded=use_embedded) as host:
        host.run(accounts.disable(id=_found(host, email).id))
    click.echo(f"{email} gets in no more")


@command.command("enable")
@click.argument("email", type=reach.Field("address", Email))
@reach.embedded_option
def enable(email: str, use_embedded: bool) -> None:
    """
    Let a disabled account in again, with the password that it had.

    Example: counterfoil account enable mina@seller.example
    """
    with reach.host(use_embedded=use_embedded) as host:
        host.run(accounts.enable(id=_found(host, email).id))
    click.echo(f"{email} gets in again")


@command.command("password")
@click.argument("email", type=reach.Field("address", Email))
@click.option("--ask", is_flag=True, help="Ask for a password instead of making a first one.")
@reach.json_option
@reach.embedded_option
def password(email: str, ask: bool, as_json: bool, use_embedded: bool) -> None:
    """
    Make another first password, for somebody who forgot theirs. It signs their browsers out.

    Example: counterfoil account password mina@seller.example
    """
    with reach.host(use_embedded=use_embedded) as host:
        known = _found(host, email)
        chosen = _password(email, ask=ask)
        host.run(accounts.set_password(id=known.id, password_hash=passwords.hashed(chosen), first=not ask))
        known = _found(host, email)
    _told(known, None if ask else chosen, as_json=as_json)


def _password(email: str, *, ask: bool) -> str:
    if not ask:
        return passwords.first_password()
    try:
        return passwords.check(
            click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True), email=email
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _found(host: Psycopg, email: str) -> Account:
    found = host.run(accounts.accounts(email=email))
    if not found:
        raise NotFine(f"there is no account of {email}: see `counterfoil account list`")
    return found[0]


def _told(account: Account, password: str | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_row(account) | {"password": password}, indent=2, ensure_ascii=False))
    elif password is None:
        click.echo(f"{account.email} ({account.role}) signs in at /admin")
    else:
        click.echo(password)
        until = account.first_until.strftime("%Y-%m-%d") if account.first_until else ""
        click.echo(
            f"the first password of {account.email} ({account.role}), good until {until}: it is not shown again",
            err=True,
        )


def _row(account: Account) -> dict[str, str | None]:
    return {
        "id": str(account.id),
        "email": account.email,
        "name": account.name,
        "role": str(account.role),
        "created_at": account.created_at.isoformat(),
        "last_seen_at": account.last_seen_at.isoformat() if account.last_seen_at else None,
        "disabled_at": account.disabled_at.isoformat() if account.disabled_at else None,
    }
