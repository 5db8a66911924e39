"""
One function per verb: it names the parameters of one SQL statement, and reads the row that comes back.

Nothing happens until a host runs the statement. What decides about a place is in ``sql/functions/``, a file per verb.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from counterfoil import errors, reading
from counterfoil.buyers import buyer_key, check_buyer
from counterfoil.codes import fold
from counterfoil.mailboxes import mailbox_key
from counterfoil.model import (
    Checkout,
    CheckoutStatus,
    Code,
    Order,
    Product,
    Redemption,
    RedemptionStatus,
    ReleaseReason,
    Session,
    Shop,
    StripeEvent,
    Usage,
)
from counterfoil.pricing import Price
from counterfoil.statement import Row, Sql, Statement, document


@dataclass(frozen=True)
class Ask:
    """A lapsed hold whose session's end was never heard: Stripe is to be asked before its place is given away."""

    redemption: UUID
    counts_with: int
    attempt: int
    session_id: str


@dataclass(frozen=True)
class Decision:
    """What ``reserve.sql`` decided: its outcome, and every number behind it."""

    outcome: str
    claim: Redemption | None
    sale: Checkout | None
    period: str
    cap: int | None
    held: int
    next_release_at: datetime | None
    per_buyer_limit: int | None
    starts_on: date | None
    ends_on: date | None
    asks: tuple[Ask, ...]

    def refusal(self, typed: str) -> errors.Refusal:
        """The refusal that this outcome is. *typed* is the code as the buyer typed it."""
        match self.outcome:
            case "unknown":
                return errors.CodeUnknown(typed)
            case "paused":
                return errors.CodePaused()
            case "not_open":
                return errors.CodeNotOpen(self.starts_on, self.ends_on)
            case "ended" if self.ends_on:
                return errors.CodeEnded(self.ends_on, self.starts_on)
            case "not_for_product":
                return errors.CodeNotForProduct()
            case "spent":
                return errors.AllocationSpent(period=self.period, cap=self.cap or 0)
            case "held_by_others":
                return errors.AllocationHeld(
                    period=self.period, cap=self.cap or 0, held=self.held, next_release_at=self.next_release_at
                )
            case "hoarding":
                return errors.TooManyHolds(unpaid=self.held, until=self.next_release_at)
            case "ask" | "changed":
                return errors.Busy()
        raise AssertionError(f"reserve.sql answered {self.outcome!r}, which is no refusal")


@dataclass(frozen=True)
class Attached:
    """
    Whether the session is tied to its hold.

    Attributes:
        attached: The buyer may have the URL.
        skew: Stripe's clock less the database's. What the call took makes it look behind.
    """

    attached: bool
    skew: timedelta


@dataclass(frozen=True)
class Settled:
    """
    What a session's truth did to our rows.

    Attributes:
        outcome: completed, completed_late, pending, released, already_settled, nothing, superseded, attention,
            foreign, ignored; refunded or reinstated where the money went back, or came back.
        stray_session: Another session of the same row that may still be payable, and must be ended.
    """

    outcome: str
    claim: Redemption | None = None
    sale: Checkout | None = None
    stray_session: str | None = None


def terms(*, code: str | None, product: str | None) -> Statement[tuple[Code | None, Product | None]]:
    """What a price is worked out from: the code as it is now, and the product; None for what does not exist."""

    def read(rows: Sequence[Row]) -> tuple[Code | None, Product | None]:
        row = rows[0]
        return (
            reading.code(row["code"]) if row["code"] is not None else None,
            reading.product(row["product"]) if row["product"] is not None else None,
        )

    return Statement(Sql.named("terms"), {"code": fold(code) if code else None, "product": product}, read)


