"""Keeping a schema in a file, and bringing it back: by PostgreSQL's own ``pg_dump`` and ``pg_restore``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from counterfoil.embedded.binaries import Binaries, find_binaries
from counterfoil.embedded.errors import EmbeddedError

#: What libpq calls a part of an address in the environment, where no list of processes shows it.
_VARIABLES = {
    "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD",
    "dbname": "PGDATABASE", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY", "options": "PGOPTIONS", "connect_timeout": "PGCONNECT_TIMEOUT", "service": "PGSERVICE",
    "channel_binding": "PGCHANNELBINDING", "gssencmode": "PGGSSENCMODE", "passfile": "PGPASSFILE",
}  # fmt: skip


def dump(url: str, schema: str, into: Path) -> None:
    """
    Write a schema, as it is at one instant, into a file that its owner alone may read.

    The file is there whole or not at all.

    Raises:
        EmbeddedError: It could not be done; the message is PostgreSQL's.
    """
    half = into.with_name(f".{into.name}.{os.getpid()}.half")
    try:
        # Made here, so that nobody else may read it from its first byte on.
        os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _run(
            "pg_dump", ("--format=custom", f"--schema={schema}", "--no-owner", "--no-privileges", f"--file={half}"), url
        )
        half.rename(into)
    except OSError as error:
        raise EmbeddedError(f"{into} cannot be written: {error.strerror}") from error
    finally:
        half.unlink(missing_ok=True)


def schema_in(file: Path) -> str | None:
    """
    The schema that a file of `dump` holds; None if it holds none, or several.

    Raises:
        EmbeddedError: It is no such file, or one of a later PostgreSQL.
    """
    listed = _run("pg_restore", ("--list", str(file)), None)
    # 7; 2615 16390 SCHEMA - counterfoil owner
    found = [line.split()[5] for line in listed.splitlines() if line.split()[3:5] == ["SCHEMA", "-"]]
    return found[0] if len(found) == 1 else None


def restore(url: str, file: Path) -> None:
    """
    Bring back what `dump` wrote, in one transaction, into a database that has no such schema.

    Raises:
        EmbeddedError: It could not be done, and nothing was changed.
    """
    _run("pg_restore", ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", str(file)), url)


def _run(program: str, arguments: Sequence[str], url: str | None) -> str:
    binaries = find_binaries()
    environment = dict(os.environ)
    if url is not None:
        environment |= _environment(url)
        # pg_restore prints SQL unless it is told a database; its name alone is nothing to hide.
        arguments = (*arguments, f"--dbname={environment['PGDATABASE']}")
    try:
        done = subprocess.run(
            [binaries.program(program), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    except OSError as error:
        raise EmbeddedError(f"{_named(binaries, program)} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise EmbeddedError(f"{_named(binaries, program)} said: {' '.join(done.stderr.split()) or done.returncode}")
    return done.stdout


def _environment(url: str) -> dict[str, str]:
    parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    unknown = sorted(set(parts) - set(_VARIABLES) - {"application_name"})
    if unknown:
        raise EmbeddedError(
            f"COUNTERFOIL_DATABASE_URL has {', '.join(unknown)}, which cannot be passed on: use pg_dump and pg_restore "
            "by hand"
        )
    found = {_VARIABLES[name]: value for name, value in parts.items() if name in _VARIABLES}
    # Without a name libpq takes the user's.
    found.setdefault("PGDATABASE", found.get("PGUSER", os.environ.get("PGDATABASE", "postgres")))
    return found


def _named(binaries: Binaries, program: str) -> str:
    return f"{program} {binaries.version}"
