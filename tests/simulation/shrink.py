"""The shortest story that still fails: by leaving out moves, ever fewer at a time, and by lowering numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from tests.simulation.story import Story


def shortest(story: Story, fails: Callable[[Story], bool], most: int = 600) -> Story:
    """The shortest failing story that was found in at most so many runs. *story* itself fails."""
    tried = 0
    again = True
    while again:
        again = False
        for shorter in _shorter(story):
            tried += 1
            if tried > most:
                return story
            if fails(shorter):
                story, again = shorter, True
                break
    return story


def _shorter(story: Story) -> Iterator[Story]:
    moves = story.moves
    size = len(moves) // 2
    while size:
        for at in range(0, len(moves), size):
            yield replace(story, moves=moves[:at] + moves[at + size :])
        size //= 2
    for name, value in asdict(story.setting).items():
        if value:
            yield replace(story, setting=replace(story.setting, **{name: 0}))
    for at, move in enumerate(moves):
        for field in ("who", "what", "how"):
            value = getattr(move, field)
            for lower in dict.fromkeys((0, value // 2, value - 1)):
                if 0 <= lower < value:
                    yield replace(story, moves=(*moves[:at], move._replace(**{field: lower}), *moves[at + 1 :]))
