"""
Real parts for every test: a PostgreSQL, a simulator, a service that listens.

They are started once; between tests the rows are deleted and the simulator forgets. COUNTERFOIL_TEST_POSTGRES names
the folder of another PostgreSQL's binaries, such as /usr/lib/postgresql/15.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from counterfoil import embedded, movable_clock, schema
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop
from counterfoil.simulator import Running, run_in_thread
from tests.support.serving import Service, serving

LIVEMODE = False


def binaries() -> embedded.Binaries:
    """The PostgreSQL that the suite runs on."""
    other = os.environ.get("COUNTERFOIL_TEST_POSTGRES")
    if not other:
        return embedded.find_binaries()
    said = subprocess.run([f"{other}/bin/postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)?", said)
    assert found
    return embedded.Binaries(Path(other), found[0])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Where COUNTERFOIL_NO_SKIPS is set, a test that was skipped has failed: nobody looked."""
    result: Any = yield
    report = result.get_result()
    if report.skipped and os.environ.get("COUNTERFOIL_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and COUNTERFOIL_NO_SKIPS forbids it: {report.longrepr}"


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder that also the account of a root's server may enter."""
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-", dir="/var/tmp" if Path("/var/tmp").is_dir() else None))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(scratch: Path) -> Iterator[embedded.Server]:
    """A PostgreSQL of the suite's own."""
    with embedded.start(scratch / "home", binaries()) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            # No test of these pulls the plug: those that do, in tests/embedded, have servers of their own.
            connection.execute("ALTER DATABASE counterfoil SET synchronous_commit = off")
            schema.migrate(connection)
            movable_clock.install(connection)
        yield running


@pytest.fixture(scope="session")
def _emptying(server: embedded.Server) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database(server: embedded.Server, _emptying: psycopg.Connection[Any]) -> str:
    """An empty database: its URL. Deleting takes a few milliseconds; another database would take hundreds."""
    _emptying.execute(
        # The audit log only grows, and would tell of each of these.
        "SET session_replication_role = replica; "
        "DELETE FROM counterfoil.mail; DELETE FROM counterfoil.portal_notice; DELETE FROM counterfoil.places_request; "
        "DELETE FROM counterfoil.portal_session; DELETE FROM counterfoil.portal_link; "
        "DELETE FROM counterfoil.portal_address; DELETE FROM counterfoil.portal_member; "
        "DELETE FROM counterfoil.delivery; DELETE FROM counterfoil.event; DELETE FROM counterfoil.webhook_endpoint; "
        "DELETE FROM counterfoil.step; "
        "DELETE FROM counterfoil.entitlement; DELETE FROM counterfoil.checkout; DELETE FROM counterfoil.redemption; "
        "DELETE FROM counterfoil.allocation; DELETE FROM counterfoil.named_period; DELETE FROM counterfoil.code; "
        "DELETE FROM counterfoil.code_batch; DELETE FROM counterfoil.product; "
        "DELETE FROM counterfoil.institution; DELETE FROM counterfoil.stripe_event; DELETE FROM counterfoil.attention; "
        "DELETE FROM counterfoil.idempotency; DELETE FROM counterfoil.api_key; DELETE FROM counterfoil.seller; "
        "DELETE FROM counterfoil.task; DELETE FROM counterfoil.account_session; DELETE FROM counterfoil.account; "
        "DELETE FROM counterfoil.guess; DELETE FROM counterfoil.burst; "
        "DELETE FROM counterfoil.throttle; DELETE FROM counterfoil.audit; "
        "RESET session_replication_role"
    )
    return server.url


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection in autocommit, to look and to arrange."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def host(connection: psycopg.Connection[Any]) -> Psycopg:
    """A host over that connection."""
    return Psycopg(connection)


@pytest.fixture(scope="session")
def shop() -> Shop:
    """A seller with the default clocks."""
    return Shop(clocks=Clocks(), livemode=LIVEMODE)


@pytest.fixture(scope="session")
def _simulator() -> Iterator[Running]:
    with run_in_thread() as running:
        yield running


@pytest.fixture
def simulator(_simulator: Running, _emptying: psycopg.Connection[Any]) -> Running:
    """A simulator that has forgotten everything, and whose clock is the database's."""
    _simulator.forget()
    # Each test begins in October, whatever day it is and however far the tests before moved on: so that a test of weeks
    # never meets the end of a school year unasked.
    ahead = _to_october(datetime.now(UTC))
    _simulator.call(lambda: setattr(_simulator.account.engine.clock, "ahead", ahead))
    movable_clock.set_ahead(_emptying, ahead)
    return _simulator


@pytest.fixture(scope="session")
def _service(server: embedded.Server, _simulator: Running) -> Iterator[Service]:
    with serving(server.url, _simulator) as service:
        yield service


def _to_october(now: datetime) -> timedelta:
    """How far the next first of October is, in whole days."""
    year = now.year if (now.month, now.day) < (10, 1) else now.year + 1
    return timedelta(days=(date(year, 10, 1) - now.date()).days)


@dataclass(frozen=True)
class Clock:
    """The simulator's clock and the database's, moved together."""

    simulator: Running
    connection: psycopg.Connection[Any]

    def advance(self, **by: float) -> None:
        """Move both forward: what falls due at Stripe happens, and its events are delivered, before this returns."""
        ahead = self.simulator.account.engine.clock.ahead + timedelta(**by)
        movable_clock.set_ahead(self.connection, ahead)
        self.simulator.advance(timedelta(**by))


@pytest.fixture
def clock(simulator: Running, database: str, _emptying: psycopg.Connection[Any]) -> Clock:
    """The clocks, standing together."""
    return Clock(simulator, _emptying)


@pytest.fixture
def service(_service: Service, database: str, simulator: Running) -> Service:
    """A service that listens, on an empty database; the simulator's events go to it."""
    simulator.add_endpoint(f"{_service.url}/webhooks/stripe")
    return _service
