"""The nouns: frozen values and enums. No SQL, no Stripe, no web. Amounts in minor units, times in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from counterfoil.clocks import Clocks
from counterfoil.periods import Calendar
from counterfoil.pricing import Discount

#: See `Shop`.
HOLDS_PER_ADDRESS = 5


class RedemptionStatus(StrEnum):
    """The states of a redemption. *Lapsed* is none of them: the clock says it of a reserved one."""

    RESERVED = "reserved"
    PENDING = "pending"
    COMPLETED = "completed"
    RELEASED = "released"
    REFUNDED = "refunded"


class CheckoutStatus(StrEnum):
    """The states of a checkout."""

    OPEN = "open"
    PENDING = "pending"
    PAID = "paid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REFUNDED = "refunded"


class ReleaseReason(StrEnum):
    """Why a place was given back."""

    CREATION_FAILED = "creation_failed"
    SESSION_EXPIRED = "session_expired"
    CANCELLED = "cancelled"
    PAYMENT_FAILED = "payment_failed"
    SUPERSEDED = "superseded"
    BY_HAND = "by_hand"
    LAPSED = "lapsed"


class RefundPolicy(StrEnum):
    """What a full refund does to the place: by default a place paid for is spent for good."""

    KEEP = "keep"
    RETURN = "return"
    RETURN_UNLESS_DISPUTED = "return_unless_disputed"


class BuyerIdentity(StrEnum):
    """When two buyers are the same to a code: by the address as it is compared, or by the mailbox that it reaches."""

    ADDRESS = "address"
    MAILBOX = "mailbox"


@dataclass(frozen=True)
class Institution:
    """A school, college or employer that was given a code. Its years start on *year_start* ("09-01") in its zone."""

    id: int
    slug: str
    name: str
    time_zone: str
    year_start: str
    created_at: datetime


@dataclass(frozen=True)
class Product:
    """What is sold. *unlocks* names what a paid checkout of it opens."""

    id: str
    name: str
    description: str
    amount: int
    currency: str
    unlocks: tuple[str, ...]
    created_at: datetime
    version: int = 1


@dataclass(frozen=True)
class Code:
    """
    What a buyer types.

    Attributes:
        cap: That of every period without an allocation of its own; None is no cap.
        calendar: By which it is counted: that of the code it counts with, if it does.
    """

    id: int
    institution: str
    institution_name: str
    time_zone: str
    code: str
    cap: int | None
    discount: Discount
    calendar: Calendar
    per_buyer_limit: int | None
    starts_on: date | None
    ends_on: date | None
    products: tuple[str, ...] | None
    refund_policy: RefundPolicy
    counts_with: str | None
    paused: bool
    version: int
    created_at: datetime
    #: The key of the period that is now, in the institution's zone. Between two named periods it is the next one's;
    #: after the last of them the last one's; empty where there is none.
    period: str
    #: The code in force instead of this one, for good.
    replaced_by: str | None = None
    #: That of the code whose allocations it counts against. Fixed when that was made.
    buyer_identity: BuyerIdentity = BuyerIdentity.ADDRESS


@dataclass(frozen=True)
class Usage:
    """How full one allocation is. *cap* and *remaining* are None where there is no cap."""

    code: str
    period: str
    cap: int | None
    completed: int
    pending: int
    held: int
    next_release_at: datetime | None
    note: str | None = None
    #: The local days of the period, both within it; None where it has no such bound.
    starts_on: date | None = None
    ends_on: date | None = None

    @property
    def remaining(self) -> int | None:
        """Places that can be reserved now. A lapsed hold counts as free: it is asked about when it is wanted."""
        return None if self.cap is None else max(0, self.cap - self.completed - self.pending - self.held)

    @property
    def over(self) -> int:
        """How many paid or paying places there are above the cap: late payments that were honoured."""
        return 0 if self.cap is None else max(0, self.completed + self.pending - self.cap)


@dataclass(frozen=True)
class Redemption:
    """One buyer's claim on one place of one allocation."""

    id: UUID
    code: str
    counts_with: int
    period: str
    status: RedemptionStatus
    buyer: str
    reserved_at: datetime
    expires_at: datetime
    attempt: int
    session_id: str | None
    session_url: str | None
    session_expires_at: datetime | None
    former_sessions: tuple[str, ...]
    completed_at: datetime | None
    released_at: datetime | None
    release_reason: ReleaseReason | None
    #: When its payment was found to have gone back in full, whatever the code's refund policy made of the place.
    refunded_at: datetime | None
    over_cap: bool
    #: The database's clock when the row was read: what its times are compared with.
    read_at: datetime
    #: When its session was complete and not yet paid: a delayed payment.
    pending_at: datetime | None = None
    #: Since when it has its session.
    attached_at: datetime | None = None

    @property
    def lapsed(self) -> bool:
        """Still reserved, and its time is over: its place is free for the next buyer."""
        return self.status is RedemptionStatus.RESERVED and self.expires_at <= self.read_at

    @property
    def last_session(self) -> str | None:
        """
        The one session of it that may be payable still: its own, or else that of the attempt before. An earlier one
        was ended before the next was made.
        """
        return self.session_id or (self.former_sessions[-1] if self.former_sessions else None)