def reserve(
    *, id: UUID, code: str, buyer: str, hold: timedelta, product: str | None = None, lock_timeout: timedelta
) -> Statement[Redemption]:
    """
    Hold one place of *code* for *buyer*, for a shop that keeps its own orders.

    The caller makes *id*. The same buyer asking again gets the open claim there is.

    Raises (when run):
        CodeUnknown, CodePaused, CodeNotOpen, CodeEnded, CodeNotForProduct: The code is not good here and now.
        BuyerLimitReached: This buyer has used it.
        AllocationSpent: Every place of the period is paid for, or being paid for.
        AllocationHeld: No place is free now; some may come back (``next_release_at``).
        Busy: The allocation's lock was not won in time, or Stripe is to be asked about a lapsed hold first.
    """

    def read(rows: Sequence[Row]) -> Redemption:
        decision = read_decision(rows)
        if decision.claim and decision.outcome in ("held", "yours"):
            return decision.claim
        if decision.outcome == "limit":
            raise errors.BuyerLimitReached(limit=decision.per_buyer_limit, checkout=None)
        raise decision.refusal(code)

    return Statement(
        Sql.named("reserve"),
        {
            "id": id,
            "code": fold(code),
            "product": product,
            "buyer": check_buyer(buyer),
            "buyer_key": buyer_key(buyer),
            "mailbox_key": mailbox_key(buyer),
            "hold": hold,
            "lock_timeout": lock_timeout,
        },
        read,
        alone=True,
    )


def consider(*, code: str, product: str | None, buyer: str | None) -> Statement[Decision]:
    """What a buyer would be told now, by one look and without a lock. Outcome ``free`` if it is worth trying."""

    def read(rows: Sequence[Row]) -> Decision:
        return read_decision([{**rows[0], "outcome": rows[0]["outcome"] or "free"}])

    return Statement(
        Sql.named("quote"),
        {
            "code": fold(code),
            "product": product,
            "buyer_key": buyer_key(buyer) if buyer else None,
            "mailbox_key": mailbox_key(buyer) if buyer else None,
        },
        read,
    )


def open_checkout(
    *,
    redemption: UUID,
    checkout: UUID,
    order: Order,
    code: Code,
    product: Product | None,
    price: Price,
    shop: Shop,
    instead_of: UUID | None = None,
) -> Statement[Decision]:
    """
    Hold a place and write down the checkout it is for, in one commit.

    *instead_of* is the buyer's own open claim: its place moves to this one. Nothing is raised but ``Busy``: the
    procedure acts on the outcome.
    """
    parameters = _sale_parameters(checkout, order, product, price, shop)
    parameters |= {
        "id": redemption,
        "code": fold(order.code or ""),
        "version": code.version,
        "hold": shop.clocks.reservation_ttl,
        "lock_timeout": shop.lock_timeout,
        "instead_of": instead_of,
        "origin": order.origin if shop.holds_per_address else None,
        "holds_per_origin": shop.holds_per_address,
        "mailbox_key": mailbox_key(order.buyer),
        "discount_amount": price.discount_amount,
        "amount": price.amount,
    }
    return Statement(Sql.named("open_checkout"), parameters, read_decision, alone=True)


def begin_checkout(
    *, checkout: UUID, order: Order, product: Product | None, price: Price, shop: Shop
) -> Statement[Checkout]:
    """Write down a checkout at full price. It holds no place and has no redemption."""
    return Statement(
        Sql.named("begin_checkout"),
        _sale_parameters(checkout, order, product, price, shop),
        lambda rows: reading.checkout(rows[0]["sale"]),
    )


def attach(*, sale: Checkout, session: Session, shop: Shop) -> Statement[Attached]:
    """
    Tie the session that Stripe made to its checkout and hold.

    If it is not attached, the hold was released, settled or renewed meanwhile, and the session must be ended. The
    expiry stored is the one that Stripe answered; if it does not lie before the hold's, the column's constraint
    ``session_dies_before_its_hold`` refuses it.
    """
    claim = sale.redemption
    return Statement(
        Sql(
            "SELECT outcome, skew FROM counterfoil.attach(counts_with => :counts_with::bigint, "
            "redemption => :redemption::uuid, checkout => :checkout::uuid, attempt => :attempt::integer, "
            "session_id => :session_id::text, session_url => :session_url::text, "
            "session_created => :session_created::timestamptz, session_expires_at => :session_expires_at::timestamptz, "
            "lock_timeout => :lock_timeout::interval)"
        ),
        {
            "lock_timeout": shop.lock_timeout,
            "session_created": session.created,
            "counts_with": sale.counts_with,
            "redemption": claim.id if claim else None,
            "checkout": sale.id,
            "attempt": claim.attempt if claim else None,
            "session_id": session.id,
            "session_url": session.url,
            "session_expires_at": session.expires_at,
        },
        lambda rows: Attached(rows[0]["outcome"] == "attached", rows[0]["skew"]),
    )


