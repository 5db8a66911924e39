"""What is done at intervals: by one process of many, settled and counted, and never fatal."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.races import until
from tests.support.serving import Service, serving

from counterfoil import embedded
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.interval import claim, plan
from counterfoil.simulator import Fault, Running

HOUR = timedelta(hours=1)


class TestWhoseTurnItIs:
    @pytest.fixture
    def planned(self, host: Psycopg, clock: Any) -> Psycopg:
        host.run(plan(HOUR))
        return host

    def test_not_before_an_interval_has_passed(self, planned: Psycopg, clock: Any) -> None:
        assert planned.run(claim(HOUR)) is False
        clock.advance(minutes=59)
        assert planned.run(claim(HOUR)) is False
        clock.advance(minutes=2)
        assert planned.run(claim(HOUR)) is True

    def test_one_of_two(self, planned: Psycopg, clock: Any, database: str) -> None:
        clock.advance(hours=2)
        with psycopg.connect(database, autocommit=True) as other:
            assert [planned.run(claim(HOUR)), Psycopg(other).run(claim(HOUR))] == [True, False]

    def test_planned_again_changes_nothing(self, planned: Psycopg, clock: Any) -> None:
        """A process that begins does not put off what is due."""
        clock.advance(hours=2)
        planned.run(plan(HOUR))
        assert planned.run(claim(HOUR)) is True

    def test_whoever_had_it_died(self, planned: Psycopg, clock: Any) -> None:
        """Nothing has to be given back: the next time stands in the row already."""
        clock.advance(hours=2)
        assert planned.run(claim(HOUR)) is True
        clock.advance(hours=2)
        assert planned.run(claim(HOUR)) is True

    def test_the_clock_was_set_back(self, planned: Psycopg, connection: psycopg.Connection[Any]) -> None:
        """A time that no process of this setting can have written counts as now."""
        connection.execute("UPDATE counterfoil.task SET next_at = counterfoil.clock() + interval '119 minutes'")
        assert planned.run(claim(HOUR)) is False
        connection.execute("UPDATE counterfoil.task SET next_at = counterfoil.clock() + interval '3 days'")
        assert planned.run(claim(HOUR)) is True
        assert planned.run(claim(HOUR)) is False


@pytest.fixture
def two(server: embedded.Server, simulator: Running, database: str) -> Iterator[list[Service]]:
    """Two services on one database that reconcile each second; no event reaches them."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                serving(server.url, simulator, COUNTERFOIL_RECONCILE_INTERVAL="1s", COUNTERFOIL_STRIPE_ATTEMPTS="1")
            )
            for _ in range(2)
        ]


def counted(services: list[Service], name: str) -> float:
    """A counter's sum over the services."""
    lines = [line for one in services for line in one.client.get("/metrics").text.splitlines()]
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_what_nobody_told_is_found_and_settled(
    two: list[Service], simulator: Running, connection: psycopg.Connection[Any]
) -> None:
    """The event is on Stripe's list; a session whose event is gone from there is found all the same."""
    first, _ = two
    first.code(cap=2)
    told, untold = first.open("a@school.test"), first.open("b@school.test")
    simulator.pay(told["session_id"])
    until(lambda: first.get(f"/v1/checkouts/{told['id']}")["status"] == "paid")
    simulator.call(lambda: simulator.account.engine.pay(untold["session_id"]))
    simulator.call(simulator.account.engine.events.clear)
    until(lambda: first.get(f"/v1/checkouts/{untold['id']}")["status"] == "paid")
    settled = connection.execute("SELECT count(*) FROM counterfoil.stripe_event WHERE outcome = 'completed'").fetchone()
    assert settled is not None
    until(lambda: counted(two, "counterfoil_drift_total") + settled[0] == 2)


def test_stripe_is_down_and_comes_back(two: list[Service], simulator: Running) -> None:
    first, second = two
    first.code(cap=2)
    opened = first.open("a@school.test")
    simulator.fail_next(Fault("reset", "GET", "*", times=0))
    simulator.pay(opened["session_id"])
    until(lambda: counted(two, 'counterfoil_stripe_call_seconds_count{call="ListEvents",result="failed"}') > 0)
    assert second.client.get("/healthz").status_code == 200
    simulator.call(simulator.account.faults.clear)
    until(lambda: first.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid")


def test_the_database_is_behind_and_comes_back(
    two: list[Service], simulator: Running, connection: psycopg.Connection[Any]
) -> None:
    """Whatever goes wrong, there is a next time."""
    first, _ = two
    first.code(cap=2)
    opened = first.open("a@school.test")
    connection.execute("ALTER TABLE counterfoil.task RENAME TO task_away")
    try:
        simulator.pay(opened["session_id"])
        assert first.client.get("/healthz").status_code == 200
    finally:
        connection.execute("ALTER TABLE counterfoil.task_away RENAME TO task")
    until(lambda: first.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid")


def test_beside_live_traffic(two: list[Service], simulator: Running, connection: psycopg.Connection[Any]) -> None:
    """Events arrive, and both reconcile beside them: each sale is settled once, and no place is lost."""
    first, second = two
    simulator.add_endpoint(f"{second.url}/webhooks/stripe")
    first.code(cap=60)
    opened = [first.open(f"{number}@school.test") for number in range(60)]
    for number, one in enumerate(opened):
        if number % 3:
            simulator.pay(one["session_id"])
        else:
            simulator.expire(one["session_id"])
    until(lambda: counted(two, 'counterfoil_stripe_call_seconds_count{call="ListSessions"') > 3)
    statuses = [first.get(f"/v1/checkouts/{one['id']}")["status"] for one in opened]
    assert statuses == ["paid" if number % 3 else "expired" for number in range(60)]
    usage = first.get("/v1/codes/NORTH-26/usage")
    assert (usage["completed"], usage["held"], usage["remaining"], usage["over"]) == (40, 0, 20, 0)
    assert connection.execute("SELECT kind FROM counterfoil.attention").fetchall() == []
    assert connection.execute("SELECT count(*) FROM counterfoil.entitlement").fetchone() == (40,)


def test_a_webhook_that_does_not_arrive_is_put_before_the_seller(
    two: list[Service], simulator: Running, clock: Any
) -> None:
    """What it missed is settled, so nothing else would show that it is missing."""
    first, _ = two
    first.code(cap=2)
    opened = first.open("a@school.test")
    # Nobody hears of it before it is old: also not whoever is at it already.
    simulator.fail_next(Fault("reset", "GET", "*", times=0))
    simulator.pay(opened["session_id"])
    clock.advance(minutes=11)
    simulator.call(simulator.account.faults.clear)
    until(lambda: first.get("/v1/attention", kind="stripe-webhook-silent")["data"])
    assert first.get(f"/v1/checkouts/{opened['id']}")["status"] == "paid"
