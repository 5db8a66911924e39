"""
Why a buyer would be let in or refused now, with every number behind it.

What is decided is decided by ``consider.sql``, as ``reserve`` and a quote do; here it is told with all that it saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from counterfoil import errors, reading
from counterfoil.buyers import buyer_key
from counterfoil.codes import fold
from counterfoil.guessing import WITHIN, Limits
from counterfoil.mailboxes import mailbox_key
from counterfoil.model import HOLDS_PER_ADDRESS, Code, Product, Redemption
from counterfoil.pricing import Price, apply
from counterfoil.statement import Row, Sql, Statement, document
from counterfoil.verbs import Decision, read_decision


@dataclass(frozen=True)
class Explanation:
    """
    A yes or a no at one moment. Where there is no such code, what belongs to a code is empty.

    Attributes:
        decision: What ``consider.sql`` answered; outcome ``free`` where it is worth trying.
        refusal: Why not; None if the buyer is let in. The price may refuse as well, where there is a product.
        product: What is bought; the first of the code's products, if none was named.
        today: The day it is at the institution: what the code's first and last day are compared with.
        pool: The code whose allocations count, and *keeper* the institution whose calendar names the period.
        cap_is_own: The period has an allocation; else *cap* is the code's own, of every period without one.
        lapsed: Holds whose time is over. Their places are free, but for what *asks_first* says.
        overdue: Delayed payments past their deadline.
        asks_first: Of how many of those Stripe is asked before their places are given away; 0 if there is no need to.
        spent: Places of this period that the buyer has used or is paying for; *claim* is the open or the last one.
        hoarding: Addresses that get no other place of this code for now: they left too many unpaid.
        guessing: Addresses that typed too many wrong codes, and wait.
        codes_wait_until: Until then no code is taken on public pages.
        near: Where there is no such code, those that are written nearly so.
    """

    typed: str
    moment: datetime
    decision: Decision
    refusal: errors.Refusal | None
    code: Code | None
    replaced_by: str | None
    product: Product | None
    price: Price | None
    today: date | None
    pool: str | None
    calendar: str | None
    keeper: str | None
    keeper_zone: str | None
    cap: int | None
    cap_is_own: bool
    note: str | None
    completed: int
    pending: int
    held: int
    lapsed: int
    overdue: int
    next_release_at: datetime | None
    asks_first: int
    buyer: str | None
    spent: int
    hoarding: int
    guessing: int
    codes_wait_until: datetime | None
    near: tuple[str, ...]

    @property
    def folded(self) -> str:
        """The form in which codes are compared."""
        return fold(self.typed)

    @property
    def claim(self) -> Redemption | None:
        """The buyer's open claim, or where the limit is reached the last one."""
        return self.decision.claim

    @property
    def remaining(self) -> int | None:
        """Places that can be reserved now; None without a cap."""
        return None if self.cap is None else max(0, self.cap - self.completed - self.pending - self.held)


def explain(
    *,
    code: str,
    buyer: str | None = None,
    product: str | None = None,
    holds_per_address: int = HOLDS_PER_ADDRESS,
    limits: Limits | None = None,
) -> Statement[Explanation]:
    """
    What would be said to a buyer now, and every number behind it. Holds nothing, locks nothing.

    Raises (when run):
        ProductUnknown: There is no product of this id.
    """
    limits = limits or Limits()
    folded = fold(code)

    def read(rows: Sequence[Row]) -> Explanation:
        return _read(rows[0], code, buyer, product)

    return Statement(
        Sql.named("explain"),
        {
            "code": folded,
            "product": product,
            "buyer_key": buyer_key(buyer) if buyer else None,
            "mailbox_key": mailbox_key(buyer) if buyer else None,
            "holds_per_address": holds_per_address,
            "wrong_codes_per_address": limits.per_address,
            "within": WITHIN,
            "pauses": bool(limits.pause),
            "near": nearly(folded),
        },
        read,
    )


def nearly(folded: str) -> list[str]:
    """Patterns of what a slip makes of a code: one character more, less, or another one, or two that changed places."""
    return [
        *(folded[:at] + "_" + folded[at:] for at in range(len(folded) + 1)),
        *(folded[:at] + "_" + folded[at + 1 :] for at in range(len(folded))),
        *(folded[:at] + folded[at + 1 :] for at in range(len(folded))),
        *(folded[:at] + folded[at + 1] + folded[at] + folded[at + 2 :] for at in range(len(folded) - 1)),
    ]


def _read(row: Row, typed: str, buyer: str | None, named: str | None) -> Explanation:
    decision = read_decision([{**row, "outcome": row["outcome"] or "free"}])
    doc: Any = document(row["code"]) if row["code"] is not None else {}
    code = reading.code(doc) if doc else None
    product = reading.product(row["product"]) if row["product"] is not None else None
    if named is not None and product is None:
        raise errors.ProductUnknown(named)
    price, unpriced = _price(code, product)
    lapsed = row["reserved"] - row["live"]
    asks = row["cap"] is not None and row["used"] + 1 - row["cap"] > row["never_payable"]
    return Explanation(
        typed=typed,
        moment=reading.moment(row["moment"]),
        decision=decision,
        refusal=_refusal(decision, unpriced, typed),
        code=code,
        replaced_by=doc.get("replaced_by"),
        product=product,
        price=price,
        today=row["today"],
        pool=row["pool"],
        calendar=row["calendar"],
        keeper=row["keeper"],
        keeper_zone=row["keeper_zone"],
        cap=row["cap"],
        cap_is_own=row["cap_is_own"],
        note=row["note"],
        completed=row["used"] - row["reserved"] - row["pending"],
        pending=row["pending"],
        held=row["live"],
        lapsed=lapsed,
        overdue=row["overdue"],
        next_release_at=reading.when(row["frees_at"]),
        asks_first=lapsed + row["overdue"] - row["never_payable"] if asks and decision.outcome == "free" else 0,
        buyer=buyer,
        spent=row["spent"] or 0,
        hoarding=row["hoarding"],
        guessing=row["guessing"],
        codes_wait_until=reading.when(row["codes_wait_until"]),
        near=tuple(row["near"]),
    )


def _price(code: Code | None, product: Product | None) -> tuple[Price | None, errors.Refusal | None]:
    if code is None or product is None:
        return None, None
    try:
        return apply(code.discount, product.amount, product.currency), None
    except errors.Refusal as refusal:
        return None, refusal


def _refusal(decision: Decision, unpriced: errors.Refusal | None, typed: str) -> errors.Refusal | None:
    match decision.outcome:
        case "unknown" | "paused":
            return decision.refusal(typed)
        case _ if unpriced is not None:
            return unpriced
        case "free" | "yours":
            return None
        case "limit":
            return errors.BuyerLimitReached(limit=decision.per_buyer_limit, checkout=None)
    return decision.refusal(typed)
