"""`counterfoil code export` and `import`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_commands import one_line, school
from tests.support.commands import Said

__all__ = ["school"]

Run = Callable[..., Said]

GOOD = "code,cap,percent\nA-1,10,50\nB-2,none,25\n"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """A file of this text: its name."""

    def file(text: str) -> str:
        path = tmp_path / "codes.csv"
        path.write_text(text, "utf-8")
        return str(path)

    return file


def test_a_dry_run_shows_and_adds_nothing(school: Run, file: Callable[[str], str]) -> None:
    said = school("code", "import", file(GOOD), "--institution", "northfold", "--dry-run")
    assert said.code == 0
    assert "50 % off; 10 places in each academic year; once per buyer" in said.out
    assert said.out.endswith("2 would be added, 0 there already, 0 bad\n")
    assert len(school("code", "list", "--json").data) == 1


def test_added(school: Run, file: Callable[[str], str]) -> None:
    said = school("code", "import", file(GOOD), "--institution", "northfold", "--json")
    assert (said.code, said.data["done"], said.data["add"]) == (0, True, 2)
    assert [one["line"] for one in said.data["lines"]] == [2, 3]
    assert school("code", "show", "b2", "--json").data["cap"] is None
    again = school("code", "import", file(GOOD), "--institution", "northfold")
    assert again.out.endswith("0 added, 2 there already, 0 bad\n")


def test_a_bad_line_stops_all(school: Run, file: Callable[[str], str]) -> None:
    """Every fate is shown, with the line's number, and nothing is added; unless one says so."""
    name = file(GOOD + "C-3,,50\n")
    said = school("code", "import", name, "--institution", "northfold")
    assert said.code == 1
    assert "the cap is empty" in said.out
    assert said.err == ("counterfoil: 1 of 3 lines is bad, and nothing was added: mend the file, or give --skip-bad\n")
    assert len(school("code", "list", "--json").data) == 1
    assert school("code", "import", name, "--institution", "northfold", "--dry-run").code == 1
    said = school("code", "import", name, "--institution", "northfold", "--skip-bad")
    assert (said.code, said.out.endswith("2 added, 0 there already, 1 bad\n")) == (0, True)


def test_what_the_file_does_not_say_is_said_beside_it(school: Run, file: Callable[[str], str]) -> None:
    given = ("--cap", "7", "--amount-off", "500", "--currency", "gbp", "--calendar", "month", "--per-buyer", "none")
    assert school("code", "import", file("code\nA-1\n"), "--institution", "northfold", *given).code == 0
    made = school("code", "show", "A1", "--json").data
    assert (made["cap"], made["discount"], made["calendar"], made["per_buyer_limit"]) == (
        7, {"amount_off": 500, "currency": "gbp"}, "month", None
    )  # fmt: skip
    one_line(
        school("code", "import", file(GOOD), "--institution", "northfold", "--cap", "7"), 1, "the file has a column cap"
    )


def test_stripes_and_voucherifys(school: Run, file: Callable[[str], str]) -> None:
    text = "id,code,coupon.percent_off,max_redemptions,times_redeemed,active\npromo_1,S1,20,50,50,true\n"
    said = school("code", "import", file(text), "--institution", "northfold", "--json")
    assert (said.data["format"], said.data["done"]) == ("stripe", True)
    assert school("code", "show", "S1", "--json").data["cap"] == 0
    text = "Code,Voucher Type,Value,Discount Type,Redemption Limit\nV1,DISCOUNT_VOUCHER,500,AMOUNT,\n"
    given = ("--institution", "northfold", "--currency", "gbp", "--amounts", "minor", "--json")
    said = school("code", "import", file(text), *given)
    assert (said.data["format"], said.data["lines"][0]["why"]) == (
        "voucherify", "5.00 GBP off; no cap; once per buyer; the file has no limit for it"
    )  # fmt: skip


def test_what_is_no_table(school: Run, file: Callable[[str], str]) -> None:
    one_line(school("code", "import", file("nothing here\n"), "--institution", "northfold"), 1, "names the columns")
    one_line(school("code", "import", file(GOOD), "--institution", "nobody"), 1, "nobody")
    for wrong in ((file(GOOD),), ("missing.csv", "--institution", "northfold")):
        assert school("code", "import", *wrong).code == 2


def test_out_and_in_again(school: Run, file: Callable[[str], str], tmp_path: Path) -> None:
    school("code", "replace", "NORTH-26", "=SAFE-26")
    out = school("code", "export").out
    assert out.splitlines()[1].startswith("northfold,'=SAFE-26,2,50,")
    name = file(out)
    said = school("code", "import", name, "--institution", "northfold", "--json")
    assert (said.data["exists"], said.data["bad"]) == (1, 0)
    one_line(school("code", "export", "--institution", "nobody"), 1, "nobody")
    assert len(school("code", "export", "--institution", "northfold").out.splitlines()) == 2
