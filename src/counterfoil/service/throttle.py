"""Whoever tried too often waits: counted in the database, so that it is the same for every process."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from counterfoil.service.problems import Problem
from counterfoil.service.settings import Settings
from counterfoil.service.state import State
from counterfoil.statement import Sql, Statement


@dataclass(frozen=True)
class Throttle:
    """*most* tries of anything that has a name in common, *within* a time; then whoever tries waits."""

    what: str
    most: int
    within: timedelta

    def name(self, of: str, settings: Settings) -> str:
        """The name to count by, of an address or an account: a keyed digest, so that the table tells of neither."""
        return digest(f"throttle {self.what} {of}", settings)

    async def must_pass(self, state: State, names: Sequence[str]) -> None:
        """
        Count one try of all these names, before it is made.

        Raises:
            Problem: One of them was tried too often: ``rate-limited``, with how long to wait. Nothing is counted.
        """
        wait = math.ceil((await state.run(self.once(names))).total_seconds())
        if wait > 0:
            raise Problem(
                "rate-limited",
                f"Too many tries. Try again in {in_words(wait)}.",
                headers={"Retry-After": str(wait)},
            )

    def once(self, names: Sequence[str]) -> Statement[timedelta]:
        """Count one try; or, counting nothing, how long to wait until there is room for one."""
        return Statement(
            Sql("SELECT counterfoil.try_once(:names::text[], :most::integer, :within::interval) AS wait"),
            {"names": list(names), "most": self.most, "within": self.within},
            lambda rows: rows[0]["wait"],
        )

    def passed(self, *, trusted: Sequence[str], others: Sequence[str]) -> Statement[None]:
        """The try that was counted last went well: it counts no more. Of those that are *trusted* now, none does."""
        return Statement(
            Sql(
                "UPDATE counterfoil.throttle AS t SET tried_at = CASE WHEN t.name = ANY (:trusted::text[]) THEN '{}' "
                "ELSE t.tried_at[: cardinality(t.tried_at) - 1] END "
                "WHERE t.name = ANY (:trusted::text[] || :others::text[]) RETURNING t.name"
            ),
            {"trusted": list(trusted), "others": list(others)},
            lambda _: None,
        )


def digest(text: str, settings: Settings) -> str:
    """A keyed digest: what is counted by it is told to nobody who reads the table."""
    return hmac.new(settings.secret_key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def in_words(seconds: int) -> str:
    """How long to wait, in words: minutes are rounded up."""
    if seconds < 60:
        return f"{seconds} seconds"
    minutes = math.ceil(seconds / 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
