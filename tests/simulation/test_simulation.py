"""Stories of faults break nothing; and where a guard is taken out, they break something, and say it shortly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from counterfoil import embedded
from tests.simulation.ground import Ground
from tests.simulation.running import Failure, run, search, shortened
from tests.simulation.shrink import shortest
from tests.simulation.story import Move, Setting, Story, drawn


@pytest.fixture(scope="module")
def ground(server: embedded.Server) -> Iterator[Ground]:
    with psycopg.connect(server.url, autocommit=True) as connection:
        yield Ground(connection)
        connection.execute("DROP SCHEMA simulation CASCADE")


@pytest.mark.timeout(600)
def test_three_hundred_stories_break_nothing(ground: Ground) -> None:
    assert [str(failure) for _, failure in search(ground, range(1, 301)) if failure] == []


@pytest.mark.deep
@pytest.mark.timeout(4 * 60 * 60)
def test_ten_thousand_stories_break_nothing(ground: Ground) -> None:
    for seed, failure in search(ground, range(1, 10_001)):
        assert failure is None, f"seed {seed}\n{shortened(ground, failure)}"


def test_the_same_story_is_the_same_run(ground: Ground) -> None:
    first, second = (told(ground, drawn(11)) for _ in range(2))
    assert len(first) > 100
    assert first == second


def told(ground: Ground, story: Story) -> list[Any]:
    """What was said in a run: without ids, which nobody draws."""
    broken = Failure(story, "", [])
    run(ground, story, broken.said)
    said = [line for line in broken.said if "redemption " not in line]
    return [re.sub(r"\b(cs_test|pi|ch|re|du|dp|evt)_\w+", r"\1", line) for line in said]


@pytest.mark.parametrize("guard", ["the-gate", "ask-before-re-letting", "completed-once"])
@pytest.mark.timeout(300)
def test_without_a_guard_something_breaks(ground: Ground, guard: str) -> None:
    with ground.without(guard):
        failure = next((found for _, found in search(ground, range(1, 200)) if found), None)
        assert failure, f"nobody missed {guard}"
        short = shortened(ground, failure, most=150)
    assert len(short.story.moves) < 12
    assert run(ground, short.story) is None, "with the guard, the same story ends well"


def test_the_shortest_story_is_found() -> None:
    """Two moves that belong together, among seventy: nothing else is left, and the numbers are as low as may be."""

    def fails(story: Story) -> bool:
        return any(move.kind == "open" and move.who > 3 for move in story.moves) and any(
            move.kind == "pay" for move in story.moves
        )

    story = next(story for story in map(drawn, range(100)) if fails(story))
    assert shortest(story, fails) == Story(Setting(), (Move("open", 4), Move("pay"))) or shortest(
        story, fails
    ) == Story(Setting(), (Move("pay"), Move("open", 4)))
