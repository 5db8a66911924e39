"""What the service counts, in Prometheus' words."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from counterfoil.calls import StripeCall
from counterfoil.clocks import Clocks
from counterfoil.stripe.drivers import AsyncStripe

log = logging.getLogger(__name__)


class Metrics:
    """A registry of its own, so that two services in one process count apart."""

    def __init__(self, clocks: Clocks) -> None:
        self.registry = CollectorRegistry()
        self._allowed_skew = clocks.allowed_skew
        self.checkouts = Counter(
            "counterfoil_checkouts",
            "Answers to a request for a checkout, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.settled = Counter(
            "counterfoil_settled", "What sessions did to our rows, by outcome.", ["outcome"], registry=self.registry
        )
        self.deliveries = Counter(
            "counterfoil_deliveries", "Attempts to deliver our events, by result.", ["result"], registry=self.registry
        )
        self.stripe_calls = Histogram(
            "counterfoil_stripe_call_seconds",
            "Calls to Stripe, by call and result.",
            ["call", "result"],
            registry=self.registry,
        )
        self.stripe_skew = Gauge(
            "counterfoil_stripe_clock_skew_seconds",
            "Stripe's clock less the database's, as of the last session created; whole seconds.",
            registry=self.registry,
        )

    def watching(self, stripe: AsyncStripe) -> Watched:
        """The same driver, with its calls counted."""
        return Watched(stripe, self)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

    def saw_skew(self, skew: timedelta | None) -> None:
        """Stripe's clock less the database's, as measured on a session that was just made."""
        if skew is None:
            return
        self.stripe_skew.set(skew.total_seconds())
        if abs(skew) > self._allowed_skew:
            log.warning(
                "Stripe's clock and the database's differ by %.0f s, more than is allowed: check the database's clock",
                skew.total_seconds(),
            )


class Watched:
    """Carries out calls, and counts them."""

    def __init__(self, inner: AsyncStripe, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    async def carry_out(self, call: StripeCall) -> Any:
        """Carry out one call."""
        began = time.monotonic()
        result = "failed"
        try:
            answer = await self._inner.carry_out(call)
            result = "answered"
        finally:
            self._metrics.stripe_calls.labels(type(call).__name__, result).observe(time.monotonic() - began)
        return answer
