"""Who is signed in on the seller's pages, with which browser: sessions that are rows, so that each can be ended."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from counterfoil import reading
from counterfoil.audit import Actor
from counterfoil.service.roles import Role
from counterfoil.service.settings import Settings
from counterfoil.statement import Row, Sql, Statement
from counterfoil.tokens import digest

#: A session ends when nobody used it for so long,
IDLE = timedelta(hours=8)
#: and after so long in any case.
LONGEST = timedelta(days=7)
#: What ended is forgotten later.
_KEPT = timedelta(days=30)


@dataclass(frozen=True)
class Who:
    """
    Whoever is signed in. On a page: ``request.state.who``.

    Attributes:
        account: The id of their account; None if they signed in with a key.
        first_password: They have not chosen a password of their own yet.
        open_matters: How many matters need attention.
    """

    session: int
    account: int | None
    key: int | None
    name: str
    email: str | None
    role: Role
    first_password: bool
    open_matters: int

    def may(self, role: str) -> bool:
        """Whether they may do what this role may: a page shows the buttons that would work."""
        return self.role.reaches(Role(role))

    @property
    def actor(self) -> Actor:
        """Whom the audit log calls by it."""
        if self.account is not None:
            return Actor("account", self.email or self.name, str(self.account))
        return Actor("key", self.name, str(self.key))


@dataclass(frozen=True)
class AccountSession:
    """A browser that somebody is signed in with."""

    id: int
    browser: str
    created_at: datetime
    last_seen_at: datetime


def begin(
    *, token: str, browser: str, settings: Settings, account: int | None = None, key: int | None = None
) -> Statement[None]:
    """Sign somebody in: with an account, or with a key, of which 0 is the admin key. The audit log says so."""
    return Statement(
        Sql(
            "WITH now AS (SELECT counterfoil.clock() AS moment), "
            "forgotten AS (DELETE FROM counterfoil.account_session WHERE id IN (SELECT s.id "
            "FROM counterfoil.account_session AS s, now WHERE s.ends_at < now.moment - :kept::interval LIMIT 100)), "
            "begun AS (INSERT INTO counterfoil.account_session "
            "(token_hash, account_id, key_id, admin_key_hash, browser, created_at, last_seen_at, ends_at) "
            "SELECT :token_hash::bytea, :account::bigint, :key::bigint, :admin_key_hash::bytea, :browser::text, "
            "now.moment, now.moment, now.moment + :longest::interval FROM now RETURNING browser) "
            "SELECT counterfoil.keep_record('session.begun', begun.browser, NULL, NULL) FROM begun"
        ),
        {
            "token_hash": digest(token),
            "account": account,
            "key": key,
            "admin_key_hash": _admin_key(settings) if key == 0 else None,
            "browser": browser,
            "longest": LONGEST,
            "kept": _KEPT,
        },
        lambda _: None,
    )


def who_is(*, token: str, settings: Settings, touch: bool) -> Statement[Who | None]:
    """Whoever has this token, unless their session is over. *touch*: they are at work just now."""

    def read(rows: Sequence[Row]) -> Who | None:
        if not rows:
            return None
        row = rows[0]
        return Who(
            session=row["session_id"],
            account=row["account_id"],
            key=row["key_id"],
            name=row["name"],
            email=row["email"],
            role=Role(row["role"]),
            first_password=row["first_password"],
            open_matters=row["open_matters"],
        )

    return Statement(
        Sql(
            "SELECT * FROM counterfoil.who_is(token_hash => :token_hash::bytea, "
            "admin_key_hash => :admin_key_hash::bytea, idle => :idle::interval, touch => :touch::boolean)"
        ),
        {"token_hash": digest(token), "admin_key_hash": _admin_key(settings), "idle": IDLE, "touch": touch},
        read,
    )


def sessions(*, account: int) -> Statement[list[AccountSession]]:
    """The browsers that somebody is signed in with, the last used first."""
    return Statement(
        Sql(
            "SELECT s.id, s.browser, s.created_at, s.last_seen_at FROM counterfoil.account_session AS s, "
            "(SELECT counterfoil.clock() AS moment) AS now WHERE s.account_id = :account::bigint "
            "AND s.ends_at > now.moment AND s.last_seen_at > now.moment - :idle::interval "
            "ORDER BY s.last_seen_at DESC, s.id DESC"
        ),
        {"account": account, "idle": IDLE},
        lambda rows: [
            AccountSession(
                id=row["id"],
                browser=row["browser"],
                created_at=reading.moment(row["created_at"]),
                last_seen_at=reading.moment(row["last_seen_at"]),
            )
            for row in rows
        ],
    )


def end(*, id: int | None = None, account: int | None = None) -> Statement[int]:
    """End one session, or all of an account, or the one only if it is that account's. To how many it was news."""
    if id is None and account is None:
        raise ValueError("whose sessions?")
    return Statement(
        Sql(
            "UPDATE counterfoil.account_session SET ends_at = (SELECT counterfoil.clock()) "
            "WHERE ends_at > (SELECT counterfoil.clock()) AND (:id::bigint IS NULL OR id = :id::bigint) "
            "AND (:account::bigint IS NULL OR account_id = :account::bigint) RETURNING id"
        ),
        {"id": id, "account": account},
        len,
    )


def browser_of(user_agent: str) -> str:
    """What a browser says it is, in a few words: enough for its owner to know it again."""
    # The later ones say that they are the earlier ones too.
    name = next((shown for sign, shown in _BROWSERS if sign in user_agent), "A browser")
    system = next((shown for sign, shown in _SYSTEMS if sign in user_agent), "")
    return f"{name} on {system}" if system else name


_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox"), ("CriOS", "Chrome"),
    ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


def _admin_key(settings: Settings) -> bytes:
    # Keyed, for it may be a sentence that somebody thought of.
    text = f"admin key {settings.admin_key or ''}"
    return hmac.new(settings.secret_key.encode(), text.encode(), hashlib.sha256).digest()
