"""Which account runs the server, and where its data lives."""

from __future__ import annotations

import os
import pwd
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.embedded.errors import EmbeddedError

#: Tried in this order, as PostgreSQL does not run as root. None of them is made by us.
UNPRIVILEGED = ("counterfoil", "postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """Whom the server runs as; *dropped* if that is another than we are."""

    name: str
    uid: int
    gid: int
    dropped: bool

    def as_options(self) -> dict[str, Any]:
        """For `subprocess`: become this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.dropped else {}

    def own(self, path: Path) -> None:
        """Give it a path that we just made."""
        if self.dropped:
            os.chown(path, self.uid, self.gid)


def account() -> Account:
    """
    Ourselves; or, for root, the first unprivileged account there is.

    Raises:
        EmbeddedError: We are root, and there is none.
    """
    if os.geteuid() != 0:
        me = pwd.getpwuid(os.geteuid())
        return Account(me.pw_name, me.pw_uid, me.pw_gid, dropped=False)
    for name in UNPRIVILEGED:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(found.pw_name, found.pw_uid, found.pw_gid, dropped=True)
    raise EmbeddedError(
        f"PostgreSQL does not run as root, and this machine has none of the accounts {', '.join(UNPRIVILEGED)}: "
        "run as another user, or set COUNTERFOIL_DATABASE_URL"
    )


def default_home() -> Path:
    """The folder of the embedded server: the user's data directory, or for root ``/var/lib/counterfoil``."""
    if os.geteuid() == 0:
        return Path("/var/lib/counterfoil")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "counterfoil"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "counterfoil"