def renew(*, claim: Redemption, most: int, shop: Shop) -> Statement[str]:
    """
    Renew a hold in its own place for one more attempt: ``renewed``, ``worn_out`` or ``moved_on``.

    Its session goes among the former ones, and must be ended at Stripe before the next is made.
    """
    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.renew(counts_with => :counts_with::bigint, id => :id::uuid, "
            "attempt => :attempt::integer, session_id => :session_id::text, hold => :hold::interval, "
            "most => :most::integer, lock_timeout => :lock_timeout::interval)"
        ),
        {
            "counts_with": claim.counts_with,
            "id": claim.id,
            "attempt": claim.attempt,
            "session_id": claim.session_id,
            "hold": shop.clocks.reservation_ttl,
            "most": most,
            "lock_timeout": shop.lock_timeout,
        },
        lambda rows: str(rows[0]["outcome"]),
        alone=True,
    )


def release(
    *,
    counts_with: int,
    redemption: UUID,
    reason: ReleaseReason,
    shop: Shop,
    session_id: str | None = None,
    attempt: int | None = None,
) -> Statement[tuple[str, Redemption | None]]:
    """
    Give a place back: ``released``, ``already_settled``, ``not_this_session`` or ``not_found``, and the row as it is.

    *session_id*: only if this is the row's own session. *attempt*: only if that attempt is still without one.
    Releasing a completed redemption changes nothing: a sale cannot be un-sold.
    """

    def read(rows: Sequence[Row]) -> tuple[str, Redemption | None]:
        row = rows[0]
        return row["outcome"], reading.redemption(row["claim"]) if row["claim"] is not None else None

    return Statement(
        Sql(
            "SELECT outcome, counterfoil.redemption_document(claim) AS claim "
            "FROM counterfoil.release(counts_with => :counts_with::bigint, id => :id::uuid, reason => :reason::text, "
            "session_id => :session_id::text, attempt => :attempt::integer, lock_timeout => :lock_timeout::interval)"
        ),
        {
            "counts_with": counts_with,
            "id": redemption,
            "reason": str(reason),
            "session_id": session_id,
            "attempt": attempt,
            "lock_timeout": shop.lock_timeout,
        },
        read,
        alone=True,
    )


def mark_ending(*, sale: Checkout, reason: ReleaseReason, shop: Shop) -> Statement[None]:
    """Write down why we are about to end a session, so that whoever hears of its end first gives this reason."""
    return Statement(
        Sql(
            "SELECT counterfoil.mark_ending(counts_with => :counts_with::bigint, redemption => :redemption::uuid, "
            "checkout => :checkout::uuid, reason => :reason::text, lock_timeout => :lock_timeout::interval)"
        ),
        {
            "reason": str(reason),
            "counts_with": sale.counts_with,
            "redemption": sale.redemption.id if sale.redemption else None,
            "checkout": sale.id,
            "lock_timeout": shop.lock_timeout,
        },
        lambda _: None,
    )


def end_unpayable(*, sale: Checkout, status: CheckoutStatus) -> Statement[None]:
    """End a full-price checkout that has no session, so that nobody can pay it."""
    return Statement(
        Sql(
            "SELECT counterfoil.end_unpayable(counts_with => :counts_with::bigint, checkout => :checkout::uuid, "
            "status => :status::text)"
        ),
        {"status": str(status), "counts_with": sale.counts_with, "checkout": sale.id},
        lambda _: None,
    )


