"""`counterfoil code`: leaked codes, many codes, files of codes."""

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
