"""
The line before Stripe: sessions are created in order of arrival, and no faster than Stripe takes them.

Whoever lines up is given a number, and the clock lets so many go as the rate says, the lowest numbers first. It goes by
the clock and not by whoever went before: one who sleeps a little too long stops nobody, and who leaves is forgotten.

The rate is learned. A 429 halves it, and who was refused stands at their old place again, which is before all who have
not gone yet; each session that is made brings it back up, by one more a second in a second.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from counterfoil import clocks

#: Stripe's limit for one endpoint (docs.stripe.com/rate-limits): calls a second.
STRIPE_RATE = 25.0
#: In whole seconds a person still waits for a page.
LONGEST_WAIT = timedelta(seconds=20)
#: However often Stripe refuses: calls a second.
_SLOWEST = 1.0
#: Seconds: sums of fractions are not exact.
_NOTHING = 1e-6


class Pace:
    """
    One line, of one process. Safe to share between threads.

    Several processes that share one Stripe account each have a line of their own: give each its part of the rate. Where
    they do not know of each other, the 429s teach them.
    """

    def __init__(
        self,
        most: float = STRIPE_RATE,
        longest_wait: timedelta = LONGEST_WAIT,
        clock: Callable[[], float] = clocks.steady,
    ) -> None:
        """*most* sessions a second; who would wait for more than *longest_wait* finds the line full."""
        self.most = most
        self.longest_wait = longest_wait.total_seconds()
        self._clock = clock
        self._lock = threading.Lock()
        self._rate = most
        self._slowed_at = -math.inf
        self._coming = 0
        self._given = 0
        #: Numbers that have not gone yet, the lowest first.
        self._waiting: list[int] = []
        #: How many of them may go. A fraction is the next one's way here.
        self._free = 1.0
        self._turns: dict[Hashable, Turn] = {}
        self._asked_about: set[str] = set()
        self._looked_at = clock()

    @property
    def rate(self) -> float:
        """Sessions a second, as learned."""
        return self._rate

    @property
    def waiting(self) -> int:
        """How many must wait still."""
        with self._lock:
            self._look()
            return max(0, len(self._waiting) - max(0, int(self._free)))

    @property
    def wait(self) -> float:
        """Seconds that the next to come would wait."""
        with self._lock:
            self._look()
            return self._expected()

    @contextmanager
    def coming(self) -> Iterator[Turn]:
        """A turn, from the moment its buyer arrives: who is on the way counts before the line is reached."""
        with self._lock:
            self._look()
            turn = Turn(self, self._expected())
            self._coming += not turn.crowded
            turn._coming = not turn.crowded
        try:
            yield turn
        finally:
            with self._lock:
                self._arrived(turn)
                self._leave(turn)

    def left_for(self, checkout: Hashable) -> float | None:
        """Seconds until a checkout's page is made, at the least; None if nobody of this process makes it."""
        with self._lock:
            self._look()
            turn = self._turns.get(checkout)
            return None if turn is None else self._seconds(turn)

    @contextmanager
    def asking(self, sessions: Iterable[str]) -> Iterator[frozenset[str]]:
        """Ask Stripe about sessions: those that nobody else of this process asks about, until the block ends."""
        with self._lock:
            mine = frozenset(sessions) - self._asked_about
            self._asked_about |= mine
        try:
            yield mine
        finally:
            with self._lock:
                self._asked_about -= mine

    def is_asked_about(self, sessions: Iterable[str]) -> bool:
        """Whether somebody of this process asks about one of these now."""
        with self._lock:
            return not self._asked_about.isdisjoint(sessions)

    def _line_up(self, turn: Turn, checkout: Hashable) -> None:
        with self._lock:
            self._look()
            self._arrived(turn)
            if turn._number is None or turn._went_at is not None:
                self._given += 1
                turn._number, turn._went_at = self._given, None
                self._waiting.append(self._given)
            if turn._checkout is None and self._turns.setdefault(checkout, turn) is turn:
                turn._checkout = checkout

    def _left(self, turn: Turn) -> float:
        with self._lock:
            now = self._look()
            left = self._seconds(turn)
            if left == 0 and turn._number is not None and turn._went_at is None:
                self._waiting.remove(turn._number)
                self._free -= 1
                turn._went_at = now
                if turn._first_went_at is None:
                    turn._first_went_at = now
            return left

    def _seconds(self, turn: Turn) -> float:
        if turn._number is None or turn._went_at is not None:
            return 0.0
        left = (bisect_left(self._waiting, turn._number) + 1 - self._free) / self._rate
        return left if left > _NOTHING else 0.0

    def _served(self, turn: Turn) -> None:
        with self._lock:
            self._look()
            if self._is_news(turn):
                self._rate = min(self.most, self._rate + 1 / self._rate)

    def _refused(self, turn: Turn) -> bool:
        with self._lock:
            now = self._look()
            if self._is_news(turn):
                self._rate = max(min(_SLOWEST, self.most), self._rate / 2)
                self._slowed_at = now
            if turn._number is not None and turn._went_at is not None:
                insort(self._waiting, turn._number)
                turn._went_at = None
            # All wait from now on, at the new rate; what was served meanwhile is not waited for once more.
            self._free = min(self._free, 0.0)
            return turn._first_went_at is None or now - turn._first_went_at < self.longest_wait

    def _is_news(self, turn: Turn) -> bool:
        """Calls that were under way when the rate was last lowered say nothing about the rate as it is."""
        return turn._went_at is not None and turn._went_at >= self._slowed_at

    def _arrived(self, turn: Turn) -> None:
        if turn._coming:
            turn._coming = False
            self._coming -= 1

    def _leave(self, turn: Turn) -> None:
        if turn._number is not None and turn._went_at is None:
            self._waiting.remove(turn._number)
        if turn._checkout is not None:
            del self._turns[turn._checkout]

    def _expected(self) -> float:
        return max(0.0, (len(self._waiting) + self._coming + 1 - self._free) / self._rate)

    def _look(self) -> float:
        """
        Let those go whose time has come. With nobody in line only the next is ready: idle time is lost. And after a
        standstill of this machine no more go at once than in a second.
        """
        now = self._clock()
        most = min(len(self._waiting) + 1.0, max(1.0, self._rate))
        self._free = min(self._free + (now - self._looked_at) * self._rate, max(most, self._free))
        self._looked_at = now
        return now


class Turn:
    """
    One buyer's: on the way, then in line, then at Stripe.

    Attributes:
        crowded: The line was full when its buyer came. Whoever holds a place already may still line up.
        expected: Seconds of waiting, as it looked then.
    """

    def __init__(self, pace: Pace, expected: float) -> None:
        self._pace = pace
        self.expected = expected
        self.crowded = expected > pace.longest_wait
        self._coming = False
        self._number: int | None = None
        self._checkout: Hashable = None
        self._went_at: float | None = None
        self._first_went_at: float | None = None

    def line_up(self, checkout: Hashable) -> None:
        """Take a number to make this checkout's page: for each call another, but the same again after a 429."""
        self._pace._line_up(self, checkout)

    def left(self) -> float:
        """Seconds until the call may be made; 0.0 is now."""
        return self._pace._left(self)

    def served(self) -> None:
        """The call was made."""
        self._pace._served(self)

    def refused(self) -> bool:
        """Stripe answered 429: whether to wait for the same number again, or to give up after the longest wait."""
        return self._pace._refused(self)