def settle(*, session: Session, verdict: str, reference: Mapping[str, Any], shop: Shop) -> Statement[Settled]:
    """
    Carry what Stripe says of a session into our rows. Doing it twice is harmless: *already settled* is an answer.

    *verdict* and *reference* are what ``settlement.py`` read out of the session.
    """
    return Statement(
        Sql(
            "SELECT outcome, stray_session, counterfoil.redemption_document(claim) AS claim, "
            "CASE WHEN (sale).id IS NOT NULL THEN to_jsonb(sale) END AS sale "
            "FROM counterfoil.settle(session_id => :session_id::text, verdict => :verdict::text, "
            "counts_with => :counts_with::bigint, redemption => :redemption::uuid, checkout => :checkout::uuid, "
            "attempt => :attempt::integer, session_expires_at => :session_expires_at::timestamptz, "
            "amount => :amount::bigint, currency => :currency::text, payment_intent => :payment_intent::text, "
            "recovered_from => :recovered_from::text, pending_for => :pending_for::interval, "
            "lock_timeout => :lock_timeout::interval)"
        ),
        {
            "session_id": session.id,
            "verdict": verdict,
            "session_expires_at": session.expires_at,
            "amount": session.amount_total,
            "currency": session.currency,
            "payment_intent": session.payment_intent,
            "recovered_from": session.recovered_from,
            "pending_for": shop.clocks.pending_ttl,
            "lock_timeout": shop.lock_timeout,
            **reference,
        },
        _settled,
        alone=True,
    )


def settle_refund(
    *, settled: Settled, session_id: str, money_back: bool, disputed: bool, shop: Shop
) -> Statement[Settled]:
    """
    Carry it into our rows that the money of a paid session went back in full, or came back because a refund failed.

    What the purchase unlocks follows the money; the place follows the code's refund policy. *disputed*: the refund came
    with a dispute, perhaps to head it off.
    """
    row = settled.sale or settled.claim
    return Statement(
        Sql(
            "SELECT outcome, counterfoil.redemption_document(claim) AS claim, "
            "CASE WHEN (sale).id IS NOT NULL THEN to_jsonb(sale) END AS sale "
            "FROM counterfoil.settle_refund(counts_with => :counts_with::bigint, redemption => :redemption::uuid, "
            "checkout => :checkout::uuid, session_id => :session_id::text, money_back => :money_back::boolean, "
            "disputed => :disputed::boolean, lock_timeout => :lock_timeout::interval)"
        ),
        {
            "counts_with": row.counts_with if row else None,
            "redemption": settled.claim.id if settled.claim else None,
            "checkout": settled.sale.id if settled.sale else None,
            "session_id": session_id,
            "money_back": money_back,
            "disputed": disputed,
            "lock_timeout": shop.lock_timeout,
        },
        _settled,
        alone=True,
    )


def return_place(*, claim: Redemption, shop: Shop) -> Statement[tuple[str, Redemption]]:
    """
    Give back, by hand, a completed place for which nothing was paid, and what it unlocked.

    ``returned``, ``already_settled``, ``not_completed``, or ``paid``: then a refund at Stripe is the way. With the row
    as it is. Where the shop keeps its own orders, it is the shop that knows that nothing was paid.
    """
    return Statement(
        Sql(
            "SELECT outcome, counterfoil.redemption_document(claim) AS claim FROM counterfoil.return_place("
            "counts_with => :counts_with::bigint, id => :id::uuid, lock_timeout => :lock_timeout::interval)"
        ),
        {"counts_with": claim.counts_with, "id": claim.id, "lock_timeout": shop.lock_timeout},
        lambda rows: (rows[0]["outcome"], reading.redemption(rows[0]["claim"])),
        alone=True,
    )


def raise_attention(*, kind: str, subject: str, detail: Mapping[str, Any]) -> Statement[None]:
    """Put a matter before the seller, once; what is new about it is written into the same entry."""
    return Statement(
        Sql("SELECT counterfoil.raise_attention(:kind::text, :subject::text, :detail::jsonb)"),
        {"kind": kind, "subject": subject, "detail": json.dumps(dict(detail))},
        lambda _: None,
    )


