"""What the service counts, in Prometheus' words."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from counterfoil.calls import StripeCall
from counterfoil.pace import Pace
from counterfoil.stripe.drivers import AsyncStripe


class Metrics:
    """A registry of its own, so that two services in one process count apart."""

    def __init__(self, pace: Pace) -> None:
        self.registry = CollectorRegistry()
        self.checkouts = Counter(
            "counterfoil_checkouts",
            "Answers to a request for a checkout, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.settled = Counter(
            "counterfoil_settled", "What sessions did to our rows, by outcome.", ["outcome"], registry=self.registry
        )
        self.drift = Counter(
            "counterfoil_drift",
            "Rows that were not what Stripe says, found at intervals, by whether it was settled.",
            ["done"],
            registry=self.registry,
        )
        self.deliveries = Counter(
            "counterfoil_deliveries", "Attempts to deliver our events, by result.", ["result"], registry=self.registry
        )
        self.mails = Counter(
            "counterfoil_mails", "Attempts to send mails, by result.", ["result"], registry=self.registry
        )
        self.code_tries = Counter(
            "counterfoil_code_tries",
            "Codes typed on public pages, by what became of them: recognised, wrong or waits.",
            ["outcome"],
            registry=self.registry,
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

        Gauge(
            "counterfoil_stripe_line",
            "Buyers who hold a place, or buy without one, and stand in line for their payment page.",
            registry=self.registry,
        ).set_function(lambda: pace.waiting)
        Gauge(
            "counterfoil_stripe_rate",
            "Sessions a second that are created at the most, as learned from Stripe's 429s.",
            registry=self.registry,
        ).set_function(lambda: pace.rate)

    def watching(self, stripe: AsyncStripe) -> Watched:
        """The same driver, with its calls counted."""
        return Watched(stripe, self)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)

    def saw_skew(self, skew: timedelta | None) -> None:
        """Stripe's clock less the database's, as measured on a session that was just made."""
        if skew is not None:
            self.stripe_skew.set(skew.total_seconds())


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
