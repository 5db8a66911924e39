"""The database goes away in the middle, and comes back: refusals that say so, and nothing lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.conftest import binaries
from tests.service.test_the_door import refused
from tests.support.races import until
from tests.support.serving import Service, serving

from counterfoil import embedded, schema
from counterfoil.simulator import Running, run_in_thread


class Fragile:
    """A service on a PostgreSQL of its own, which can be killed and started again."""

    def __init__(self, home: Path, service: Service) -> None:
        self.home, self.service = home, service

    def kill(self) -> None:
        """SIGKILL to the server."""
        pid = int(next(self.home.glob("postgresql-*/postmaster.pid")).read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        until(lambda: self.service.client.get("/readyz").status_code == 503)


@pytest.fixture
def alone() -> Iterator[Running]:
    """A simulator whose clock nobody moved: this database's cannot be moved either."""
    with run_in_thread() as running:
        yield running


@pytest.fixture
def fragile(scratch: Path, tmp_path: Path, alone: Running) -> Iterator[Fragile]:
    home = scratch / f"{tmp_path.name}-fragile"
    with embedded.start(home, binaries()) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            schema.migrate(connection)
        with serving(server.url, alone, COUNTERFOIL_LOCK_TIMEOUT="1s") as service:
            alone.add_endpoint(f"{service.url}/webhooks/stripe")
            yield Fragile(home, service)


def test_busy_while_it_is_away_and_all_there_when_it_is_back(fragile: Fragile, alone: Running) -> None:
    """Never 'full' and never 500; a payment whose event found nobody is settled when Stripe sends it again."""
    service = fragile.service
    service.code(cap=2)
    paid, left = service.open("paid@school.test"), service.open("left@school.test")
    fragile.kill()

    assert service.client.get("/healthz").status_code == 200
    said = service.client.get("/readyz")
    assert (said.status_code, said.json()["status"]) == (503, "not ready")
    for answer in (
        service.client.post("/v1/checkouts", json=service.order("new@school.test")),
        service.client.get("/v1/codes/NORTH-26/usage"),
        service.client.get("/v1/codes", headers={"Authorization": "Bearer cf_" + "a" * 43}),
        service.client.post("/v1/quotes", json={"product": "hub"}),
    ):
        refused(answer, 503, "busy")
        assert answer.headers["retry-after"]
    page = service.client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert page.headers["content-type"].startswith("text/html")
    alone.pay(paid["session_id"])
    assert alone.deliveries()[-1].attempts == [503]

    with embedded.start(fragile.home, binaries()):
        until(lambda: service.client.get("/readyz").status_code == 200)
        alone.resend(alone.deliveries()[-1].event["id"])
        assert service.get(f"/v1/checkouts/{paid['id']}")["status"] == "paid"
        assert service.get(f"/v1/checkouts/{left['id']}")["url"] == left["url"]
        usage = service.get("/v1/codes/NORTH-26/usage")
        assert (usage["completed"], usage["held"], usage["remaining"]) == (1, 1, 0)
