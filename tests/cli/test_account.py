"""`counterfoil account`, and whom the audit log calls what a command changes by."""

import getpass
import os
from collections.abc import Callable

import pytest
from tests.cli.test_commands import one_line
from tests.support.commands import Said

from counterfoil import audit
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import accounts, passwords

Run = Callable[..., Said]


def test_added_with_a_first_password(run: Run, host: Psycopg) -> None:
    """On stdout alone, so that it can be piped; what it is, on stderr."""
    said = run("account", "add", "Mina@Seller.test", "--role", "owner")
    assert said.code == 0
    password = said.out.strip()
    assert len(password) == 23
    assert "first password of mina@seller.test (owner)" in said.err
    known = host.run(accounts.credentials("mina@seller.test"))
    assert known
    assert known.name == "mina"
    assert passwords.verified(known.password_hash, password)
    one_line(run("account", "add", "MINA@seller.test", "--role", "staff"), 1, "an account with this address")


def test_listed_disabled_enabled(run: Run) -> None:
    made = run("account", "add", "mina@seller.test", "--role", "owner", "--name", "Mina", "--json").data
    run("account", "add", "noah@seller.test", "--role", "read-only")
    assert made["password"]
    found = run("account", "list", "--json").data
    assert [(one["email"], one["role"], one["disabled_at"]) for one in found] == [
        ("noah@seller.test", "read-only", None), ("mina@seller.test", "owner", None),
    ]  # fmt: skip
    assert "password" not in found[0]
    assert "Mina" in run("account", "list").out
    one_line(run("account", "disable", "mina@seller.test"), 1, "the last owner")
    assert run("account", "disable", "NOAH@seller.test").code == 0
    assert run("account", "list", "--json").data[0]["disabled_at"]
    assert run("account", "enable", "noah@seller.test").code == 0
    assert run("account", "list", "--json").data[0]["disabled_at"] is None


def test_another_password(run: Run, host: Psycopg) -> None:
    first = run("account", "add", "mina@seller.test", "--role", "owner").out.strip()
    second = run("account", "password", "mina@seller.test").out.strip()
    known = host.run(accounts.credentials("mina@seller.test"))
    assert known
    assert (passwords.verified(known.password_hash, first), passwords.verified(known.password_hash, second)) == (
        False, True,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["disable", "enable", "password"])
def test_of_nobody(run: Run, name: str) -> None:
    one_line(run("account", name, "nobody@seller.test"), 1, "no account of nobody@seller.test")


@pytest.mark.parametrize(
    "arguments",
    [(), ("mina@seller.test",), ("mina", "--role", "owner"), ("mina@seller.test", "--role", "boss"),
     ("mina@seller.test", "--role", "owner", "--name", "")],
)  # fmt: skip
def test_wrong(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("account", "add", *arguments).code == 2
    assert run("account", "list", "--json").data == []


def test_what_a_command_changes_is_told_by_who_ran_it(run: Run, host: Psycopg) -> None:
    run("institution", "add", "Northfold", "--zone", "Europe/London")
    entry = host.run(audit.entries(most=1))[0]
    assert (entry.action, entry.subject, entry.actor.kind) == ("institution.added", "northfold", "command")
    assert entry.actor.name in (getpass.getuser(), str(os.getuid()))
