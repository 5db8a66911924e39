"""`counterfoil reconcile` and `counterfoil replay`: what they print, and their exit codes."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from tests.support.commands import SETTINGS, Said
from tests.support.serving import Service

from counterfoil import reconcile, replay
from counterfoil.simulator import Fault, Running

Run = Callable[..., Said]


@pytest.fixture
def paid(service: Service, simulator: Running, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Somebody paid, and no event came."""
    monkeypatch.setattr(reconcile, "PACE", 0.0)
    monkeypatch.setattr(replay, "PACE", 0.0)
    service.code(cap=2)
    opened = service.open("a@school.test")
    simulator.drop_events(100)
    simulator.pay(opened["session_id"])
    return opened


@pytest.fixture
def ask(run: Run, simulator: Running) -> Run:
    """Run a command that asks the simulator."""
    stripe = SETTINGS | {"STRIPE_API_BASE": simulator.base_url}
    return lambda *arguments, **settings: run(*arguments, **(stripe | settings))


def test_drift_is_shown_then_settled_then_gone(ask: Run, paid: Any, service: Service) -> None:
    shown = ask("reconcile")
    assert (shown.code, shown.err) == (1, "")
    for part in (paid["session_id"], "NORTH-26", "reserved", "complete, paid", "complete it", "--apply"):
        assert part in shown.out
    assert service.get(f"/v1/checkouts/{paid['id']}")["status"] == "open"

    settled = ask("reconcile", "--apply")
    assert (settled.code, settled.err) == (0, "")
    assert "1 sessions compared: 1 settled, 0 left over" in settled.out
    assert service.get(f"/v1/checkouts/{paid['id']}")["status"] == "paid"

    again = ask("reconcile", "--days", "30")
    assert (again.code, again.out) == (0, "1 sessions compared: no drift\n")


def test_as_json(ask: Run, paid: Any) -> None:
    shown = ask("reconcile", "--json")
    assert shown.code == 1
    assert shown.data == {
        "applied": False,
        "compared": 1,
        "reached": 1.0,
        "interrupted": None,
        "fine": False,
        "findings": [
            {
                "session_id": paid["session_id"],
                "checkout": paid["id"],
                "redemption": paid["redemption"]["id"],
                "code": "NORTH-26",
                "rows": "reserved",
                "stripe": "complete, paid",
                "would": "complete",
                "done": None,
                "left": True,
            }
        ],
    }
    settled = ask("reconcile", "--apply", "--json")
    found = settled.data["findings"][0]
    assert (settled.code, settled.data["fine"], found["done"], found["left"]) == (0, True, "completed", False)
    assert ask("reconcile", "--json").data["findings"] == []


def test_what_is_left_over(ask: Run, paid: Any, connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("SELECT 1 FROM counterfoil.redemption FOR UPDATE")
        said = ask("reconcile", "--apply", COUNTERFOIL_LOCK_TIMEOUT="1s")
    assert said.code == 1
    assert "busy, left over" in said.out
    assert "0 settled, 1 left over" in said.out


@pytest.mark.parametrize("name", ["reconcile", "replay"])
def test_stripe_is_down(ask: Run, paid: Any, simulator: Running, name: str) -> None:
    simulator.fail_next(Fault("reset", "GET", "*", times=0))
    said = ask(name, COUNTERFOIL_STRIPE_ATTEMPTS="1")
    assert said.code == 1
    assert "stopped half way, and what was" in said.err.splitlines()[-1]
    assert "Stripe could not be reached. Run it again" in said.err.splitlines()[-1]


@pytest.mark.parametrize("name", ["reconcile", "replay"])
def test_it_needs_a_key(run: Run, name: str) -> None:
    said = run(name)
    assert (said.code, said.out) == (2, "")
    assert "STRIPE_SECRET_KEY is not set" in said.err


def test_events_are_replayed_and_nothing_is_left(ask: Run, paid: Any, service: Service) -> None:
    said = ask("replay", "--json")
    assert said.code == 0
    assert said.data == {
        "looked_at": 1,
        "unsettled": 1,
        "missed": 0,
        "outcomes": {"completed": 1},
        "left": [],
        "interrupted": None,
        "fine": True,
    }
    assert service.get(f"/v1/checkouts/{paid['id']}")["status"] == "paid"
    again = ask("replay", "--since", "3d")
    assert (again.code, again.out) == (0, "1 events, 0 of them never settled\n")


def test_an_event_that_cannot_be_settled(ask: Run, paid: Any, simulator: Running) -> None:
    """Stripe does not know the session that a row of ours has."""
    simulator.call(lambda: simulator.account.engine.sessions.clear())
    said = ask("replay")
    assert said.code == 1
    assert "left over: evt_" in said.out


@pytest.mark.parametrize(
    "wrong", [("reconcile", "--days", "0"), ("reconcile", "--days", "x"), ("replay", "--since", "soon")]
)
def test_wrong_use(ask: Run, wrong: tuple[str, ...]) -> None:
    said = ask(*wrong)
    assert (said.code, said.out) == (2, "")
