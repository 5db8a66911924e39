"""What is kept for a time only: our events, and what was answered to an idempotency key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.support.races import until
from tests.support.serving import Service, serving

from counterfoil import embedded, outgoing
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import idempotency
from counterfoil.service.settings import SettingsImpossible, load
from counterfoil.simulator import Running

KEPT = timedelta(days=90)


@pytest.fixture
def told(service: Service, host: Psycopg, clock: Clock) -> Service:
    """Two events, ninety days apart."""
    service.code(cap=None)
    service.open("a@school.test")
    clock.advance(days=90)
    service.open("b@school.test")
    return service


def buyers(service: Service) -> list[str]:
    return [one["data"]["buyer"] for one in service.get("/v1/events", type="redemption.reserved")["data"]]


def test_old_ones_go_and_younger_ones_stay(told: Service, host: Psycopg) -> None:
    old = told.get("/v1/events", limit=100)["data"][-1]
    assert host.run(outgoing.forget_old(kept=timedelta(days=91))) is False
    assert "a@school.test" in buyers(told)
    assert host.run(outgoing.forget_old(kept=KEPT)) is False
    assert buyers(told) == ["b@school.test"]
    assert told.get(f"/v1/events/{old['id']}", status=404)["code"] == "not-found"


def test_in_small_batches(told: Service, host: Psycopg, clock: Clock) -> None:
    before = {one["id"] for one in told.get("/v1/events", limit=100)["data"]}
    clock.advance(days=91)
    for _ in before:
        assert host.run(outgoing.forget_old(kept=KEPT, most=1)) is True
    assert host.run(outgoing.forget_old(kept=KEPT, most=1)) is False
    assert before.isdisjoint(one["id"] for one in told.get("/v1/events", limit=100)["data"])


def test_one_that_is_on_its_way_stays_until_it_is_delivered(
    service: Service, host: Psycopg, clock: Clock, connection: psycopg.Connection[Any]
) -> None:
    service.code(cap=None)
    host.run(outgoing.add_endpoint(url="https://hooks.test/x", types=None, secret="whsec_x"))
    service.open("a@school.test")
    service.open("b@school.test")
    first, *others = [one["id"] for one in reversed(service.get("/v1/events", limit=100)["data"])]
    # It stands before others that could go, and holds none of them up.
    connection.execute(
        "UPDATE counterfoil.delivery SET next_attempt_at = NULL, delivered_at = now() "
        "WHERE seq > (SELECT min(seq) FROM counterfoil.event)"
    )
    clock.advance(days=91)
    while host.run(outgoing.forget_old(kept=KEPT, most=1)):
        pass
    left = {one["id"] for one in service.get("/v1/events", limit=100)["data"]}
    assert first in left
    assert left.isdisjoint(others)
    connection.execute("UPDATE counterfoil.delivery SET next_attempt_at = NULL")
    host.run(outgoing.forget_old(kept=KEPT))
    assert first not in {one["id"] for one in service.get("/v1/events", limit=100)["data"]}


def test_idempotency_answers_go_after_a_day(service: Service, host: Psycopg, clock: Clock) -> None:
    """Also where nobody sends a request that would do it."""
    service.code()

    def open_again() -> Any:
        body = service.order("a@school.test")
        return service.client.post("/v1/checkouts", json=body, headers={"Idempotency-Key": "one"})

    open_again()
    clock.advance(hours=23)
    assert host.run(idempotency.forget_old()) is False
    row = host._source.execute("SELECT count(*) FROM counterfoil.idempotency").fetchone()
    assert row == (1,)
    clock.advance(hours=2)
    host.run(idempotency.forget_old())
    row = host._source.execute("SELECT count(*) FROM counterfoil.idempotency").fetchone()
    assert row == (0,)


@pytest.fixture
def tidying(server: embedded.Server, simulator: Running, database: str) -> Iterator[Service]:
    """A service that tidies each second."""
    settings = {"COUNTERFOIL_RECONCILE_INTERVAL": "1s", "COUNTERFOIL_EVENT_RETENTION": "30d"}
    with serving(server.url, simulator, **settings) as one:
        yield one


def test_a_service_does_it_at_intervals(tidying: Service, clock: Clock) -> None:
    tidying.code(cap=None)
    tidying.open("a@school.test")
    assert buyers(tidying) == ["a@school.test"]
    clock.advance(days=31)
    until(lambda: "a@school.test" not in buyers(tidying))


def test_for_ever_and_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "COUNTERFOIL_DATABASE_URL": "postgresql://x/y",
        "COUNTERFOIL_SECRET_KEY": "x" * 32,
        "STRIPE_SECRET_KEY": "sk_test_x",
        "STRIPE_WEBHOOK_SECRET": "whsec_x",
    }
    assert load(**given).event_retention == KEPT
    assert load(**given, COUNTERFOIL_EVENT_RETENTION="0").event_retention == timedelta(0)
    with pytest.raises(SettingsImpossible, match="COUNTERFOIL_EVENT_RETENTION"):
        load(**given, COUNTERFOIL_EVENT_RETENTION="a while")
