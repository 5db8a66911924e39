"""Faults on demand: what the next calls run into."""

from __future__ import annotations

import fnmatch
import random
from dataclasses import dataclass
from typing import Any, Literal, get_args

#: - refuse: answer *status* and *body* without doing anything
#: - lost_before: the call never arrives: no answer, and nothing done
#: - lost_after: done, and the answer lost
#: - error_after: the answer is a 500, and it is kept under the key
#: - reset: the connection is cut
#: - slow: *seconds* of real time before it is done; the key is in use meanwhile
#: - drip: done, and the answer takes *seconds*, a byte at a time: no time-out between two bytes ever runs out
Kind = Literal["refuse", "lost_before", "lost_after", "error_after", "reset", "slow", "drip"]


@dataclass
class Fault:
    """
    What calls that fit run into.

    Attributes:
        method, path: Patterns of what fits, as a shell writes them: ``/v1/checkout/sessions/*``.
        after: So many calls that fit go through first: 2 makes it the third.
        times: How many run into it; 0 for all from then on.
        probability: Of each; drawn from *seed*, so that a run can be had again.
        seconds: For slow and drip.
    """

    kind: Kind
    method: str = "*"
    path: str = "*"
    times: int = 1
    after: int = 0
    probability: float = 1.0
    seed: int = 0
    status: int = 500
    code: str | None = None
    message: str = "An unknown error occurred"
    type: str = "api_error"
    headers: dict[str, str] | None = None
    seconds: float = 1.0

    def __post_init__(self) -> None:
        """
        Begin its own draw of lots.

        Raises:
            ValueError: It is no fault that could happen.
        """
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind is one of {', '.join(get_args(Kind))}")
        if not 0 <= self.probability <= 1 or self.times < 0 or self.after < 0 or self.seconds < 0:
            raise ValueError("probability is from 0 to 1; times, after and seconds are 0 or more")
        self._lots = random.Random(self.seed)  # noqa: S311 (to be had again, not to be secret)

    def fits(self, method: str, path: str) -> bool:
        """Whether a call is one of those."""
        return fnmatch.fnmatchcase(method, self.method) and fnmatch.fnmatchcase(path, self.path)

    def strikes(self) -> bool:
        """Whether a call that fits runs into it."""
        if self.after > 0:
            self.after -= 1
            return False
        return self.probability >= 1 or self._lots.random() < self.probability

    def body(self) -> dict[str, Any]:
        """The error that it answers with."""
        error = {"type": self.type, "message": self.message}
        return {"error": error | ({"code": self.code} if self.code else {})}


class Faults:
    """Those that are waiting for a call."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Wait for a call that fits."""
        self.waiting.append(fault)

    def clear(self) -> None:
        """No more faults."""
        self.waiting.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The first that strikes, used up once."""
        for fault in self.waiting:
            if fault.fits(method, path) and fault.strikes():
                if fault.times == 1:
                    self.waiting.remove(fault)
                elif fault.times > 1:
                    fault.times -= 1
                return fault
        return None
