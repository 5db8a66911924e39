"""
The embedded server's life: shared by processes, adopted after a crash, and nothing lost.

Processes are real and are killed with SIGKILL; what is asked is asked of the system.
"""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pytest
from tests.conftest import binaries
from tests.support.races import alive, until

from counterfoil.embedded import Binaries, EmbeddedError, start

_HOLD = """
import sys
from pathlib import Path
from counterfoil.embedded import Binaries, start
root, version, libraries = sys.argv[2:]
with start(Path(sys.argv[1]), Binaries(Path(root), version, Path(libraries) if libraries else None)) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


class Holder:
    """Another process that uses the server until it is told to end, or killed."""

    def __init__(self, home: Path) -> None:
        found = binaries()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(home), str(found.root), found.version, str(found.libraries or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def url(self) -> str:
        """Where the server is, once it is."""
        assert self.process.stdout
        assert self.process.stderr
        line = self.process.stdout.readline().strip()
        assert line, self.process.stderr.read()
        return line

    def end(self) -> None:
        """Let it end as it would."""
        self.process.communicate("", timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def home(scratch: Path, tmp_path: Path) -> Iterator[Path]:
    """A home of its own; whatever still runs in it is killed at the end."""
    folder = scratch / tmp_path.name
    yield folder
    for pidfile in folder.glob("*/postmaster.pid"):
        kill(int(pidfile.read_text().split()[0]))


@pytest.fixture
def holder(home: Path) -> Iterator[Callable[[], Holder]]:
    """Start another process on this home."""
    with ExitStack() as stack:

        def begin() -> Holder:
            one = Holder(home)
            stack.callback(lambda: one.process.poll() is not None or one.kill())
            return one

        yield begin


def postmaster(home: Path) -> int:
    """The process of the server."""
    return int(next(home.glob("postgresql-*/postmaster.pid")).read_text().split()[0])


def kill(pid: int) -> None:
    """SIGKILL, and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid))


