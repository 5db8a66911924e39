"""What is counted, and who may see it."""

import re
from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from tests.service.test_the_door import refused
from tests.support.serving import ADMIN_KEY, Service, serving

from counterfoil import embedded
from counterfoil.simulator import Fault, Running, run_in_thread


def value(service: Service, name: str, **labels: str) -> float:
    """One number of the exposition."""
    wanted = ",".join(f'{label}="{text}"' for label, text in sorted(labels.items()))
    for line in service.client.get("/metrics").text.splitlines():
        found = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if found and ",".join(sorted((found[1] or "").split(","))) == wanted:
            return float(found[2])
    return 0.0


def test_outcomes_are_counted(service: Service, simulator: Running) -> None:
    service.code(cap=1)
    before = {
        outcome: value(service, "counterfoil_checkouts_total", outcome=outcome)
        for outcome in ("held", "allocation-held", "stripe-unavailable")
    }
    settled = value(service, "counterfoil_settled_total", outcome="completed")
    calls = value(service, "counterfoil_stripe_call_seconds_count", call="CreateSession", result="answered")
    opened = service.open("a@school.test")
    service.open("b@school.test", status=409)
    simulator.fail_next(Fault("refuse", "POST", "/v1/checkout/sessions", times=2, status=500))
    service.open("c@school.test", None, status=502)
    simulator.pay(opened["session_id"])
    assert value(service, "counterfoil_checkouts_total", outcome="allocation-held") == before["allocation-held"] + 1
    assert (
        value(service, "counterfoil_checkouts_total", outcome="stripe-unavailable") == before["stripe-unavailable"] + 1
    )
    assert value(service, "counterfoil_settled_total", outcome="completed") == settled + 1
    assert value(service, "counterfoil_stripe_call_seconds_count", call="CreateSession", result="answered") == calls + 1


@pytest.fixture
def ahead(server: embedded.Server, database: str, simulator: Running) -> Iterator[Service]:
    """A service whose Stripe is a minute ahead of its database."""
    with (
        run_in_thread(skew=simulator.account.engine.clock.ahead + timedelta(seconds=60)) as stripe,
        serving(server.url, stripe) as service,
    ):
        yield service


def test_the_skew_to_stripe(ahead: Service, caplog: pytest.LogCaptureFixture) -> None:
    """Measured on every session that is made; beyond the allowed skew there is a warning."""
    ahead.code()
    with caplog.at_level("WARNING", "counterfoil.service.skew"):
        ahead.open("a@school.test", None)
    assert 58 <= value(ahead, "counterfoil_stripe_clock_skew_seconds") <= 61
    assert any("more than is allowed" in record.getMessage() for record in caplog.records)


class TestWhoMaySee:
    def test_this_machine(self, service: Service) -> None:
        said = httpx.get(f"{service.url}/metrics", trust_env=False)
        assert (said.status_code, said.headers["content-type"].partition(";")[0]) == (200, "text/plain")

    @pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
    def test_not_whom_a_proxy_on_this_machine_speaks_for(self, service: Service, header: str) -> None:
        said = httpx.get(f"{service.url}/metrics", headers={header: "203.0.113.7"}, trust_env=False)
        refused(said, 401, "unauthorized")
        with_key = {header: "203.0.113.7", "Authorization": f"Bearer {ADMIN_KEY}"}
        assert httpx.get(f"{service.url}/metrics", headers=with_key, trust_env=False).status_code == 200

    def test_nobody_is_named(self, service: Service) -> None:
        service.code()
        service.open("ada@school.test")
        assert "ada@" not in service.client.get("/metrics").text
