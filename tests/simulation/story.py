"""
A story: a setting and some moves, as numbers that a seed draws.

Each move is drawn for itself, and finds out what it is about when it is told (the second page of the third buyer, if
there is one). So a story may lose any of its moves and still be a story, which is what makes it easy to shorten.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

#: What can happen, and how often it is drawn.
KINDS = {
    "move the clock": 14,
    "open": 26,
    "go on": 30,
    "pay": 16,
    "deliver": 26,
    "drop": 3,
    "lose the post": 1,
    "cancel": 5,
    "release": 3,
    "return to the shop": 2,
    "answer the bank": 3,
    "refund": 4,
    "decide a dispute": 2,
    "give a place back": 2,
    "kill a process": 2,
    "let a clock jump": 2,
    "take Stripe down": 2,
    "change the code": 2,
    "reconcile": 1,
}


class Move(NamedTuple):
    """One thing that happens; what the three numbers mean, each kind of move says. Zero is the plainest."""

    kind: str
    who: int = 0
    what: int = 0
    how: int = 0


@dataclass(frozen=True)
class Setting:
    """What holds for a whole run; zero is the plainest. What each number means, the world says."""

    cap: int = 0
    policy: int = 0
    late: int = 0
    thin: int = 0
    year: int = 0
    free: int = 0


@dataclass(frozen=True)
class Story:
    """All that is drawn of a run: the same story is the same run."""

    setting: Setting
    moves: tuple[Move, ...]


def drawn(seed: int, length: int = 70) -> Story:
    """The story of a seed."""
    lots = random.Random(seed)
    rarely = [0, 0, 0, 1]
    setting = Setting(
        cap=lots.randrange(3),
        policy=lots.randrange(3),
        late=lots.choice(rarely),
        thin=lots.randrange(2),
        year=lots.choice(rarely),
        free=lots.randrange(3),
    )
    kinds = lots.choices(list(KINDS), list(KINDS.values()), k=length)
    return Story(setting, tuple(Move(kind, *(_number(lots) for _ in range(3))) for kind in kinds))


def _number(lots: random.Random) -> int:
    """Often nought, mostly small."""
    return 0 if lots.random() < 0.4 else lots.randrange(1, 12)
