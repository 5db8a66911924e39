"""Whoever failed too often waits."""

from datetime import timedelta

from counterfoil.service.throttle import Throttle


class Steady:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_so_many_failures_and_then_it_waits() -> None:
    steady = Steady()
    throttle = Throttle(3, timedelta(seconds=60), steady)
    for _ in range(3):
        assert throttle.wait("a") == 0
        throttle.failed("a")
        steady.now += 10
    assert throttle.wait("a") == 30
    assert throttle.wait("b") == 0
    steady.now += 30
    assert throttle.wait("a") == 0
    throttle.failed("a")
    # The two before are young still.
    assert throttle.wait("a") == 10


def test_who_passed_begins_anew() -> None:
    throttle = Throttle(1, timedelta(seconds=60), Steady())
    throttle.failed("a")
    assert throttle.wait("a") == 60
    throttle.passed("a")
    throttle.passed("nobody")
    assert throttle.wait("a") == 0


def test_old_names_are_forgotten() -> None:
    steady = Steady()
    throttle = Throttle(1, timedelta(seconds=60), steady)
    for number in range(100):
        throttle.failed(str(number))
    steady.now += 61
    throttle.failed("a")
    assert list(throttle._failures) == ["a"]
