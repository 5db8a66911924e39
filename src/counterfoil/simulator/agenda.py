"""What is to happen, and when: named, so that it can be written down and go on after a restart."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from counterfoil.simulator.clock import Clock

Entry = tuple[float, int, str, tuple[Any, ...]]


@dataclass
class Agenda:
    """
    Things that fall due on one clock.

    Attributes:
        doers: What each name of a thing does.
    """

    clock: Clock
    doers: dict[str, Callable[..., object]] = field(default_factory=dict)
    _entries: list[Entry] = field(default_factory=list)
    _count: int = 0

    def after(self, seconds: float, what: str, *about: Any) -> None:
        """Let a thing happen so many seconds from now."""
        self.at(self.clock.seconds() + seconds, what, *about)

    def at(self, when: float, what: str, *about: Any) -> None:
        """Let a thing happen when the clock gets there; what is due at the same moment, in the order it was said."""
        self._count += 1
        heapq.heappush(self._entries, (when, self._count, what, about))

    def next(self) -> float | None:
        """When something happens next."""
        return self._entries[0][0] if self._entries else None

    def catch_up(self) -> None:
        """Let everything happen that is due by now, in its order."""
        while self._entries and self._entries[0][0] <= self.clock.seconds():
            _, _, what, about = heapq.heappop(self._entries)
            self.doers[what](*about)

    def clear(self) -> None:
        """Nothing is to happen any more."""
        self._entries.clear()

    def saved(self) -> list[Entry]:
        """All of it, as data."""
        return sorted(self._entries)

    def restore(self, entries: list[Any]) -> None:
        """What was saved."""
        self._entries = [(when, count, what, tuple(about)) for when, count, what, about in entries]
        heapq.heapify(self._entries)
        self._count = max((entry[1] for entry in self._entries), default=0)
