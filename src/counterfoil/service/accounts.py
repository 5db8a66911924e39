"""The people who work on the seller's pages: their accounts. Each function makes one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator

from counterfoil import reading
from counterfoil.buyers import buyer_key
from counterfoil.errors import Refusal
from counterfoil.service.fields import Text
from counterfoil.service.roles import Role
from counterfoil.statement import Row, Sql, Statement

#: How long a password that was made for somebody is good.
FIRST_PASSWORD = timedelta(days=7)
#: What an address is, for whoever wrote another thing.
AN_ADDRESS = "an e-mail address, such as mina@school.example"


def fold(email: str) -> str:
    """
    An address as it is stored and compared: without regard to case.

    Raises:
        ValueError: It is no address.
    """
    name, at, host = email.strip().rpartition("@")
    if not at or not name or "." not in host.strip(".") or any(letter.isspace() for letter in email.strip()):
        raise ValueError(AN_ADDRESS)
    return buyer_key(email)


Email = Annotated[Text, AfterValidator(fold)]


class LastOwner(Refusal):
    """Without an owner nobody could let anybody in."""

    code = "invalid-request"
    title = "The last owner"

    def __init__(self) -> None:
        super().__init__("This is the last owner. Make another account an owner first.")


class AccountMoved(Refusal):
    """Somebody else changed the account since it was read."""

    code = "invalid-request"
    title = "Changed meanwhile"

    def __init__(self) -> None:
        super().__init__("Somebody else changed this account meanwhile. Nothing was saved: look at what it is now.")


@dataclass(frozen=True)
class Account:
    """
    Somebody's account.

    Attributes:
        first_until: Until when the password that was made for them is good; None once they have one of their own.
        last_seen_at: When they were last at work; None for never.
    """

    id: int
    email: str
    name: str
    role: Role
    first_until: datetime | None
    created_at: datetime
    disabled_at: datetime | None
    last_seen_at: datetime | None


def add(*, email: str, name: str, role: Role, password_hash: str, first: bool) -> Statement[Account]:
    """
    A new account. *first*: its password was made for it, and is to be changed.

    Raises (when run):
        AlreadyExists: The address has an account.
    """
    return Statement(
        Sql(
            "INSERT INTO counterfoil.account AS a (email, name, role, password_hash, created_at, first_until) "
            "SELECT :email::text, :name::text, :role::text, :password_hash::text, now.moment, "
            "CASE WHEN :first::boolean THEN now.moment + :good_for::interval END "
            "FROM (SELECT counterfoil.clock() AS moment) AS now "
            "RETURNING id, email, name, role, first_until, created_at, disabled_at, NULL AS last_seen_at"
        ),
        {
            "email": email,
            "name": name,
            "role": str(role),
            "password_hash": password_hash,
            "first": first,
            "good_for": FIRST_PASSWORD,
        },
        lambda rows: _account(rows[0]),
    )


def accounts(*, id: int | None = None, email: str | None = None) -> Statement[list[Account]]:
    """All accounts, the newest first, also those that are disabled; or the one of an id or an address."""
    return Statement(
        Sql(
            "SELECT a.id, a.email, a.name, a.role, a.first_until, a.created_at, a.disabled_at, (SELECT "
            "max(s.last_seen_at) FROM counterfoil.account_session AS s WHERE s.account_id = a.id) AS last_seen_at "
            "FROM counterfoil.account AS a WHERE (:id::bigint IS NULL OR a.id = :id::bigint) "
            "AND (:email::text IS NULL OR a.email = :email::text) ORDER BY a.id DESC"
        ),
        {"id": id, "email": email},
        lambda rows: [_account(row) for row in rows],
    )


@dataclass(frozen=True)
class Credentials:
    """What is needed to let somebody in."""

    id: int
    name: str
    password_hash: str


def credentials(email: str) -> Statement[Credentials | None]:
    """Those of an address that may sign in; None if it has no account, or one that is disabled or not taken up."""
    return Statement(
        Sql(
            "SELECT a.id, a.name, a.password_hash FROM counterfoil.account AS a WHERE a.email = :email::text "
            "AND a.disabled_at IS NULL AND (a.first_until IS NULL OR a.first_until > (SELECT counterfoil.clock()))"
        ),
        {"email": email},
        lambda rows: Credentials(rows[0]["id"], rows[0]["name"], rows[0]["password_hash"]) if rows else None,
    )


def change(*, id: int, name: str, role: Role, was: tuple[str, str] | None = None) -> Statement[bool]:
    """
    Another name, or another role, which holds at once. False: there is no such account.

    *was*: the name and the role that whoever changes it saw.

    Raises (when run):
        LastOwner: Nobody could let anybody in afterwards.
        AccountMoved: It is no longer as it was seen.
    """
    return _changed(id, name=name, role=str(role), was=was)


def disable(*, id: int) -> Statement[bool]:
    """
    Let nobody in with an account, and end its sessions. False: there is no such account.

    Raises (when run):
        LastOwner: Nobody could let anybody in afterwards.
    """
    return _changed(id, disabled=True)


def enable(*, id: int) -> Statement[bool]:
    """Let an account in again, with the password that it had. False: there is no such account."""
    return _changed(id, disabled=False)


def set_password(*, id: int, password_hash: str, first: bool, but_session: int | None = None) -> Statement[bool]:
    """
    Another password; it ends the account's sessions, but the one that it was changed in.

    *first*: somebody else made it, so it is to be changed. False: there is no such account.
    """
    return _changed(
        id, password_hash=password_hash, first_for=FIRST_PASSWORD if first else None, but_session=but_session
    )


def _changed(
    id: int,
    *,
    name: str | None = None,
    role: str | None = None,
    password_hash: str | None = None,
    first_for: timedelta | None = None,
    disabled: bool | None = None,
    but_session: int | None = None,
    was: tuple[str, str] | None = None,
) -> Statement[bool]:
    def read(rows: Sequence[Row]) -> bool:
        if rows[0]["outcome"] == "last_owner":
            raise LastOwner
        if rows[0]["outcome"] == "moved":
            raise AccountMoved
        return bool(rows[0]["outcome"] == "changed")

    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.change_account(id => :id::bigint, name => :name::text, "
            "role => :role::text, password_hash => :password_hash::text, first_for => :first_for::interval, "
            "disabled => :disabled::boolean, but_session => :but_session::bigint, "
            "was => :was::text[])"
        ),
        {
            "id": id,
            "name": name,
            "role": role,
            "password_hash": password_hash,
            "first_for": first_for,
            "disabled": disabled,
            "but_session": but_session,
            "was": list(was) if was else None,
        },
        read,
    )


def _account(row: Row) -> Account:
    return Account(
        id=row["id"],
        email=row["email"],
        name=row["name"],
        role=Role(row["role"]),
        first_until=reading.when(row["first_until"]),
        created_at=reading.moment(row["created_at"]),
        disabled_at=reading.when(row["disabled_at"]),
        last_seen_at=reading.when(row["last_seen_at"]),
    )
