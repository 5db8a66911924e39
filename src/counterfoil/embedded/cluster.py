"""A data directory: how it is made, and how its server is started and stopped."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from counterfoil.embedded.account import Account
from counterfoil.embedded.binaries import Binaries
from counterfoil.embedded.errors import EmbeddedError

#: Socket paths end at 107 bytes (Linux, unix(7)); this much is PostgreSQL's own part of one.
_SOCKET_ROOM = 107 - len("/.s.PGSQL.65535.lock")
#: Seconds that a server may take to come up: it may have a crash to recover from.
PATIENCE = 120.0
#: One more than Linux's highest number of a process (proc(5), pid_max).
_NOBODY = 2**22 + 1
_LOG_LIMIT = 10 * 1024 * 1024

_SETTINGS = """\
timezone = 'UTC'
log_timezone = 'UTC'
max_connections = 100
shared_buffers = 128MB
password_encryption = scram-sha-256
log_min_messages = warning
"""


@dataclass(frozen=True)
class Cluster:
    """One data directory under *home*, made for one major version, run by one account."""

    home: Path
    binaries: Binaries
    account: Account

    @property
    def data(self) -> Path:
        """The data directory: another one for each major version."""
        return self.home / f"postgresql-{self.binaries.major}"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.data / "server.log"

    def make(self) -> None:
        """
        Make the data directory if there is none: under another name, and renamed when it is whole.

        Raises:
            EmbeddedError: ``initdb`` failed.
        """
        for half in self.home.glob(".half-*"):
            shutil.rmtree(half, ignore_errors=True)
        if self.data.exists():
            return
        half = self.home / f".half-{os.getpid()}"
        half.mkdir(mode=0o700)
        self.account.own(half)
        password = secrets.token_urlsafe(24)
        given = half / "password"
        given.touch(mode=0o600)
        given.write_text(password + "\n")
        self.account.own(given)
        locale = (
            ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
            if self.binaries.major >= 17
            else ["--locale=C"]
        )
        made = self._run(
            "initdb",
            *("--pgdata", str(half / "data"), "--username=counterfoil", f"--pwfile={given}"),
            *("--auth=scram-sha-256", "--encoding=UTF8", *locale),
        )
        if made.returncode:
            shutil.rmtree(half, ignore_errors=True)
            raise EmbeddedError(f"initdb could not make {self.data}: {_last_lines(made.stderr or made.stdout)}")
        conf = half / "data" / "postgresql.conf"
        with conf.open("a") as file:
            file.write(_SETTINGS)
        given.rename(half / "data" / "counterfoil.password")
        (half / "data").rename(self.data)
        shutil.rmtree(half, ignore_errors=True)

    def url(self, database: str = "counterfoil") -> str:
        """How to reach the server, for this account and root alone: the password is in it."""
        password = (self.data / "counterfoil.password").read_text().strip()
        host, port = self._address()
        where = f"?host={quote(host, safe='')}&port={port}" if host.startswith("/") else ""
        at = "" if where else f"{host}:{port}"
        return f"postgresql://counterfoil:{quote(password, safe='')}@{at}/{database}{where}"

    def pid(self) -> int | None:
        """The process of the server, if it is alive and is this directory's."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            pid = int(lines[0])
            os.kill(pid, 0)
        except (OSError, ValueError, IndexError):
            return None
        # Numbers are given again: after a crash another program may have this one.
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except FileNotFoundError:
            return pid if not Path("/proc/self").exists() else None
        return pid if b"postgres" in command and os.fsencode(self.data) in command else None

    def launch(self) -> None:
        """
        Start the server, and return once it answers. It runs on in a session of its own: no Ctrl-C reaches it.

        Raises:
            EmbeddedError: It did not start; the end of its log is in the message.
        """
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.unlink()
        self._bury_the_dead()
        host, port = self._choose_address()
        where = f"-c listen_addresses='' -c unix_socket_directories={_quoted(host)}"
        if not host.startswith("/"):
            where = f"-c listen_addresses={host} -c unix_socket_directories=''"
        options = f"{where} -c unix_socket_permissions=0700 -c port={port}"
        deadline = time.monotonic() + PATIENCE
        while True:
            begun = self.log.stat().st_size if self.log.exists() else 0
            started = self._run(
                "pg_ctl", "start", "--pgdata", str(self.data), "--log", str(self.log), "--wait",
                f"--timeout={int(PATIENCE)}", "--options", options,
            )  # fmt: skip
            if started.returncode == 0:
                break
            said = self.log.read_text(errors="replace")[begun:] if self.log.exists() else ""
            # After kill -9 of the server its children need a moment to notice and go.
            if "is still in use" not in said or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"PostgreSQL did not start: {_last_lines(said or started.stderr or started.stdout)}"
                )
            time.sleep(0.1)
        self.wait_until_it_answers()

    def wait_until_it_answers(self) -> None:
        """
        Return when the server takes connections, and has our database.

        Raises:
            EmbeddedError: It does not, within `PATIENCE`.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with psycopg.connect(self.url("postgres"), autocommit=True, connect_timeout=5) as connection:
                    known = connection.execute("SELECT FROM pg_database WHERE datname = 'counterfoil'").fetchone()
                    if known is None:
                        connection.execute("CREATE DATABASE counterfoil")
                return
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or self.pid() is None:
                    raise EmbeddedError(f"PostgreSQL does not answer: {_last_lines(str(error))}") from error
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server: what is committed stays, connections end."""
        if self.pid() is not None:
            stopped = self._run("pg_ctl", "stop", "--pgdata", str(self.data), "--mode=fast", "--wait", "--timeout=60")
            if stopped.returncode and self.pid() is not None:
                raise EmbeddedError(f"PostgreSQL did not stop: {_last_lines(stopped.stderr or stopped.stdout)}")

    def _address(self) -> tuple[str, int]:
        host, port = (self.data / "counterfoil.address").read_text().split("\n")[:2]
        return host, int(port)

    def _bury_the_dead(self) -> None:
        """
        Where ``postmaster.pid`` names a process that cannot be a server, let it name none.

        PostgreSQL looks only whether there is a process of that number: after a power cut it may be another program,
        and in a container whose first process waits for nobody a killed server stays in the table for ever. The file
        itself stays: by its other lines PostgreSQL finds out whether a killed server's children still run.
        """
        file = self.data / "postmaster.pid"
        try:
            pid, _, rest = file.read_text().partition("\n")
        except FileNotFoundError:
            return
        if self._launched_before_this_boot() or _state(pid) == "Z":
            file.write_text(f"{_NOBODY}\n{rest}")
            # The socket has a lock of its own, with the same number in it and nothing else to tell.
            for lock in self.data.glob(".s.PGSQL.*.lock"):
                lock.unlink(missing_ok=True)

    def _launched_before_this_boot(self) -> bool:
        try:
            launched = (self.data / "counterfoil.address").read_text().split("\n")[2]
        except (FileNotFoundError, IndexError):
            return False
        return launched != "" and launched != _boot()

    def _choose_address(self) -> tuple[str, int]:
        """A socket in the data directory, which only its account may enter; where its path is too long, loopback."""
        host, port = str(self.data), 5432
        if len(os.fsencode(host)) > _SOCKET_ROOM:
            with socket.create_server(("127.0.0.1", 0)) as free:
                host, port = "127.0.0.1", free.getsockname()[1]
        address = self.data / "counterfoil.address"
        address.write_text(f"{host}\n{port}\n{_boot()}\n")
        self.account.own(address)
        return host, port

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(self.home), "TZ": "UTC"}
        output = self.home / f".output-{os.getpid()}"
        # To a file and not a pipe: the server inherits it, and a pipe would never end.
        try:
            with output.open("w+") as file:
                done: subprocess.CompletedProcess[Any] = subprocess.run(
                    [self.binaries.program(program), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    cwd=self.home,
                    umask=0o077,
                    check=False,
                    **self.account.as_options(),
                )
                file.seek(0)
                return subprocess.CompletedProcess(done.args, done.returncode, file.read(), "")
        except PermissionError as error:
            raise EmbeddedError(
                f"the account {self.account.name} cannot run PostgreSQL in {self.home}: every folder above it must be "
                f"open to it ({error.strerror})"
            ) from error
        finally:
            output.unlink(missing_ok=True)


def _state(pid: str) -> str:
    """The letter of a process's state (proc(5)); nothing where there is no such process, or no way to tell."""
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError, IndexError):
        return ""


def _boot() -> str:
    """Which boot of the machine this is; nothing where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "'\\''") + "'"


def _last_lines(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-4:]) or "it said nothing"
