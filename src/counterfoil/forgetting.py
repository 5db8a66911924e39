"""
A person's wish to know what is held about them, and to be forgotten.

Forgetting changes no count: each row stays, and says no longer whose it was. What Stripe keeps is Stripe's: the answer
has the ids that it is found by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from counterfoil import errors, verbs
from counterfoil.buyers import buyer_key
from counterfoil.ending import cancel, release
from counterfoil.mailboxes import mailbox_key
from counterfoil.model import Checkout, ReleaseReason, Shop
from counterfoil.procedure import Procedure
from counterfoil.statement import Row, Sql, Statement, document

#: What stands where a buyer stood.
FORGOTTEN = "(forgotten)"


@dataclass(frozen=True)
class Forgotten:
    """What was erased, by kind, and by what Stripe finds what it keeps itself."""

    erased: Mapping[str, int]
    sessions: tuple[str, ...]
    payment_intents: tuple[str, ...]


@dataclass(frozen=True)
class StillBuying:
    """What is under way, so that nothing was erased."""

    redemptions: tuple[UUID, ...]
    checkouts: tuple[UUID, ...]


def held(*, buyer: str) -> Statement[dict[str, Any]]:
    """All that is held about a buyer, as one document: rows by kind, each as it is."""
    return Statement(
        Sql.named("buyer_in_full"),
        {"buyer_key": buyer_key(buyer), "mailbox_key": mailbox_key(buyer)},
        lambda rows: dict(document(rows[0]["held"])),
    )


def erase(*, buyer: str, shop: Shop) -> Statement[Forgotten | StillBuying]:
    """Forget a buyer, if nothing of theirs is under way. Doing it twice is harmless."""

    def read(rows: Sequence[Row]) -> Forgotten | StillBuying:
        row = rows[0]
        if row["outcome"] == "open":
            return StillBuying(tuple(row["redemptions"]), tuple(row["checkouts"]))
        return Forgotten(document(row["erased"]), tuple(row["sessions"]), tuple(row["payment_intents"]))

    return Statement(
        Sql(
            "SELECT outcome, erased, redemptions, checkouts, sessions, payment_intents FROM counterfoil.forget("
            "buyer_key => :buyer_key::text, mailbox_key => :mailbox_key::text, lock_timeout => :lock_timeout::interval)"
        ),
        {"buyer_key": buyer_key(buyer), "mailbox_key": mailbox_key(buyer), "lock_timeout": shop.lock_timeout},
        read,
        alone=True,
    )


def forget(buyer: str, shop: Shop, *, end_open: bool = False) -> Procedure[Forgotten]:
    """
    Forget a buyer. With *end_open*, payment pages that are open are ended at Stripe first; what proves paid stays sold.

    Raises:
        BuyerStillBuying: A hold, a payment page or a payment is under way. Nothing was erased.
        StripeUnavailable: A payment page could not be ended.
        Busy: A lock was not won in time.
    """
    found: Forgotten | StillBuying = yield erase(buyer=buyer, shop=shop)
    if isinstance(found, StillBuying) and end_open:
        for id in found.checkouts:
            sale: Checkout | None = yield verbs.checkout(id=id)
            if sale is not None:
                yield from cancel(sale, shop, ReleaseReason.BY_HAND)
        for id in found.redemptions:
            for claim in (yield verbs.redemptions(id=id, most=1)):
                yield from release(claim, shop, ReleaseReason.BY_HAND)
        found = yield erase(buyer=buyer, shop=shop)
    if isinstance(found, StillBuying):
        raise errors.BuyerStillBuying(
            redemptions=[str(id) for id in found.redemptions], checkouts=[str(id) for id in found.checkouts]
        )
    return found
