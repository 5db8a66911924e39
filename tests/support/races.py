"""Races are arranged: the second step is started, and the first goes on only when the second truly waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg

T = TypeVar("T")


@contextmanager
def beside(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Do *work* in a thread while the block runs."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def wait_until_blocked(watcher: psycopg.Connection[Any], waiting: int, by: int) -> None:
    """Return when the backend *waiting* waits for the backend *by*: asked of PostgreSQL, not of a clock."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        row = watcher.execute("SELECT %s = ANY (pg_blocking_pids(%s))", (by, waiting)).fetchone()
        if row and row[0]:
            return
    raise AssertionError(f"backend {waiting} never waited for {by}")


def until(true: Callable[[], bool], within: float = 30) -> None:
    """Ask again and again, until it is true."""
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "it never became true"


def alive(pid: int) -> bool:
    """Whether a process runs: one that ended and that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
