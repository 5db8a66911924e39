"""The simulator's one clock: real time, moved forward as often as one likes."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class Clock:
    """Everything in the simulator that asks for the time asks here."""

    def __init__(self, skew: timedelta = timedelta(), source: Callable[[], float] = time.time) -> None:
        self._source = source
        #: How far ahead of this machine's clock.
        self.ahead = skew

    def seconds(self) -> float:
        """Seconds since the epoch, with fractions."""
        return self._source() + self.ahead.total_seconds()

    def stamp(self) -> int:
        """Seconds since the epoch, in whole seconds, as Stripe counts."""
        return int(self.seconds())

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.fromtimestamp(self.seconds(), UTC)

    def advance(self, by: timedelta) -> None:
        """
        Move forward.

        Raises:
            ValueError: Backwards, which no clock of Stripe's goes.
        """
        if by < timedelta():
            raise ValueError("the clock only moves forward")
        self.ahead += by
