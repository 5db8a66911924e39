"""Codes made at random: out of what, how many there are, and how hard they are to guess."""

import itertools
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.codes import fold
from counterfoil.patterns import ALPHABET, HARD_ENOUGH, UNWANTED, Form


def test_no_character_is_taken_for_another() -> None:
    """Neither when codes are compared, nor by an eye: of what looks alike there is at most one."""
    assert len({fold(one) for one in ALPHABET}) == len(ALPHABET)
    for alike in ("0OQ", "1IL", "2Z", "5S", "8B", "UV", "6G", "9Q", "3E", "4A"):
        assert sum(one in ALPHABET for one in alike) <= 1, alike
    assert not set("AEIOUY34") & set(ALPHABET)


@pytest.mark.parametrize("prefix", ["", "NORTH", "F-", "FC", "wt", "66-", "ÅSÖ"])
@pytest.mark.parametrize("pattern", ["X", "X-X", "XXX"])
def test_the_space_is_what_can_be_drawn(prefix: str, pattern: str) -> None:
    """Counted by trying each of them."""
    form = Form(prefix, pattern)
    fitting = 0
    for letters in itertools.product(ALPHABET.lower(), repeat=form.random):
        end = form.folded[-2:] + "".join(letters)
        fitting += not any(unwanted in end for unwanted in UNWANTED)
    assert form.space == fitting


def test_all_that_can_be_drawn_is_drawn() -> None:
    form = Form("N", "X-X")
    assert len(set(form.draw(form.space))) == form.space == len(ALPHABET) ** 2


def test_each_is_as_likely_as_any_other() -> None:
    """A thousand draws of one character: none is three times as frequent as it should be, nor a third."""
    found = Counter(Form("", "X").draw(1)[0] for _ in range(1600))
    assert set(found) == set(ALPHABET)
    assert all(33 < number < 300 for number in found.values())


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["", "NORTH", "FC", "K-", "6"]), st.sampled_from(["XXXX", "XX-XX", "XXXXXXXX"]))
def test_none_has_what_is_unwanted(prefix: str, pattern: str) -> None:
    for code in Form(prefix, pattern).draw(20):
        assert not any(unwanted in fold(code) for unwanted in UNWANTED)
        assert fold(code).startswith(fold(prefix))
        assert len(code) == len(Form(prefix, pattern).begin) + len(pattern)


def test_the_form_is_what_the_database_looks_for() -> None:
    form = Form("North.", "XX-XX")
    for code in form.draw(50):
        assert re.search(form.as_regex, fold(code))
    assert not re.search(form.as_regex, fold("NORTH-CDFO"))


@pytest.mark.parametrize(
    ("prefix", "begin"), [("", ""), ("NORTH", "NORTH-"), ("NORTH-", "NORTH-"), ("N.", "N."), ("26", "26-")]
)
def test_a_dash_after_the_prefix(prefix: str, begin: str) -> None:
    assert Form(prefix, "XX").draw(1)[0].startswith(begin)


@pytest.mark.parametrize(
    ("prefix", "pattern"),
    [
        ("", ""), ("", "-"), ("", "X-"), ("", "-X"), ("", "X--X"), ("", "x"), ("", "XYX"), ("", "X" * 25),
        ("", "X" * 10000), ("N" * 64, "X"), (" N", "X"), ("N\n", "X"), ("N\0N", "X"), ("a\ud800", "X"),
    ],
)  # fmt: skip
def test_what_is_no_form(prefix: str, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|prefix|code"):
        Form(prefix, pattern)


@pytest.mark.parametrize("codes", [1, 2, 16, 4000, 5000, 10_000, 1_000_000])
@pytest.mark.parametrize("pattern", ["X", "XXXX", "XXXX-XXXX", "XXXX-XXXX-XXXX-XXXX"])
def test_what_would_do(codes: int, pattern: str) -> None:
    """What is hard to guess stays; else the shortest that is."""
    form = Form("NORTH", pattern)
    will_do = form.hard_enough(codes)
    assert will_do.one_in(codes) >= HARD_ENOUGH
    if form.one_in(codes) >= HARD_ENOUGH:
        assert will_do == form
    else:
        assert Form("NORTH", "X" * (will_do.random - 1)).one_in(codes) < HARD_ENOUGH


def test_what_would_do_is_found_where_the_prefix_leaves_no_room() -> None:
    assert Form("N" * 58, "XXXXX").hard_enough(3).pattern == "XXXX-XX"
