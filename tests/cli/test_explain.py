"""`counterfoil explain`: yes or no, why, and what to do."""

import pytest
from tests.cli.test_commands import Run
from tests.conftest import Clock


@pytest.fixture
def school(run: Run, clock: Clock) -> Run:
    run("institution", "add", "Northfold", "--zone", "Europe/London")
    run("code", "add", "NORTHFOLD-26", "--institution", "northfold", "--cap", "1", "--percent", "50")
    return run


def test_let_in(school: Run) -> None:
    said = school("explain", "northfold 26", "--buyer", "ada@northfold.test", "--json")
    assert said.code == 0
    assert (said.data["admitted"], said.data["outcome"], said.data["code"]) == (True, "free", "NORTHFOLD-26")
    assert (said.data["cap"], said.data["remaining"], said.data["buyer_limit"]) == (1, 1, 1)
    text = school("explain", "NORTHFOLD-26")
    assert text.code == 0
    assert text.out.startswith("let in\n  The buyer sees: Your place is held.")


def test_refused(school: Run) -> None:
    school("code", "pause", "NORTHFOLD-26")
    said = school("explain", "NORTHFOLD-26")
    assert said.code == 1
    assert said.out.startswith("refused: code-paused\n  The buyer sees: We do not recognise this code.")
    assert "`counterfoil code resume NORTHFOLD-26` lets buyers in again." in said.out


def test_a_code_that_is_none_is_explained_too(school: Run) -> None:
    said = school("explain", "NORTHFLOD-26", "--json")
    assert (said.code, said.data["code"], said.data["near"]) == (1, None, ["NORTHFOLD-26"])
    assert "Nearly so: NORTHFOLD-26." in school("explain", "NORTHFLOD-26").out
    assert school("explain", "NOTHING", "--json").data["near"] == []


def test_wrong_use(school: Run) -> None:
    assert school("explain").code == 2
    assert school("explain", "NORTHFOLD-26", "--buyer", "").code == 2
    nothing = school("explain", "NORTHFOLD-26", "--product", "none")
    assert (nothing.code, "There is no product 'none'" in nothing.err) == (1, True)
