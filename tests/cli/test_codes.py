"""`counterfoil code`: leaked codes, many codes, files of codes."""

import re
from collections.abc import Callable

import pytest
from tests.cli.test_commands import one_line, school
from tests.support.commands import Said

__all__ = ["school"]

Run = Callable[..., Said]


class TestReplace:
    def test_replaced(self, school: Run) -> None:
        said = school("code", "replace", "north 26", "SAFE-26")
        assert (said.code, said.err) == (0, "")
        assert said.out == "NORTH-26 is stopped for good; SAFE-26 works in its place, and counts on where it stood\n"
        assert school("code", "show", "NORTH-26", "--json").data["replaced_by"] == "SAFE-26"

    def test_as_json(self, school: Run) -> None:
        assert school("code", "replace", "NORTH-26", "SAFE-26", "--json").data["code"] == "SAFE-26"

    def test_what_is_not_fine(self, school: Run) -> None:
        one_line(school("code", "replace", "NOBODYS", "SAFE"), 1, "NOBODYS")
        one_line(school("code", "replace", "NORTH-26", "n0rth 26"), 1, "reads the same")
        school("code", "replace", "NORTH-26", "SAFE-26")
        one_line(school("code", "replace", "NORTH-26", "OTHER"), 1, "SAFE-26")
        for name in ("pause", "resume"):
            one_line(school("code", name, "NORTH-26"), 1, "was replaced by SAFE-26")

    @pytest.mark.parametrize("arguments", [("NORTH-26",), ("NORTH-26", "--"), ("NORTH-26", "!!"), ()])
    def test_wrong_use(self, school: Run, arguments: tuple[str, ...]) -> None:
        said = school("code", "replace", *arguments)
        assert (said.code, said.out) == (2, "")


class TestBulk:
    GIVEN = ("code", "bulk", "--institution", "northfold", "--cap", "1", "--percent", "20", "--prefix", "NORTH")

    def test_one_on_each_line(self, school: Run) -> None:
        """So that it can be led into a file; how hard they are to guess stands beside it."""
        said = school(*self.GIVEN, "--count", "3", "--per-buyer", "none", "--counts-with", "NORTH-26")
        lines = said.out.splitlines()
        assert (said.code, len(lines)) == (0, 3)
        assert re.fullmatch(r"3 made: whoever guesses hits one with one try in 1,\d{3},\d{3},\d{3}\n", said.err)
        for line in lines:
            made = school("code", "show", line, "--json").data
            assert (made["cap"], made["discount"], made["per_buyer_limit"]) == (1, {"percent": 20}, None)
            assert made["counts_with"] == "NORTH-26"

    def test_as_json(self, school: Run) -> None:
        made = school(*self.GIVEN, "--count", "2", "--pattern", "XXX-XXX", "--json").data
        assert (made["count"], made["pattern"], made["one_in"] > 1_000_000) == (2, "XXX-XXX", True)
        assert len(made["codes"]) == 2

    def test_what_could_be_guessed(self, school: Run) -> None:
        one_line(school(*self.GIVEN, "--count", "3", "--pattern", "XXXX"), 1, "one try in", "pattern XXXX-XX would do")
        assert len(school("code", "list", "--json").data) == 1

    @pytest.mark.parametrize(
        "more",
        [
            (), ("--count", "0"), ("--count", "5001"), ("--count", "x"), ("--count", "1", "--pattern", "AB"),
            ("--count", "1", "--amount-off", "5"), ("--count", "1", "--per-buyer", "0"),
        ],
    )  # fmt: skip
    def test_wrong_use(self, school: Run, more: tuple[str, ...]) -> None:
        said = school(*self.GIVEN, *more)
        assert (said.code, said.out) == (2, "")
        assert len(school("code", "list", "--json").data) == 1


@pytest.mark.parametrize(
    "typed", ["n0rth 26", "“NORTH-26.”", "ＮＯＲＴＨ－２６", "NORTH-\n26", "\tNORTH\u200b-26", "**north–26**"]
)
def test_however_it_is_typed(school: Run, typed: str) -> None:
    """Every command that takes a code."""
    period = school("code", "show", typed, "--json").data["period"]
    assert school("usage", typed, "--json").data["code"] == "NORTH-26"
    for name in ("pause", "resume"):
        assert school("code", name, typed).code == 0
    assert school("cap", "set", typed, period, "9", "--json").data["cap"] == 9
    given = ("--institution", "northfold", "--cap", "1", "--percent", "5", "--counts-with", typed, "--json")
    assert school("code", "add", "BESIDE", *given).data["counts_with"] == "NORTH-26"
    assert school("code", "bulk", "--count", "1", *given).code == 0
    assert school("code", "replace", typed, "NEW-1").code == 0


def test_brackets_are_shown_as_they_are(school: Run) -> None:
    given = ("--institution", "northfold", "--cap", "1", "--percent", "5")
    assert "[red]A[/x]" in school("code", "add", "[red]A[/x]", *given).out
