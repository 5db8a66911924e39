"""What people type: when two codes are the same."""

from __future__ import annotations

import unicodedata

#: Characters that a stored code may have, and those that may be typed to find it.
LONGEST = 64
LONGEST_TYPED = 250

_LOOK_ALIKES = str.maketrans({"o": "0", "i": "1", "l": "1"})


def fold(typed: str) -> str:
    """
    The form in which codes are compared.

    NFKC, case-folded, only letters and digits kept, then O as 0 and I and L as 1: so spaces, every kind of dash and
    zero-width characters vanish, and full-width letters are letters. Never changed later: stored codes are found by it.
    """
    plain = typed
    while True:
        # Case folding can leave what NFKC would join, and the other way round: until nothing changes.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())
        folded = "".join(character for character in folded if character.isalnum()).translate(_LOOK_ALIKES)
        if folded == plain:
            return folded
        plain = folded


def check_code(typed: str) -> str:
    """
    The form in which a code is stored: as it was typed, without outer white space.

    Raises:
        ValueError: It has no letter or digit, is too long, or holds what no text holds.
    """
    stored = typed.strip()
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in stored):
        raise ValueError("a code holds no control characters and no lone surrogates")
    if len(stored) > LONGEST:
        raise ValueError(f"a code has at most {LONGEST} characters, this one has {len(stored)}")
    if not fold(stored):
        raise ValueError("a code has a letter or a digit")
    return stored


def check_typed(typed: str) -> str:
    """
    What somebody types to find a code, as it is: whatever came with it, from a mail or a table, vanishes in `fold`.

    Raises:
        ValueError: It has no letter or digit, is too long to be a code, or is no text at all.
    """
    if any(unicodedata.category(character) == "Cs" for character in typed):
        raise ValueError("a code holds no lone surrogates")
    if len(typed) > LONGEST_TYPED:
        raise ValueError(f"a code is typed with at most {LONGEST_TYPED} characters, and these are {len(typed)}")
    if not fold(typed):
        raise ValueError("a code has a letter or a digit")
    return typed
