"""Who buys: when two buyers are the same."""

from __future__ import annotations

import unicodedata

LONGEST = 255


def check_buyer(text: str) -> str:
    """
    The form in which a buyer is kept for display: as given, without outer white space.

    An e-mail address or the caller's own reference; nothing is said about whether mail would arrive.

    Raises:
        ValueError: It is empty, too long, or holds what no text holds.
    """
    kept = text.strip()
    if not 1 <= len(kept) <= LONGEST:
        raise ValueError(f"a buyer has 1 to {LONGEST} characters, this one has {len(kept)}")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in kept):
        raise ValueError("a buyer holds no control characters and no lone surrogates")
    return kept


def buyer_key(text: str) -> str:
    """The form in which buyers are compared: with an ``@``, without regard to case; otherwise as given."""
    kept = check_buyer(text)
    if "@" not in kept:
        return kept
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", kept).casefold())
