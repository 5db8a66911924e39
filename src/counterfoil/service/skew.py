"""Stripe's clock against the database's, beyond what is allowed: put before the seller, until it is mended."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from counterfoil import attention, verbs
from counterfoil.clocks import Clocks
from counterfoil.statement import Statement

log = logging.getLogger(__name__)

#: What differs by less is the same skew: seconds. Whole seconds are Stripe's, and the call takes some.
_STEP = 10


class SkewWatch:
    """What this process last said of the skew, so that only news is written down."""

    def __init__(self, clocks: Clocks) -> None:
        self._allowed = clocks.allowed_skew
        self._said: int | None = None
        self._since = ""

    def news(self, skew: timedelta | None) -> Statement[None] | None:
        """
        What is to be written down of a skew that was just measured, if anything.

        *skew* is Stripe's clock less the database's; None if it was not measured.
        """
        if skew is None:
            return None
        seconds = round(skew.total_seconds() / _STEP) * _STEP if abs(skew) > self._allowed else 0
        if seconds == self._said:
            return None
        if seconds:
            log.warning(
                "Stripe's clock and the database's differ by %.0f s, more than is allowed: check the database's clock",
                skew.total_seconds(),
            )
            if not self._said:
                self._since = datetime.now(UTC).isoformat()
        self._said = seconds
        if not seconds:
            return attention.settle_matter(kind="clock-skew", subject="stripe")
        detail: dict[str, Any] = {
            "seconds": seconds,
            "allowed": round(self._allowed.total_seconds()),
            # Of this episode: so that the same skew, back after it was mended, is news.
            "since": self._since,
        }
        return verbs.raise_attention(kind="clock-skew", subject="stripe", detail=detail)
