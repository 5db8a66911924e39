"""A procedure by hand: step by step, so that something else can happen in between."""

from __future__ import annotations

import re
from typing import Any

from counterfoil.procedure import Database, Procedure, Step, Stripe, perform
from counterfoil.statement import Statement


class ByHand:
    """
    A procedure that has begun and goes on only when it is told to. Dropped, it is a process that died.

    Attributes:
        step: What it wants done next.
    """

    def __init__(self, procedure: Procedure[Any], database: Database, stripe: Stripe) -> None:
        self._procedure, self._database, self._stripe = procedure, database, stripe
        self.step: Step = next(procedure)

    def one(self) -> None:
        """
        Do the step.

        Raises:
            StopIteration: That was the last; its value is what the procedure returns.
        """
        try:
            answer = perform(self.step, self._database, self._stripe)
        except Exception as failure:  # noqa: BLE001 (whatever it is, the procedure is told)
            self.step = self._procedure.throw(failure)
        else:
            self.step = self._procedure.send(answer)

    def fail(self, failure: Exception) -> Any:
        """Let the step fail, and go on to the end, as `finish` does."""
        self.step = self._procedure.throw(failure)
        return self.finish()

    def stop_before(self, word: str) -> None:
        """Go on until the next step is this one, as `described`."""
        while word not in described(self.step):
            self.one()

    def finish(self) -> Any:
        """
        Go on to the end: what the procedure returns.

        Raises:
            Refusal: What it refuses.
        """
        try:
            while True:
                self.one()
        except StopIteration as end:
            return end.value


def described(step: Step) -> str:
    """A step in a word or two: the function or table of a statement, the name of a call."""
    if isinstance(step, Statement):
        text = step.sql.text
        found = re.search(r"FROM counterfoil\.(\w+)", text) or re.search(r"counterfoil\.(?!clock)(\w+)", text)
        return f"database: {found[1] if found else text[:30]}"
    return f"Stripe: {type(step).__name__}"
