"""A server that several processes share: the first starts it, the last one out stops it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from counterfoil.embedded.account import account, default_home
from counterfoil.embedded.binaries import Binaries, copied, find_binaries
from counterfoil.embedded.cluster import Cluster
from counterfoil.embedded.errors import EmbeddedError


@dataclass(frozen=True)
class Server:
    """
    A running server.

    Attributes:
        url: For libpq. It carries the password: treat it as one.
        data_dir: The data directory.
        version: Of the binaries.
    """

    url: str
    data_dir: Path
    version: str


@contextmanager
def start(home: Path | None = None, binaries: Binaries | None = None) -> Iterator[Server]:
    """
    Have the server running while the block runs; adopt it if it runs already.

    Args:
        home: The folder for its data, its locks and, for root, a copy of the binaries. Made if it is missing, open to
            nobody else.
        binaries: Those of `find_binaries` unless given.

    Raises:
        EmbeddedError: It cannot be had; one line says why, and what to do.
    """
    who = account()
    home = (home or default_home()).absolute()
    found = binaries or find_binaries()
    try:
        _make_home(home)
        if who.dropped:
            with _alone(home):
                found = copied(found, home / "binaries")
        cluster = Cluster(home, found, who)
        # In use: held by each process as long as it lives, and dropped by the system when it dies.
        users = os.open(home / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedError(f"{home} cannot be used for PostgreSQL: {error.strerror}; choose another folder") from error
    try:
        with _alone(home):
            fcntl.flock(users, fcntl.LOCK_SH)
            cluster.make()
            if cluster.pid() is None:
                cluster.launch()
            else:
                cluster.wait_until_it_answers()
        try:
            yield Server(cluster.url(), cluster.data, found.version)
        finally:
            with _alone(home):
                if _last_one_out(users):
                    cluster.stop()
    finally:
        os.close(users)


def _make_home(home: Path) -> None:
    """Make the folder and, where they are missing, those above it; those that are there stay as they are."""
    home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        home.mkdir(mode=0o700)
    except FileExistsError:
        if not home.is_dir():
            raise
    else:
        # The account that a root's server drops to must be able to enter; the data directory itself is 0700.
        home.chmod(0o755 if os.geteuid() == 0 else 0o700)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Nobody else starts or stops the server meanwhile."""
    lock = os.open(home / "start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _last_one_out(users: int) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
