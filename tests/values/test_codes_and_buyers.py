"""When two codes, and two buyers, are the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.buyers import buyer_key, check_buyer
from counterfoil.codes import check_code, fold

TEXT = st.text(st.characters(exclude_categories=("Cs",)))


@pytest.mark.parametrize(
    "typed",
    [
        "NORTH-26",
        "north-26",
        " North 26 ",
        "NORTH–26",
        "NORTH—26",
        "ＮＯＲＴＨ－２６",
        "N0RTH_26",
        "no\u200brth\u00ad26",
        "n.o.r.t.h.2.6",
    ],
)
def test_what_people_type_finds_the_code(typed: str) -> None:
    assert fold(typed) == fold("NORTH-26") == "n0rth26"


@pytest.mark.parametrize(
    ("one", "other"), [("O0", "00"), ("I1", "11"), ("L1", "11"), ("l", "1"), ("ß", "SS"), ("ﬁ", "F1")]
)
def test_look_alikes_are_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("A1", "A2"), ("S5", "55"), ("B8", "88"), ("Z2", "22")])
def test_other_letters_are_not(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@settings(max_examples=1000)
@given(TEXT)
def test_folding_twice_is_folding_once(typed: str) -> None:
    assert fold(fold(typed)) == fold(typed)


@settings(max_examples=500)
@given(TEXT)
def test_case_never_matters_to_ascii(typed: str) -> None:
    assert fold(typed.encode("ascii", "ignore").decode().upper()) == fold(typed.encode("ascii", "ignore").decode())


@pytest.mark.parametrize("bad", ["", " ", "---", "\u200b", "a\0b", "a\nb", "a\ud800", "x" * 65])
def test_what_is_no_code_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="a code"):
        check_code(bad)


def test_the_stored_form_is_as_typed_without_outer_space() -> None:
    assert check_code("  North-26 ") == "North-26"
    assert check_code("x" * 64) == "x" * 64


@pytest.mark.parametrize(
    ("one", "other"), [("A@School.TEST", "a@school.test"), (" a@b.c ", "a@b.c"), ("É@x.y", "é@x.y")]
)
def test_addresses_are_compared_without_regard_to_case(one: str, other: str) -> None:
    assert buyer_key(one) == buyer_key(other)


def test_references_are_compared_as_they_are() -> None:
    assert buyer_key("User-7") != buyer_key("user-7")
    assert check_buyer(" User-7 ") == "User-7"


@settings(max_examples=500)
@given(TEXT)
def test_a_key_is_its_own_key(text: str) -> None:
    try:
        key = buyer_key(text)
        again = buyer_key(key)
    except ValueError:
        return
    assert again == key


@pytest.mark.parametrize("bad", ["", "   ", "x" * 256, "a\0@b", "a\ud800"])
def test_what_is_no_buyer_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="a buyer"):
        check_buyer(bad)
    assert check_buyer("x" * 255)