def forget_origins() -> Statement[bool]:
    """Forget where the holds came from that are older than a day: they count no more. Whether there may be others."""
    return Statement(
        Sql(
            "UPDATE counterfoil.redemption AS r SET origin = NULL FROM (SELECT o.counts_with, o.id "
            "FROM counterfoil.redemption AS o WHERE o.origin IS NOT NULL "
            "AND o.reserved_at <= (SELECT counterfoil.clock()) - interval '1 day' "
            "LIMIT 100 FOR UPDATE SKIP LOCKED) AS old "
            "WHERE r.counts_with = old.counts_with AND r.id = old.id RETURNING r.id"
        ),
        {},
        lambda rows: len(rows) == 100,
    )


def end_forsaken() -> Statement[None]:
    """
    End checkouts at full price that have no session a day after they were begun: a crash kept it from being made, or
    from being attached. By then nobody can pay it: Stripe's sessions live for a day.
    """
    return Statement(
        Sql(
            "SELECT counterfoil.end_unpayable(counts_with => c.counts_with, checkout => c.id, status => 'failed') "
            "FROM counterfoil.checkout AS c WHERE c.counts_with = 0 AND c.status IN ('open', 'pending') "
            "AND c.session_expires_at IS NULL AND c.created_at < (SELECT counterfoil.clock()) - interval '25 hours'"
        ),
        {},
        lambda _: None,
    )


def record_event(*, event: StripeEvent) -> Statement[bool]:
    """Remember that an event was received. True if it was settled before."""
    return Statement(
        Sql(
            "INSERT INTO counterfoil.stripe_event AS e (id, type, object_id, livemode, received_at) "
            "VALUES (:id::text, :type::text, :object_id::text, :livemode::boolean, counterfoil.clock()) "
            "ON CONFLICT (id) DO UPDATE SET type = e.type RETURNING settled_at IS NOT NULL AS settled"
        ),
        {"id": event.id, "type": event.type, "object_id": event.object_id, "livemode": event.livemode},
        lambda rows: bool(rows[0]["settled"]),
    )


def close_event(*, event: StripeEvent, outcome: str) -> Statement[None]:
    """Say that an event is settled: nothing that it asked of us is left to do."""
    return Statement(
        Sql(
            "UPDATE counterfoil.stripe_event SET settled_at = (SELECT counterfoil.clock()), outcome = :outcome::text "
            "WHERE id = :id::text RETURNING id"
        ),
        {"id": event.id, "outcome": outcome},
        lambda _: None,
    )


def checkout(*, id: UUID | None = None, redemption: UUID | None = None) -> Statement[Checkout | None]:
    """One checkout, by its own id or its redemption's."""
    one = checkouts(id=id, redemption=redemption, most=1)
    return Statement(one.sql, one.parameters, lambda rows: next(iter(one.read(rows)), None))


def checkouts(
    *,
    id: UUID | None = None,
    redemption: UUID | None = None,
    buyer: str | None = None,
    session_id: str | None = None,
    browser: str | None = None,
    status: CheckoutStatus | None = None,
    after: tuple[datetime, UUID] | None = None,
    most: int = 100,
) -> Statement[list[Checkout]]:
    """Checkouts, newest first, that fit all that is given; those after the checkout of this creation time and id."""
    return Statement(
        Sql.named("checkouts"),
        {
            "id": id,
            "redemption": redemption,
            "buyer_key": buyer_key(buyer) if buyer is not None else None,
            "session_id": session_id,
            "browser": browser,
            "status": str(status) if status else None,
            "after_at": after[0] if after else None,
            "after_id": after[1] if after else None,
            "most": most,
        },
        lambda rows: [reading.checkout(row["sale"]) for row in rows],
    )


def open_beside(*, sale: Checkout) -> Statement[list[Checkout]]:
    """The same buyer's other open checkouts of the same thing, at another code: they make way for *sale*."""
    return Statement(
        Sql.named("open_beside"),
        {"counts_with": sale.counts_with, "checkout": sale.id},
        lambda rows: [reading.checkout(row["sale"]) for row in rows],
    )