@dataclass(frozen=True)
class Checkout:
    """One attempt to buy one product. It has a redemption only if a code was applied."""

    id: UUID
    counts_with: int
    redemption: Redemption | None
    product: str | None
    name: str
    buyer: str
    list_amount: int
    discount_amount: int
    amount: int
    currency: str
    status: CheckoutStatus
    success_url: str
    cancel_url: str
    metadata: Mapping[str, str]
    browser: str | None
    session_id: str | None
    session_url: str | None
    session_expires_at: datetime | None
    payment_intent: str | None
    livemode: bool
    created_at: datetime
    paid_at: datetime | None

    @property
    def last_session(self) -> str | None:
        """The one session of it that may be payable still."""
        return self.session_id or (self.redemption.last_session if self.redemption else None)


@dataclass(frozen=True)
class Entitlement:
    """What a paid checkout opened to its buyer, until a full refund takes it back."""

    unlock: str
    product: str | None
    checkout: UUID
    buyer: str
    granted_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class Charge:
    """What became of the money of a session: *amount* was charged, *amount_refunded* has gone back by refunds."""

    amount: int
    amount_refunded: int
    disputed: bool


@dataclass(frozen=True)
class Dispute:
    """A buyer's bank asks for money back. *status* is Stripe's: ``won``, ``lost``, or not decided yet."""

    id: str
    status: str
    amount: int


@dataclass(frozen=True)
class Session:
    """
    What Stripe says of a Checkout Session at one moment.

    Attributes:
        intent_status: How its payment stands (``processing``, ``requires_payment_method``, ...); None if not known.
        charge: The money that was taken; None if none was, or it is not known.
    """

    id: str
    status: str
    payment_status: str
    url: str | None
    created: datetime
    expires_at: datetime
    amount_total: int | None
    currency: str | None
    payment_intent: str | None
    metadata: Mapping[str, str]
    recovered_from: str | None
    livemode: bool
    intent_status: str | None = None
    charge: Charge | None = None


@dataclass(frozen=True)
class SessionPage:
    """One page of sessions, newest first; *more*: there are older ones, after the last."""

    sessions: tuple[Session, ...]
    more: bool


@dataclass(frozen=True)
class StripeEvent:
    """
    An event of Stripe's, from a good signature or from Stripe's own list, in either shape.

    Attributes:
        payment_intent: Of what it is about, where the event says so.
        created_at: Where the event says so in Stripe's older shape, as it does on Stripe's list.
    """

    id: str
    type: str
    object_id: str | None
    livemode: bool
    payment_intent: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True)
class EventPage:
    """One page of events, newest first; *more*: there are older ones, after the last."""

    events: tuple[StripeEvent, ...]
    more: bool


@dataclass(frozen=True)
class Order:
    """
    What a buyer asks for: a product of ours, or a *name* and *amount* of the caller's own; at a code, or not.

    *browser* is the digest of the cookie of the browser that asks, on pages, and *origin* a keyed digest of the address
    it asks from; a caller with a key has neither.
    """

    buyer: str
    success_url: str
    cancel_url: str
    product: str | None = None
    name: str | None = None
    amount: int | None = None
    currency: str | None = None
    code: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    browser: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class Shop:
    """
    What is the same for every checkout of a seller: the clocks, the Stripe mode, the payment methods.

    *holds_per_address* is how many holds of the last places of a code one address may leave unpaid in a day, besides
    what those earn that it pays; 0 for any number.
    """

    clocks: Clocks
    livemode: bool
    payment_methods: tuple[str, ...] = ("card",)
    holds_per_address: int = HOLDS_PER_ADDRESS

    @property
    def lock_timeout(self) -> timedelta:
        """How long a buyer waits for an allocation's lock before *busy*."""
        return self.clocks.lock_timeout


def metadata_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Metadata as Stripe knows it: text to text."""
    return {str(key): str(value) for key, value in document.items()}
