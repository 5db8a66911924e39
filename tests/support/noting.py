"""A host that notes every transition that a statement made, whoever hears of its answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TypeVar
from uuid import UUID

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Redemption
from counterfoil.statement import AllOrNone, Statement
from counterfoil.verbs import Settled

T = TypeVar("T")

#: Outcomes that changed a row; all others changed nothing.
TRANSITIONS = frozenset({"completed", "completed_late", "pending", "released", "refunded", "reinstated"})


class Noting:
    """
    Runs statements, and counts what they did.

    Attributes:
        transitions: By the id of a redemption, or of a checkout that has none: how often which happened.
    """

    def __init__(self, inner: Psycopg) -> None:
        self.inner = inner
        self.transitions: defaultdict[UUID, Counter[str]] = defaultdict(Counter)

    def run(self, statement: Statement[T]) -> T:
        """Run one statement, and note what it did."""
        answer = self.inner.run(statement)
        match answer:
            case Settled(outcome, claim, sale):
                row = claim or sale
            case (str() as outcome, Redemption() as row):
                pass
            case _:
                return answer
        if row and outcome in TRANSITIONS:
            self.transitions[row.id]["completed" if outcome == "completed_late" else outcome] += 1
        return answer

    def run_all(self, together: AllOrNone[T]) -> list[T]:
        """Run several statements in one transaction: none of those makes a transition."""
        return self.inner.run_all(together)