@contextmanager
def connected(url: str) -> Iterator[psycopg.Connection[tuple[str]]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def write(url: str, text: str) -> None:
    """A row that is committed when this returns."""
    with connected(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (what text)")
        connection.execute("INSERT INTO kept VALUES (%s)", (text,))


def kept(url: str) -> list[str]:
    """All rows."""
    with connected(url) as connection:
        return [row[0] for row in connection.execute("SELECT what FROM kept ORDER BY 1").fetchall()]


class TestItIsOursAlone:
    def test_who_may_enter(self, home: Path) -> None:
        """Data for its account alone, a socket inside it, a password, nothing on the network, UTF-8."""
        with start(home, binaries()) as server:
            data = server.data_dir
            assert stat.S_IMODE(data.stat().st_mode) == 0o700
            assert stat.S_IMODE((data / "counterfoil.password").stat().st_mode) == 0o600
            with connected(server.url) as connection:
                shown = {
                    name: connection.execute(f"SHOW {name}".encode()).fetchone()
                    for name in ("listen_addresses", "server_encoding", "unix_socket_permissions", "fsync")
                }
            assert shown == {
                "listen_addresses": ("",),
                "server_encoding": ("UTF8",),
                "unix_socket_permissions": ("0700",),
                "fsync": ("on",),
            }
            without = server.url.replace(str(urlsplit(server.url).password), "wrong")
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(without)
            rules = (data / "pg_hba.conf").read_text()
            assert "trust" not in [word for line in rules.splitlines() if line[:1] != "#" for word in line.split()]

    def test_it_never_runs_as_root(self, home: Path) -> None:
        with start(home, binaries()):
            status = Path(f"/proc/{postmaster(home)}/status").read_text()
        uid = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1]
        assert uid != "0"
        assert (os.geteuid() == 0) or (uid == str(os.geteuid()))

    def test_no_folder_of_others_is_changed(self, home: Path) -> None:
        """Not the one above it, not the wheel's, not the virtual environment's."""
        found = binaries()
        watched = [*home.parents, found.root, found.root / "bin", *found.root.parents, Path(sys.prefix)]

        def modes() -> list[tuple[int, int, int]]:
            return [(one.st_mode, one.st_uid, one.st_gid) for one in (folder.stat() for folder in watched)]

        before = modes()
        with start(home, found):
            pass
        assert modes() == before

    def test_also_with_a_closed_umask(self, home: Path) -> None:
        before = os.umask(0o077)
        try:
            with start(home, binaries()) as server:
                write(server.url, "a")
        finally:
            os.umask(before)

    def test_a_folder_that_was_there_keeps_its_mode(self, home: Path) -> None:
        home.mkdir(mode=0o755)
        home.chmod(0o751)
        with start(home, binaries()):
            pass
        assert stat.S_IMODE(home.stat().st_mode) == 0o751

    def test_where_a_path_is_too_long_for_a_socket(self, home: Path) -> None:
        """Then loopback, with the password."""
        deep = home / ("a" * 60) / ("b" * 60)
        with start(deep, binaries()) as server:
            parts = urlsplit(server.url)
            assert parts.hostname == "127.0.0.1"
            write(server.url, "a")
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(server.url.replace(str(parts.password), "wrong"))


class TestItIsShared:
    def test_the_last_one_out_stops_it(self, home: Path, holder: Callable[[], Holder]) -> None:
        first, second = holder(), holder()
        assert first.url() == second.url()
        pid = postmaster(home)
        first.end()
        assert alive(pid)
        second.end()
        assert not alive(pid)

    def test_four_at_once_from_nothing(self, home: Path, holder: Callable[[], Holder]) -> None:
        """One makes the data directory and starts the server, the others find it."""
        several = [holder() for _ in range(4)]
        assert len({one.url() for one in several}) == 1
        for one in several:
            one.end()
        assert len(list(home.glob("postgresql-*"))) == 1
        assert not list(home.glob(".half-*"))

    def test_what_was_written_is_there_the_next_time(self, home: Path) -> None:
        for expected in (["a"], ["a", "b"]):
            with start(home, binaries()) as server:
                write(server.url, expected[-1])
                assert kept(server.url) == expected

    def test_the_password_stays_the_same(self, home: Path) -> None:
        with start(home, binaries()) as server:
            first = unquote(str(urlsplit(server.url).password))
        with start(home, binaries()) as server:
            assert unquote(str(urlsplit(server.url).password)) == first


class TestCrashes:
    def test_the_program_is_killed(self, home: Path, holder: Callable[[], Holder]) -> None:
        """Its server runs on; the next program adopts it, and stops it in the end."""
        first = holder()
        write(first.url(), "a")
        pid = postmaster(home)
        first.kill()
        assert alive(pid)
        with start(home, binaries()) as server:
            assert postmaster(home) == pid
            assert kept(server.url) == ["a"]
        assert not alive(pid)

    def test_one_of_two_programs_is_killed(self, home: Path, holder: Callable[[], Holder]) -> None:
        """The other goes on, and is then the last one out."""
        first, second = holder(), holder()
        url = first.url()
        second.url()
        first.kill()
        write(url, "a")
        pid = postmaster(home)
        second.end()
        assert not alive(pid)

    def test_the_server_is_killed(self, home: Path, holder: Callable[[], Holder]) -> None:
        """What was committed is there, and the next program starts it again, also beside one that lost it."""
        first = holder()
        write(first.url(), "a")
        kill(postmaster(home))
        second = holder()
        url = second.url()
        assert kept(url) == ["a"]
        first.end()
        write(url, "b")
        second.end()

    def test_both_are_killed_in_the_middle_of_writing(self, home: Path, holder: Callable[[], Holder]) -> None:
        """A transaction that was not committed is gone, every one that was is there."""
        first = holder()
        url = first.url()
        for number in range(20):
            write(url, f"{number:02}")
        connection = psycopg.connect(url)
        connection.execute("INSERT INTO kept VALUES ('never committed')")
        kill(postmaster(home))
        first.kill()
        connection.close()
        with start(home, binaries()) as server:
            assert kept(server.url) == [f"{number:02}" for number in range(20)]

    def test_a_backend_is_killed(self, home: Path) -> None:
        """The server recovers by itself."""
        with start(home, binaries()) as server:
            write(server.url, "a")
            with psycopg.connect(server.url) as connection:
                os.kill(connection.info.backend_pid, signal.SIGKILL)

                def recovered() -> bool:
                    try:
                        return kept(server.url) == ["a"]
                    except psycopg.OperationalError:
                        return False

                until(recovered)
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("SELECT 1")

    def test_killed_while_the_data_directory_was_made(self, home: Path) -> None:
        """What is half made is under another name, and is cleared away."""
        home.mkdir(mode=0o755)
        (home / ".half-1" / "data").mkdir(parents=True)
        (home / ".half-1" / "data" / "PG_VERSION").write_text("18\n")
        with start(home, binaries()) as server:
            write(server.url, "a")
        assert not list(home.glob(".half-*"))

    def test_a_number_that_was_given_to_another_program(self, home: Path) -> None:
        """After a power cut: `postmaster.pid` names a living process that is no PostgreSQL."""
        with start(home, binaries()) as server:
            write(server.url, "a")
            data = server.data_dir
            left = (data / "postmaster.pid").read_text()
        lines = left.splitlines()
        (data / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
        address = (data / "counterfoil.address").read_text().splitlines()
        (data / "counterfoil.address").write_text("\n".join([*address[:2], "the boot before"]) + "\n")
        with start(home, binaries()) as server:
            assert kept(server.url) == ["a"]


class TestWhatCannotBe:
    def test_no_binaries(self, home: Path, tmp_path: Path) -> None:
        with pytest.raises((EmbeddedError, OSError)), start(home, Binaries(tmp_path, "18.0")):
            pass

    def test_a_home_that_is_a_file(self, scratch: Path, tmp_path: Path) -> None:
        file = scratch / f"{tmp_path.name}.file"
        file.write_text("")
        with pytest.raises(EmbeddedError, match="cannot be used"), start(file, binaries()):
            pass

    def test_a_data_directory_that_is_broken(self, home: Path) -> None:
        """It says what PostgreSQL said, and leaves the data as it is."""
        with start(home, binaries()) as server:
            data = server.data_dir
        (data / "PG_VERSION").write_text("9.6\n")
        with pytest.raises(EmbeddedError, match="did not start"), start(home, binaries()):
            pass
        assert (data / "PG_VERSION").read_text() == "9.6\n"
