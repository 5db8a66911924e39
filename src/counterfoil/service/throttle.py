"""Whoever failed too often waits: counted in this process alone, and forgotten with it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from datetime import timedelta

from counterfoil import clocks


class Throttle:
    """*most* failures of one name *within* a time; then it waits until the oldest of them is that old."""

    def __init__(self, most: int, within: timedelta, steady: Callable[[], float] = clocks.steady) -> None:
        self._most = most
        self._within = within.total_seconds()
        self._steady = steady
        self._failures: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=most))

    def wait(self, name: str) -> float:
        """Seconds until this name may try again; 0 if it may now."""
        failures = self._failures.get(name)
        if failures is None or len(failures) < self._most:
            return 0.0
        return max(0.0, failures[0] + self._within - self._steady())

    def failed(self, name: str) -> None:
        """It failed once more. Names whose failures are all old are forgotten."""
        now = self._steady()
        for other in [other for other, failures in self._failures.items() if failures[-1] + self._within <= now]:
            del self._failures[other]
        self._failures[name].append(now)

    def passed(self, name: str) -> None:
        """It is trusted again."""
        self._failures.pop(name, None)
