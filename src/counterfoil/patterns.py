"""
Codes made at random: out of which characters, how many there might be of a form, and how hard they are to guess.

`X` stands for one character at random, a dash for itself: ``XXXX-XXXX``.
"""

from __future__ import annotations

import math
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from counterfoil.codes import LONGEST, check_code, fold

#: Sixteen characters that nobody takes for another, printed, read aloud or written by hand, and that make no words.
#:
#: Left out: vowels and Y, and 3 and 4, which are read as vowels; O and 0, I, 1 and L, which are the same when codes are
#: compared; both of each pair that look alike: 5 and S, 2 and Z, 8 and B, U and V; Q and G, which are read as 9 and 6.
ALPHABET = "CDFHJKMNPRTWX679"

#: What stands for a rude word without vowels, or for a number with a meaning: in no code made here.
UNWANTED = (
    "cck", "cnt", "dck", "fck", "fdp", "fkk", "fkn", "kkk", "knt", "mrd", "pmp", "prn", "rtd", "twt", "wnk", "wtf",
    "666",
)  # fmt: skip

#: Nobody may have a better chance than one in so many to hit upon one of the codes of a form with one try.
HARD_ENOUGH = 1_000_000

DEFAULT = "XXXX-XXXX"

_PATTERN = re.compile(r"X+(-X+)*")
#: No pattern is longer: fewer codes than atoms need no more.
_MOST_RANDOM = 24


@dataclass(frozen=True)
class Form:
    """
    What codes of a batch look like: *prefix*, then *pattern*.

    Raises:
        ValueError: It makes no code, or none of the length that a code has.
    """

    prefix: str
    pattern: str

    def __post_init__(self) -> None:
        if not _PATTERN.fullmatch(self.pattern):
            raise ValueError(
                f"{self.pattern!r} is no pattern: write X for each character at random, with single dashes between, "
                f"like {DEFAULT}"
            )
        if self.random > _MOST_RANDOM:
            raise ValueError(f"a pattern has at most {_MOST_RANDOM} characters at random, this one has {self.random}")
        if self.prefix != self.prefix.strip():
            raise ValueError("a prefix has no spaces around it")
        if len(self.begin) + len(self.pattern) > LONGEST:
            raise ValueError(f"with this prefix a code is longer than {LONGEST} characters")
        check_code(self.begin + self.pattern)
        if self.space == 0:
            raise ValueError("no code can be made of this form: its prefix ends like a word that is in no code")

    @property
    def random(self) -> int:
        """How many characters are at random."""
        return self.pattern.count("X")

    @property
    def begin(self) -> str:
        """What all codes begin with: the prefix, and a dash where it ends in a letter or a digit."""
        return f"{self.prefix}-" if self.prefix[-1:].isalnum() else self.prefix

    @property
    def folded(self) -> str:
        """What the codes begin with when they are compared."""
        return fold(self.begin)

    @property
    def space(self) -> int:
        """How many different codes there are of this form, exactly: with nothing unwanted in any of them."""
        reached: Counter[str] = Counter({self.folded[-2:]: 1})
        for _ in range(self.random):
            further: Counter[str] = Counter()
            for end, ways in reached.items():
                for character in ALPHABET.lower():
                    if end + character not in UNWANTED:
                        further[(end + character)[-2:]] += ways
            reached = further
        return reached.total()

    @property
    def as_regex(self) -> str:
        """What the folded codes of this form match, for the database."""
        return f"^{self.folded}[{ALPHABET.lower()}]{{{self.random}}}$"

    def draw(self, number: int, choose: Callable[[str], str] = secrets.choice) -> list[str]:
        """So many different codes, each as likely as any other."""
        drawn: dict[str, None] = {}
        begin, end = self.begin, self.folded[-2:]
        while len(drawn) < number:
            letters = [choose(ALPHABET) for _ in range(self.random)]
            compared = end + "".join(letters).lower()
            if not any(unwanted in compared for unwanted in UNWANTED):
                left = iter(letters)
                drawn[begin + "".join(next(left) if one == "X" else one for one in self.pattern)] = None
        return list(drawn)

    def one_in(self, codes: int) -> int:
        """With so many codes of this form, one try hits one with a chance of one in this number, or of less."""
        return self.space // codes

    def hard_enough(self, codes: int) -> Form:
        """This form, or the shortest like it in which so many are hard to guess; without the prefix, if need be."""
        if self.one_in(codes) >= HARD_ENOUGH:
            return self
        length = math.ceil(math.log(codes * HARD_ENOUGH, len(ALPHABET)))
        while True:
            pattern = "-".join("X" * min(4, length - at) for at in range(0, length, 4))
            form = Form(self.prefix if len(self.begin) + len(pattern) <= LONGEST else "", pattern)
            if form.one_in(codes) >= HARD_ENOUGH:
                return form
            length += 1
