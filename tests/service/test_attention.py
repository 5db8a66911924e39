"""What a person must look at, over HTTP; and what raises itself."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import Clock
from tests.service.test_the_door import refused
from tests.support.serving import Service, serving

from counterfoil import embedded, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Fault, Running, run_in_thread


def raise_(host: Psycopg, kind: str, subject: str, **detail: Any) -> None:
    host.run(verbs.raise_attention(kind=kind, subject=subject, detail=detail))


def test_listed_newest_first_and_page_by_page(service: Service, host: Psycopg) -> None:
    for number in range(5):
        raise_(host, "dispute" if number % 2 else "drift", f"pi_{number}")
    found: list[Any] = []
    cursor = None
    while True:
        page = service.get("/v1/attention", limit=2, **({"cursor": cursor} if cursor else {}))
        found += page["data"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [one["subject"] for one in found] == ["pi_4", "pi_3", "pi_2", "pi_1", "pi_0"]
    assert [one["subject"] for one in service.get("/v1/attention", kind="dispute")["data"]] == ["pi_3", "pi_1"]
    assert service.get("/v1/attention", kind="nothing")["data"] == []
    refused(service.client.get("/v1/attention", params={"cursor": "x"}), 422, "invalid-request")


def test_resolved_once_and_open_again_with_news(service: Service, host: Psycopg) -> None:
    raise_(host, "dispute", "pi_1", disputes={"dp_1": "needs_response"})
    matter = service.get("/v1/attention")["data"][0]
    assert "pi_1" in matter["sentence"]
    assert "Stripe's dashboard" in matter["mend"]
    assert matter["resolved_at"] is None
    first = service.post(f"/v1/attention/{matter['id']}/resolve", status=200)
    assert first["resolved_at"]
    assert service.post(f"/v1/attention/{matter['id']}/resolve", status=200) == first
    assert service.get("/v1/attention", resolved="false")["data"] == []
    assert service.get("/v1/attention", resolved="true")["data"] == [first]
    # The same is no news; another state of it is.
    raise_(host, "dispute", "pi_1", disputes={"dp_1": "needs_response"})
    assert service.get("/v1/attention", resolved="false")["data"] == []
    raise_(host, "dispute", "pi_1", disputes={"dp_1": "lost"})
    again = service.get("/v1/attention", resolved="false")["data"]
    assert [one["id"] for one in again] == [matter["id"]]
    assert again[0]["raised_at"] > matter["raised_at"]


def test_a_replay_answers_the_matter_as_it_is(service: Service, host: Psycopg) -> None:
    raise_(host, "drift", "cs_1")
    path = f"/v1/attention/{service.get('/v1/attention')['data'][0]['id']}/resolve"
    service.post(path, status=200, **{"Idempotency-Key": "k"})
    raise_(host, "drift", "cs_1", news=1)
    replayed = service.client.post(path, headers={"Idempotency-Key": "k"})
    assert (replayed.headers["idempotent-replayed"], replayed.json()["resolved_at"]) == ("true", None)


@pytest.mark.parametrize("id", ["x", "-1", "999999", "1" * 30, "²"])
def test_no_such_matter(service: Service, id: str) -> None:
    refused(service.client.post(f"/v1/attention/{id}/resolve"), 404, "not-found")


class TestEventsThatWait:
    def test_for_more_than_an_hour(self, service: Service, simulator: Running, clock: Clock) -> None:
        service.code()
        opened = service.open("a@school.test")
        # The session cannot be read: the event is answered with an error, and Stripe tries again after an hour.
        simulator.fail_next(Fault("refuse", "GET", "/v1/checkout/sessions/*", times=4, status=500))
        simulator.pay(opened["session_id"])
        assert service.get("/v1/attention")["data"] == []
        clock.advance(minutes=59)
        assert service.get("/v1/attention")["data"] == []
        simulator.fail_next(Fault("refuse", "GET", "/v1/checkout/sessions/*", times=99, status=500))
        clock.advance(minutes=2)
        waiting = service.get("/v1/attention", resolved="false")["data"]
        assert [(one["kind"], one["detail"]["number"]) for one in waiting] == [("stripe-events-unsettled", 1)]
        assert waiting[0]["detail"]["types"] == ["checkout.session.completed"]
        assert "counterfoil replay" in waiting[0]["mend"]
        simulator.call(simulator.account.faults.clear)
        simulator.resend(_completed(simulator))
        assert service.get("/v1/attention", resolved="false")["data"] == []
        assert service.get("/v1/attention")["data"][0]["resolved_at"]


def _completed(simulator: Running) -> str:
    return next(str(one["id"]) for one in simulator.events() if one["type"] == "checkout.session.completed")


class TestSkew:
    @pytest.fixture
    def stripe(self, simulator: Running) -> Iterator[Running]:
        """A Stripe of its own, whose clock is a minute ahead of the database's."""
        with run_in_thread(skew=simulator.account.engine.clock.ahead + timedelta(seconds=60)) as stripe:
            yield stripe

    @pytest.fixture
    def ahead(self, server: embedded.Server, database: str, stripe: Running) -> Iterator[Service]:
        with serving(server.url, stripe) as service:
            yield service

    def test_raised_once_refreshed_and_over(
        self, ahead: Service, stripe: Running, connection: psycopg.Connection[Any]
    ) -> None:
        ahead.code()
        for buyer in "abc":
            ahead.open(f"{buyer}@school.test", None)
        raised = ahead.get("/v1/attention", resolved="false")["data"]
        assert [(one["kind"], one["detail"]["seconds"]) for one in raised] == [("clock-skew", 60)]
        assert "differ by 60 s; 30 s are allowed" in raised[0]["sentence"]
        # Seen by a person, and still so: no news.
        ahead.post(f"/v1/attention/{raised[0]['id']}/resolve", status=200)
        ahead.open("d@school.test", None)
        assert ahead.get("/v1/attention", resolved="false")["data"] == []
        # Worse.
        stripe.advance(timedelta(seconds=60))
        ahead.open("e@school.test", None)
        worse = ahead.get("/v1/attention", resolved="false")["data"]
        assert [(one["id"], one["detail"]["seconds"]) for one in worse] == [(raised[0]["id"], 120)]
        # Mended, and wrong again: the same as before, and news all the same.
        stripe.call(lambda: setattr(stripe.account.engine.clock, "ahead", _ahead(connection)))
        ahead.open("f@school.test", None)
        assert ahead.get("/v1/attention", resolved="false")["data"] == []
        stripe.advance(timedelta(seconds=120))
        ahead.open("g@school.test", None)
        assert len(ahead.get("/v1/attention", resolved="false")["data"]) == 1


def _ahead(connection: psycopg.Connection[Any]) -> timedelta:
    row = connection.execute("SELECT counterfoil.clock() - clock_timestamp()").fetchone()
    assert row
    found: timedelta = row[0]
    return found
