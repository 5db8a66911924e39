"""The simulator's one clock: real time, moved forward as often as one likes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """Everything in the simulator that asks for the time asks here."""

    def __init__(self, skew: timedelta = timedelta()) -> None:
        self._ahead = skew.total_seconds()

    def seconds(self) -> float:
        """Seconds since the epoch, with fractions."""
        return time.time() + self._ahead

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
        self._ahead += by.total_seconds()
