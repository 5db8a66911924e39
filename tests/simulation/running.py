"""Run a story: what broke, if anything did, in lines that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.simulation.ground import Ground
from tests.simulation.resting import check, come_to_rest
from tests.simulation.shrink import shortest
from tests.simulation.story import Story, drawn
from tests.simulation.world import World


@dataclass(frozen=True)
class Failure:
    """What broke, in which story, and all that happened in it."""

    story: Story
    why: str
    said: list[str]

    def __str__(self) -> str:
        moves = [f"    {tuple(move)}" for move in self.story.moves]
        return "\n".join([self.why, "", *self.said, "", f"  {self.story.setting}", *moves])


def run(ground: Ground, story: Story, said: list[str] | None = None) -> Failure | None:
    """
    Tell a story to its end; what happens goes into *said*. What is raised on the way is broken, but for the refusals
    there are and the faults we made.
    """
    world = World(ground, story.setting, said if said is not None else [])
    try:
        for move in story.moves:
            world.make(move)
        come_to_rest(world)
        check(world)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what we look for)
        return Failure(story, f"{type(error).__name__}: {error}", world.said)
    return None


def search(ground: Ground, seeds: Iterable[int]) -> Iterator[tuple[int, Failure | None]]:
    """Run the story of each seed."""
    for seed in seeds:
        yield seed, run(ground, drawn(seed))


def shortened(ground: Ground, failure: Failure, most: int = 600) -> Failure:
    """The same failure in the shortest story that was found; the same, but for numbers and ids."""

    def fails(story: Story) -> bool:
        found = run(ground, story)
        return found is not None and _kind(found) == _kind(failure)

    return run(ground, shortest(failure.story, fails, most)) or failure


def _kind(failure: Failure) -> str:
    return re.sub(r"[0-9a-f-]{36}|\d+|\bsessions?\b|, ", "", failure.why)
