"""The command line, as a user has it: arguments and environment in; exit code, output and errors out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

SETTINGS = {
    "COUNTERFOIL_SECRET_KEY": "a-secret-key-of-the-tests-0123456789",
    "STRIPE_SECRET_KEY": "sk_test_tests",
    "STRIPE_WEBHOOK_SECRET": "whsec_tests",
}


def environment(**settings: str) -> dict[str, str]:
    """The environment of a process: that of this one without any setting of ours, and those that are given."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("COUNTERFOIL_", "STRIPE_"))}
    return plain | settings


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def command(*arguments: str, cwd: Path | None = None, **settings: str) -> Said:
    """Run one command to its end, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "counterfoil", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(**settings),
        timeout=100,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@contextmanager
def started(*arguments: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until it is told to end; killed when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "counterfoil", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1", COLUMNS="80", **settings),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(process: subprocess.Popen[str], part: str) -> str:
    """The first line of its output that has *part*."""
    assert process.stdout
    for line in process.stdout:
        if part in line:
            return line
    process.wait(10)
    assert process.stderr
    raise AssertionError(f"it ended with {process.returncode} and never said {part!r}: {process.stderr.read()}")


@contextmanager
def empty_database(url: str) -> Iterator[str]:
    """A database of its own on that server: its URL."""
    name = f"scratch_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
