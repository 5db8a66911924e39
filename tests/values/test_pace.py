"""The line before Stripe: in order, no faster than the rate, and the rate is learned. No time passes but by hand."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import pairwise

import pytest

from counterfoil.pace import Pace, Turn


class Line:
    """A line, the clock it goes by, and who stands in it."""

    def __init__(self, most: float = 25.0, longest_wait: float = 20.0) -> None:
        self.now = 1000.0
        self.pace = Pace(most, timedelta(seconds=longest_wait), clock=lambda: self.now)
        self.stack = ExitStack()

    def come(self) -> Turn:
        """One more arrives."""
        return self.stack.enter_context(self.pace.coming())

    def come_and_line_up(self) -> Turn:
        """One more arrives, and is in line."""
        turn = self.come()
        turn.line_up(object())
        return turn

    def serve(self, turns: list[Turn]) -> Iterator[tuple[float, Turn]]:
        """Who goes when, with the clock moved to the next whose turn it is."""
        waiting = list(turns)
        while waiting:
            left = [(turn.left(), turn) for turn in waiting]
            ready = [turn for seconds, turn in left if seconds == 0]
            for turn in ready:
                waiting.remove(turn)
                yield self.now, turn
            if not ready:
                self.now += min(seconds for seconds, _ in left)


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    with line.stack:
        yield line


def test_who_comes_alone_does_not_wait(line: Line) -> None:
    for _ in range(3):
        assert line.come_and_line_up().left() == 0
        line.now += 60


def test_idle_time_saves_up_no_rush(line: Line) -> None:
    line.now += 3600
    assert line.come_and_line_up().left() == 0
    assert line.come_and_line_up().left() == pytest.approx(1 / 25)


def test_in_order_and_never_above_the_rate(line: Line) -> None:
    turns = [line.come_and_line_up() for _ in range(200)]
    went = list(line.serve(turns))
    assert [turn for _, turn in went] == turns
    assert all(later - sooner >= 1 / 25 - 1e-6 for (sooner, _), (later, _) in pairwise(went))
    assert line.now - 1000 == pytest.approx(199 / 25)


def test_who_leaves_costs_a_moment_and_stops_nobody(line: Line) -> None:
    turns = [line.come_and_line_up() for _ in range(10)]
    stay = turns[:4] + turns[5:]
    assert [turn for _, turn in line.serve(stay)] == stay


def test_who_sleeps_too_long_stops_nobody(line: Line) -> None:
    first, sleeper, last = (line.come_and_line_up() for _ in range(3))
    assert first.left() == 0
    line.now += 2 / 25
    assert last.left() == 0
    line.now += 60
    assert sleeper.left() == 0


def test_a_full_line_is_known_on_arrival(line: Line) -> None:
    """500 at 25 a second are 20 s: who is on the way counts as well as who stands in line."""
    turns = [line.come() for _ in range(501)]
    assert not any(turn.crowded for turn in turns)
    late = line.come()
    assert late.crowded
    assert late.expected == pytest.approx(20.04)
    assert line.pace.waiting == 0
    assert line.pace.wait == pytest.approx(20.04)
    for turn in turns[:100]:
        turn.line_up(object())
    assert line.pace.waiting == 99
    assert line.come().crowded


def test_who_was_refused_a_place_leaves_room() -> None:
    line = Line()
    for _ in range(2000):
        with line.pace.coming() as turn:
            assert not turn.crowded
    assert line.pace.wait == 0


def test_a_429_halves_the_rate_and_the_refused_goes_first_again(line: Line) -> None:
    turns = [line.come_and_line_up() for _ in range(5)]
    assert turns[0].left() == 0
    assert turns[0].refused()
    assert line.pace.rate == 12.5
    assert turns[0].left() == pytest.approx(1 / 12.5)
    assert [turn for _, turn in line.serve(turns)] == turns


def test_calls_that_were_under_way_halve_it_once(line: Line) -> None:
    turns = [line.come_and_line_up() for _ in range(4)]
    list(line.serve(turns))
    line.now += 0.5
    for turn in turns:
        assert turn.refused()
    assert line.pace.rate == 12.5
    assert [turn for _, turn in line.serve(turns)] == turns


def test_it_backs_off_further_each_time_and_gives_up_after_the_longest_wait(line: Line) -> None:
    turn = line.come_and_line_up()
    assert turn.left() == 0
    waits = []
    while turn.refused():
        waits.append(turn.left())
        line.now += waits[-1]
        assert turn.left() == 0
    assert waits[:6] == pytest.approx([0.08, 0.16, 0.32, 0.64, 1, 1])
    assert sum(waits) >= 20
    assert line.pace.rate == 1


def test_the_rate_creeps_back_by_one_a_second_in_a_second(line: Line) -> None:
    turn = line.come_and_line_up()
    assert turn.left() == 0
    turn.refused()
    for _, served in line.serve([turn, *(line.come_and_line_up() for _ in range(400))]):
        served.served()
        if line.pace.rate == 25:
            break
    assert line.pace.rate == 25
    assert line.now - 1000 == pytest.approx(12.5, abs=1)


def test_a_rate_below_one_a_second_stays_what_it_is() -> None:
    line = Line(most=0.5)
    turn = line.come_and_line_up()
    assert turn.left() == 0
    assert turn.refused()
    assert line.pace.rate == 0.5


def test_a_second_call_is_a_second_number(line: Line) -> None:
    turn = line.come_and_line_up()
    assert turn.left() == 0
    other = line.come_and_line_up()
    turn.line_up(object())
    assert turn.left() == pytest.approx(2 / 25)
    assert other.left() == pytest.approx(1 / 25)


def test_a_late_429_costs_the_line_one_turn(line: Line) -> None:
    """The answer took ten seconds, and others were served meanwhile: they are not waited for once more."""
    late, *others = (line.come_and_line_up() for _ in range(300))
    assert late.left() == 0
    served = line.serve(others)
    for _ in range(250):
        next(served)
    assert line.pace.waiting == 49
    assert late.refused()
    assert line.pace.waiting == 50
    assert late.left() == pytest.approx(1 / 12.5)
    assert others[250].left() == pytest.approx(2 / 12.5)
    assert line.pace.wait == pytest.approx(51 / 12.5)


def test_who_leaves_is_forgotten(line: Line) -> None:
    first = line.come_and_line_up()
    with line.pace.coming() as second:
        second.line_up("a checkout")
        third = line.come_and_line_up()
        assert first.left() == 0
        assert third.left() == pytest.approx(2 / 25)
    assert third.left() == pytest.approx(1 / 25)


def test_a_standstill_lets_no_more_go_than_a_second_does(line: Line) -> None:
    turns = [line.come_and_line_up() for _ in range(200)]
    line.now += 60
    assert sum(turn.left() == 0 for turn in turns) == 25


def test_whose_page_is_being_made_is_known(line: Line) -> None:
    first = line.come_and_line_up()
    with line.pace.coming() as turn:
        turn.line_up("a checkout")
        assert first.left() == 0
        assert line.pace.left_for("a checkout") == pytest.approx(1 / 25)
        line.now += 1
        assert turn.left() == 0
        assert line.pace.left_for("a checkout") == 0
    assert line.pace.left_for("a checkout") is None


def test_what_somebody_asks_about_is_asked_once(line: Line) -> None:
    with line.pace.asking(["a", "b"]) as mine, line.pace.asking(["b", "c"]) as others:
        assert (mine, others) == ({"a", "b"}, {"c"})
        assert line.pace.is_asked_about(["b"])
    assert not line.pace.is_asked_about(["a", "b", "c"])