def redemptions(
    *,
    id: UUID | None = None,
    code: str | None = None,
    period: str | None = None,
    status: RedemptionStatus | None = None,
    institution: int | None = None,
    buyer: str | None = None,
    session_id: str | None = None,
    payment_intent: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    most: int = 100,
) -> Statement[list[Redemption]]:
    """
    Redemptions, newest first, that fit all that is given; those after the one of this reservation time and id.

    *buyer* is how the buyer's address or name begins. *session_id* finds also whose former session it was.
    """
    parameters = {
        "id": id,
        "code": fold(code) if code is not None else None,
        "period": period,
        "institution": institution,
        "buyer": buyer,
        "buyer_folded": buyer_key(f"{buyer}@")[:-1] if buyer is not None else None,
        "session_id": session_id,
        "payment_intent": payment_intent,
        "after_at": after[0] if after else None,
        "after_id": after[1] if after else None,
        "most": most,
    }
    of_codes = (code is not None or institution is not None) and not (id or buyer or session_id or payment_intent)
    # A status stands in the text itself: only so is a partial index found by every plan.
    literal = f"'{status.value}'" if status else ":status::text"
    sql = Sql(Sql.named("redemptions_of_codes" if of_codes else "redemptions").text.replace(":status::text", literal))
    return Statement(
        sql.given(parameters | {"status": status}),
        parameters,
        lambda rows: [reading.redemption(row["claim"]) for row in rows],
    )


def usage(*, code: str, period: str | None = None) -> Statement[Usage]:
    """
    How full the allocation of a code is, in *period* or the one that is now.

    Raises (when run):
        CodeUnknown: No code reads like this.
        PeriodInvalid: No *period* is given, and the code's calendar has none yet.
    """

    def read(rows: Sequence[Row]) -> Usage:
        if not rows:
            raise errors.CodeUnknown(code)
        if not rows[0]["period"]:
            raise errors.PeriodInvalid("The code has no period yet: give it one, with its first and its last day.")
        return reading.usage(rows[0])

    return Statement(Sql.named("usage"), {"code": fold(code), "period": period}, read)


def recount() -> Statement[list[str]]:
    """The allocations whose counter is not what their rows say, one sentence each. There should be none."""
    return Statement(
        Sql.named("recount"),
        {},
        lambda rows: [
            f"{row['code']} {row['period']}: the counter says {row['used']}, the rows say {row['places']}"
            for row in rows
        ],
    )


def _settled(rows: Sequence[Row]) -> Settled:
    row = rows[0]
    claim = reading.redemption(row["claim"]) if row["claim"] is not None else None
    sale = reading.checkout(row["sale"], claim) if row["sale"] is not None else None
    return Settled(row["outcome"], claim, sale, row.get("stray_session"))


def read_decision(rows: Sequence[Row]) -> Decision:
    """A decision out of its row."""
    row = rows[0]
    claim = reading.redemption(row["claim"]) if row["claim"] is not None else None
    return Decision(
        outcome=row["outcome"],
        claim=claim,
        sale=reading.checkout(row["sale"], claim) if row["sale"] is not None else None,
        period=row["in_period"] or "",
        cap=row["places"],
        held=row["held"] or 0,
        next_release_at=reading.when(row["next_release_at"]),
        per_buyer_limit=row["per_buyer_limit"],
        starts_on=row["starts_on"],
        ends_on=row["ends_on"],
        asks=tuple(
            Ask(UUID(ask["id"]), ask["counts_with"], ask["attempt"], ask["session_id"])
            for ask in document(row["asks"]) or ()
        ),
    )


def _sale_parameters(checkout: UUID, order: Order, product: Product | None, price: Price, shop: Shop) -> dict[str, Any]:
    return {
        "checkout": checkout,
        "product": product.id if product else None,
        "name": product.name if product else order.name,
        "unlocks": list(product.unlocks) if product else [],
        "buyer": check_buyer(order.buyer),
        "buyer_key": buyer_key(order.buyer),
        "list_amount": price.list_amount,
        "currency": price.currency,
        "success_url": order.success_url,
        "cancel_url": order.cancel_url,
        "metadata": json.dumps(dict(order.metadata)),
        "browser": order.browser,
        "livemode": shop.livemode,
    }
