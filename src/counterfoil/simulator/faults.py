"""Faults on demand: what the next calls run into."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any, Literal

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
    """What *times* calls that fit run into."""

    kind: Kind
    method: str = "*"
    path: str = "*"
    times: int = 1
    status: int = 500
    code: str | None = None
    message: str = "An unknown error occurred"
    type: str = "api_error"
    headers: dict[str, str] | None = None
    seconds: float = 1.0

    def fits(self, method: str, path: str) -> bool:
        """Whether a call runs into it."""
        return fnmatch.fnmatchcase(method, self.method) and fnmatch.fnmatchcase(path, self.path)

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
        """The first that fits, used up once."""
        for fault in self.waiting:
            if fault.fits(method, path):
                fault.times -= 1
                if fault.times <= 0:
                    self.waiting.remove(fault)
                return fault
        return None
