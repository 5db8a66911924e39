"""What runs until it is told to end: serve, simulator, demo, storm. Real processes, real signals."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.support.commands import SETTINGS, command, environment, line_with, started
from tests.support.races import alive, beside, until

from counterfoil import schema
from counterfoil.simulator import Fault, Running, run_in_thread

BEARER = {"Authorization": "Bearer an-admin-key-of-the-tests-0123456789"}


def address_in(line: str) -> str:
    found = re.search(r"http://[0-9.]+:[0-9]+", line)
    assert found, line
    return found[0]


def refuses(url: str) -> bool:
    try:
        httpx.get(f"{url}/healthz", timeout=5, trust_env=False)
    except httpx.TransportError:
        return True
    return False


@pytest.fixture
def settings(scratch_database: str, simulator: Running) -> dict[str, str]:
    """What a service needs, on a database of its own that is migrated."""
    with psycopg.connect(scratch_database, autocommit=True) as connection:
        schema.migrate(connection)
    return SETTINGS | {
        "COUNTERFOIL_DATABASE_URL": scratch_database,
        "COUNTERFOIL_ADMIN_KEY": "an-admin-key-of-the-tests-0123456789",
        "STRIPE_API_BASE": simulator.base_url,
    }


@pytest.fixture
def serving(settings: dict[str, str]) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start `serve` on a free port."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def serve(*arguments: str, **more: str) -> tuple[subprocess.Popen[str], str]:
            process = stack.enter_context(started("serve", "--port", "0", *arguments, **settings | more))
            url = address_in(line_with(process, "counterfoil listens on"))
            httpx.get(f"{url}/readyz", timeout=30, trust_env=False).raise_for_status()
            return process, url

        yield serve


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that it started."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in found.stdout.split()]


class TestServe:
    def test_one_worker_is_that_very_process(self, serving: Any) -> None:
        process, url = serving()
        assert children(process) == []
        assert httpx.get(f"{url}/", trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert refuses(url)

    @pytest.mark.parametrize("workers", ["1", "2"])
    @pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
    def test_a_request_that_is_under_way_is_finished(
        self, serving: Any, simulator: Running, workers: str, told: signal.Signals
    ) -> None:
        process, url = serving("--workers", workers)
        simulator.fail_next(Fault("slow", "POST", "/v1/checkout/sessions", seconds=1.0))
        body = {
            "name": "Mug", "amount": 500, "currency": "gbp", "buyer": "a", "success_url": url, "cancel_url": url,
        }  # fmt: skip
        with beside(
            lambda: httpx.post(f"{url}/v1/checkouts", json=body, headers=BEARER, timeout=30, trust_env=False)
        ) as answer:
            until(lambda: bool(httpx.get(f"{url}/v1/checkouts", headers=BEARER, trust_env=False).json()["data"]))
            process.send_signal(told)
            assert answer.result(30).status_code == 201
        assert process.wait(30) == 0
        assert refuses(url)

    def test_workers_end_with_their_parent(self, serving: Any) -> None:
        """Also when it is killed and can tell them nothing."""
        process, url = serving("--workers", "2")
        workers = children(process)
        assert len(workers) == 2
        process.kill()
        process.wait(10)
        until(lambda: not any(alive(pid) for pid in workers))
        assert refuses(url)

    def test_a_worker_that_dies_is_replaced(self, serving: Any) -> None:
        process, url = serving("--workers", "2")
        first = children(process)
        os.kill(first[0], signal.SIGKILL)
        until(lambda: len([pid for pid in children(process) if alive(pid)]) == 2 and first[0] not in children(process))
        assert httpx.get(f"{url}/healthz", timeout=30, trust_env=False).status_code == 200

    def test_starts_with_stripe_down(self, serving: Any) -> None:
        _, url = serving(STRIPE_API_BASE="http://127.0.0.1:9", COUNTERFOIL_STRIPE_TIMEOUT="1s")
        body = {
            "name": "Mug", "amount": 500, "currency": "gbp", "buyer": "a", "success_url": url, "cancel_url": url,
        }  # fmt: skip
        said = httpx.post(f"{url}/v1/checkouts", json=body, headers=BEARER, timeout=30, trust_env=False)
        assert (said.status_code, said.json()["code"]) == (503, "stripe-unavailable")

    def test_a_port_that_is_taken(self, serving: Any, settings: dict[str, str]) -> None:
        _, url = serving()
        said = command("serve", "--port", url.rpartition(":")[2], **settings)
        assert said.code == 1
        assert said.err.startswith("counterfoil: 127.0.0.1:")
        assert len(said.err.splitlines()) == 1

    def test_an_old_schema_and_the_other_mode(self, settings: dict[str, str], scratch_database: str) -> None:
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            connection.execute("INSERT INTO counterfoil.seller (livemode) VALUES (true)")
            said = command("serve", "--port", "0", **settings)
            assert (said.code, "live mode" in said.err) == (1, True)
            connection.execute("UPDATE counterfoil.migration SET name = 'older' WHERE number = 0")
        said = command("serve", "--port", "0", **settings)
        assert (said.code, "counterfoil migrate" in said.err) == (1, True)
        assert len(said.err.splitlines()) == 1

    def test_storefront_off(self, serving: Any) -> None:
        _, url = serving(COUNTERFOIL_STOREFRONT="off")
        assert httpx.get(f"{url}/", trust_env=False).status_code == 404
        assert httpx.get(f"{url}/docs", trust_env=False).status_code == 200

    def test_json_logs(self, serving: Any) -> None:
        process, url = serving(COUNTERFOIL_LOG="json")
        httpx.post(f"{url}/webhooks/stripe", content=b"{}", trust_env=False)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert all(json.loads(line)["event"] for line in err.splitlines())


class TestSimulator:
    def test_alone(self, tmp_path: Path) -> None:
        """No database, no settings, any test key."""
        with started("simulator", "--port", "0") as process:
            base = address_in(line_with(process, "STRIPE_API_BASE="))
            said = httpx.get(
                f"{base}/v1/checkout/sessions", headers={"Authorization": "Bearer sk_test_any"}, trust_env=False
            )
            assert (said.status_code, said.json()["data"]) == (200, [])
            assert httpx.get(f"{base}/_simulator/", trust_env=False).status_code == 200
            moved = command("simulator", "advance", "31m", "--at", base)
            assert (moved.code, moved.out.startswith("it is 20")) == (0, True)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
            assert process.stderr
            assert process.stderr.read() == ""
        gone = command("simulator", "advance", "31m", "--at", base)
        assert (gone.code, "no simulator answers" in gone.err) == (1, True)
        assert command("simulator", "advance", "soon").code == 2

    @pytest.mark.parametrize("wrong", [("--skew", "soon"), ("--port", "70000"), ("--floor", "-1m")])
    def test_wrong_use(self, wrong: tuple[str, ...]) -> None:
        said = command("simulator", *wrong)
        assert (said.code, said.out) == (2, "")


class TestDemo:
    def test_from_an_empty_database(self, scratch_database: str) -> None:
        """The addresses, a shop that sells, and an end without a trace of trouble; what was done is kept."""
        with started("demo", "--port", "0", "--no-open", COUNTERFOIL_DATABASE_URL=scratch_database) as process:
            shop = line_with(process, "The shop")
            url = address_in(shop)
            # It fits a terminal of 80 columns: nothing is broken in the middle of an address.
            assert max(map(len, [shop, line_with(process, "A key"), line_with(process, "the place is back")])) <= 81
            page = httpx.get(f"{url}/", timeout=30, trust_env=False)
            assert page.status_code == 200
            assert "Practice hub" in page.text
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stderr
            assert process.stderr.read() == ""
        with psycopg.connect(scratch_database) as connection:
            row = connection.execute("SELECT count(*) FROM counterfoil.institution").fetchone()
            assert row == (2,)
        with started("demo", "--port", "0", "--no-open", COUNTERFOIL_DATABASE_URL=scratch_database) as process:
            line_with(process, "The shop")
        with psycopg.connect(scratch_database) as connection:
            assert connection.execute("SELECT count(*) FROM counterfoil.institution").fetchone() == row

    def test_not_on_a_shops_database(self, scratch_database: str) -> None:
        """It would move the clock that decides."""
        with psycopg.connect(scratch_database, autocommit=True) as connection:
            schema.migrate(connection)
        said = command("demo", "--port", "0", "--no-open", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert said.code == 1
        assert "not a demo's" in said.err


class TestStorm:
    def test_twenty_on_the_last_place(self, scratch_database: str) -> None:
        """Two processes, several rounds, places that lapse and are let again; the scratch schema is dropped."""
        said = command(
            "storm",
            "--buyers",
            "20",
            "--places",
            "1",
            "--rounds",
            "2",
            "--json",
            COUNTERFOIL_DATABASE_URL=scratch_database,
        )
        assert said.code == 0, said
        tally = said.data
        assert (tally["admitted"], tally["let_again"], tally["refused"]) == (2, 2, 76)
        assert (tally["oversold"], tally["leaked"], tally["busy"], tally["errors"], tally["fine"]) == (
            0,
            0,
            0,
            [],
            True,
        )
        with psycopg.connect(scratch_database) as connection:
            left = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%storm%'").fetchall()
        assert left == []

    def test_several_places(self, scratch_database: str) -> None:
        said = command("storm", "--buyers", "12", "--places", "5", "--json", COUNTERFOIL_DATABASE_URL=scratch_database)
        assert (said.code, said.data["admitted"], said.data["oversold"]) == (0, 5, 0)

    def test_the_control_oversells_and_says_so(self, scratch_database: str) -> None:
        said = command(
            "storm", "--without-lock", "--buyers", "50", "--places", "1", COUNTERFOIL_DATABASE_URL=scratch_database
        )
        assert said.code == 0, said
        assert re.search(r"oversold by [1-9]", said.out)

    @pytest.mark.parametrize("wrong", [("--buyers", "0"), ("--places", "-1"), ("--rounds", "x")])
    def test_wrong_use(self, wrong: tuple[str, ...]) -> None:
        assert command("storm", *wrong).code == 2


def test_nothing_of_the_environment_leaks_into_the_tests() -> None:
    """The commands above see the settings that they are given and no others."""
    assert not [name for name in environment() if name.startswith(("COUNTERFOIL_", "STRIPE_"))]


def test_a_simulator_on_a_port_that_is_taken() -> None:
    with run_in_thread() as simulator:
        said = command("simulator", "--port", simulator.base_url.rpartition(":")[2])
    assert said.code == 1
    assert "give another with --port" in said.err
