"""
A pytest plugin: a Stripe Checkout to test a shop's own checkout against. Installed with the package.

    def test_a_sale(stripe_simulator):
        shop = my_shop(stripe_api_base=stripe_simulator.base_url, webhook_secret=stripe_simulator.secret)
        stripe_simulator.add_endpoint(shop.webhook_url)
        session = shop.begin_checkout()
        stripe_simulator.pay(session.id)
        assert shop.is_paid(session.id)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from counterfoil.simulator import Running


@pytest.fixture(scope="session")
def _stripe_simulator() -> Iterator[Running]:
    # Imported when a test asks for it: a plugin is loaded by every run of pytest.
    from counterfoil.simulator import run_in_thread

    with run_in_thread() as running:
        yield running


@pytest.fixture
def stripe_simulator(_stripe_simulator: Running) -> Running:
    """
    A running simulator that has forgotten everything; its clock only ever moves forward.

    ``base_url`` is what ``STRIPE_API_BASE`` is to be, ``secret`` what signs the events, any ``sk_test_`` key opens it.
    """
    _stripe_simulator.forget()
    return _stripe_simulator
