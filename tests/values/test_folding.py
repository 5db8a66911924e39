"""When two codes are the same: as people type them, as it is published, and for ever."""

import hashlib
import re
from pathlib import Path

import pytest
from tests.support.typed import OTHERS, TYPED

from counterfoil.codes import LONGEST_TYPED, check_typed, fold

REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference" / "codes.md"


def test_there_are_two_hundred() -> None:
    """None twice: a case that is there already tells nothing."""
    assert len({typed for typed, _ in TYPED}) == len(TYPED) >= 200


@pytest.mark.parametrize(("typed", "compared"), TYPED, ids=[f"{at}-{to}" for at, (_, to) in enumerate(TYPED)])
def test_what_people_type_finds_the_code(typed: str, compared: str) -> None:
    assert fold(typed) == compared
    assert check_typed(typed) == typed


@pytest.mark.parametrize(("one", "other"), OTHERS, ids=[str(at) for at in range(len(OTHERS))])
def test_another_code_is_another(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize("typed", ["", " ", "---", "\u200b", "“”", "\n", "🙂", "a\ud800", "a" * (LONGEST_TYPED + 1)])
def test_what_finds_none(typed: str) -> None:
    with pytest.raises(ValueError, match="code"):
        check_typed(typed)


def test_it_never_changes() -> None:
    """What is stored was folded by it: of every character that codes are made of, this is how. Nothing may move it."""
    ranges = ((0x00, 0x530), (0x1E00, 0x2070), (0x2100, 0x2190), (0x2460, 0x2500), (0xFB00, 0xFB07), (0xFF00, 0xFFF0))
    told = "\n".join(f"{at:04x} {fold(chr(at))}" for start, end in ranges for at in range(start, end))
    assert (
        hashlib.sha256(told.encode()).hexdigest() == "21ab4cd913086d5747d9d60621b862226feea740253d651ac7678f6292734dd9"
    )


def test_the_published_table_is_true() -> None:
    """Each line of it: what is typed, and how it is compared."""
    lines = re.findall(r"^\| `(.+?)` \| `(.*?)` \|", REFERENCE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) >= 15
    for typed, compared in lines:
        assert fold(re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), typed)) == compared, typed
