"""A simulator that is remembered in a file: it goes on where it was, also with what is still to happen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import stripe
from tests.simulator.conftest import client, create, soon
from tests.support.commands import command, line_with, started

from counterfoil.simulator import Running, run_in_thread


@pytest.fixture
def again(tmp_path: Path) -> Callable[[], Any]:
    """Start it on the same file."""

    @contextmanager
    def begin() -> Iterator[tuple[Running, stripe.StripeClient]]:
        with run_in_thread(state=tmp_path / "state.json") as sim:
            yield sim, client(sim.base_url)

    return begin


def test_it_goes_on_where_it_was(again: Callable[[], Any]) -> None:
    """Sessions, money, keys, the clock; and a session that is open expires when it would have."""
    with again() as (sim, sdk):
        sim.advance(timedelta(days=2))
        paid = create(sdk, "key-1")
        sim.pay(paid.id)
        sdk.v1.refunds.create({"payment_intent": sim.session(paid.id)["payment_intent"], "amount": 300})
        open_ = create(sdk, expires_at=soon(sim, minutes=31))
        clock = sim.now()
    with again() as (sim, sdk):
        assert timedelta() <= sim.now() - clock < timedelta(minutes=1)
        assert sdk.v1.checkout.sessions.retrieve(paid.id).payment_status == "paid"
        assert sdk.v1.charges.list().data[0].amount_refunded == 300
        assert create(sdk, "key-1").id == paid.id
        assert sdk.v1.checkout.sessions.retrieve(open_.id).status == "open"
        sim.advance(timedelta(minutes=32))
        assert sdk.v1.checkout.sessions.retrieve(open_.id).status == "expired"
        assert sim.events()[0]["type"] == "checkout.session.expired"


def test_what_is_still_to_happen(again: Callable[[], Any]) -> None:
    """A bank debit, a refund that will fail, and an event that is to be tried again."""
    with again() as (sim, sdk):
        sim.add_endpoint("http://127.0.0.1:9/")
        delayed = create(sdk)
        sim.pay_delayed(delayed.id)
        paid = sim.pay(create(sdk).id, "4000000000005126")
        refund = sdk.v1.refunds.create({"payment_intent": paid["payment_intent"]})
        sim.wait_delivered()
        tried = [len(one.attempts) for one in sim.deliveries()]
        assert set(tried) == {1}
    with again() as (sim, sdk):
        sim.advance(timedelta(days=6))
        assert sdk.v1.checkout.sessions.retrieve(delayed.id).payment_status == "paid"
        assert sdk.v1.refunds.retrieve(refund.id).status == "failed"
        assert [len(one.attempts) for one in sim.deliveries()][: len(tried)] == [3] * len(tried)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"version": 99}'])
def test_a_file_that_is_none_of_its(tmp_path: Path, text: str) -> None:
    """It says so, and leaves the file alone."""
    file = tmp_path / "state.json"
    file.write_text(text)
    said = command("simulator", "--port", "0", "--state", str(file))
    assert (said.code, said.out) == (1, "")
    assert f"{file} is no state of this simulator" in said.err
    assert file.read_text() == text


def test_by_the_command(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    for number in range(2):
        with started("simulator", "--port", "0", "--state", str(file)) as process:
            base = line_with(process, "STRIPE_API_BASE=").strip().partition("=")[2]
            sdk = client(base)
            assert len(sdk.v1.checkout.sessions.list().data) == number
            create(sdk)
            process.terminate()
            assert process.wait(20) == 0
