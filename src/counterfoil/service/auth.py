"""Who calls: API keys, stored as digests, each with one scope."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from counterfoil import reading
from counterfoil.audit import Actor
from counterfoil.service.problems import Problem
from counterfoil.service.settings import Settings
from counterfoil.statement import Row, Sql, Statement
from counterfoil.tokens import digest, new_token

Scope = Literal["checkout", "read", "manage"]

#: What each scope reaches. Who manages codes may also read what became of them; selling is a scope of its own.
REACH: dict[str, frozenset[str]] = {
    "checkout": frozenset({"checkout"}),
    "read": frozenset({"read"}),
    "manage": frozenset({"read", "manage"}),
    "all": frozenset({"checkout", "read", "manage"}),
}


@dataclass(frozen=True)
class Caller:
    """The key that a request came with. The admin key of the settings has id 0."""

    key_id: int
    scope: str
    name: str

    @property
    def actor(self) -> Actor:
        """Whom the audit log calls by it."""
        return Actor("key", self.name, str(self.key_id))

    def must_reach(self, scope: Scope) -> None:
        """Refuse if the key's scope does not reach."""
        if scope not in REACH[self.scope]:
            raise Problem("forbidden", f"This needs a key of scope {scope}; this key's scope is {self.scope}.")


@dataclass(frozen=True)
class ApiKey:
    """A key as it is listed: what it may do, and enough of it to tell it from others. Never the secret."""

    id: int
    name: str
    scope: str
    hint: str
    created_at: datetime
    revoked_at: datetime | None


def new_secret() -> str:
    """A fresh key: 256 random bits, so a plain digest of it is enough to store."""
    return "cf_" + new_token()


def create_key(*, name: str, scope: Scope, secret: str) -> Statement[ApiKey]:
    """A new key."""
    return Statement(
        Sql(
            "INSERT INTO counterfoil.api_key (name, scope, hint, secret_hash) "
            "VALUES (:name::text, :scope::text, :hint::text, :secret_hash::bytea) "
            "RETURNING id, name, scope, hint, created_at, revoked_at"
        ),
        {"name": name, "scope": scope, "hint": secret[:7] + "…" + secret[-4:], "secret_hash": digest(secret)},
        lambda rows: _key(rows[0]),
    )


def keys() -> Statement[list[ApiKey]]:
    """All keys, newest first, also revoked ones."""
    return Statement(
        Sql("SELECT id, name, scope, hint, created_at, revoked_at FROM counterfoil.api_key ORDER BY id DESC"),
        {},
        lambda rows: [_key(row) for row in rows],
    )


def revoke_key(id: int) -> Statement[bool]:
    """Stop a key at once. False if there is none, or it was revoked before."""
    return Statement(
        Sql(
            "UPDATE counterfoil.api_key SET revoked_at = (SELECT counterfoil.clock()) "
            "WHERE id = :id::bigint AND revoked_at IS NULL RETURNING id"
        ),
        {"id": id},
        bool,
    )


def find_key(secret: str) -> Statement[Caller | None]:
    """The caller that a secret belongs to, unless it was revoked."""

    def read(rows: Sequence[Row]) -> Caller | None:
        return Caller(rows[0]["id"], rows[0]["scope"], rows[0]["name"]) if rows else None

    return Statement(
        Sql(
            "SELECT id, scope, name FROM counterfoil.api_key "
            "WHERE secret_hash = :secret_hash::bytea AND revoked_at IS NULL"
        ),
        {"secret_hash": digest(secret)},
        read,
    )


def bearer(header: str | None) -> str | None:
    """The secret in an Authorization header, or None if there is none."""
    scheme, _, secret = (header or "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def is_admin(secret: str, settings: Settings) -> bool:
    """Whether this is the admin key of the settings."""
    return settings.admin_key is not None and hmac.compare_digest(digest(secret), digest(settings.admin_key))


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        name=row["name"],
        scope=row["scope"],
        hint=row["hint"],
        created_at=reading.moment(row["created_at"]),
        revoked_at=reading.when(row["revoked_at"]),
    )
