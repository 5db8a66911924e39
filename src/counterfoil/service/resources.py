"""The nouns as the API shows them. These models are the OpenAPI document's, and the fields are the contract's."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field, PlainSerializer

from counterfoil import model, reading
from counterfoil.attention import Matter
from counterfoil.audit import Entry
from counterfoil.outgoing import Delivery, Endpoint, Event
from counterfoil.periods import NamedPeriod
from counterfoil.pricing import AmountOff, Discount, PercentOff

T = TypeVar("T")

#: RFC 3339, in UTC.
Moment = Annotated[
    datetime,
    PlainSerializer(
        lambda moment: moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        return_type=str,
        when_used="json",
    ),
]


class Page(BaseModel, Generic[T]):
    """One page of a list, newest first. Give *next_cursor* as `cursor` for the next; null ends it."""

    data: list[T]
    next_cursor: str | None


class InstitutionOut(BaseModel):
    """A school, college or employer."""

    id: str
    slug: str
    name: str
    time_zone: str
    year_start: str = Field(examples=["09-01"])
    created_at: Moment

    @classmethod
    def of(cls, institution: model.Institution) -> InstitutionOut:
        """An institution as it is shown."""
        return cls(
            id=str(institution.id),
            slug=institution.slug,
            name=institution.name,
            time_zone=institution.time_zone,
            year_start=institution.year_start,
            created_at=institution.created_at,
        )


def discount_out(discount: Discount) -> dict[str, Any]:
    """
    A discount as it is shown: one of percent, amount_off and price, an amount with its currency.

    *currencies* and *at_most* are there only where something is said of them.
    """
    if isinstance(discount, PercentOff):
        whole = discount.percent == discount.percent.to_integral_value()
        bound = {"at_most": dict(discount.at_most)} if discount.at_most else {}
        return {"percent": int(discount.percent) if whole else float(discount.percent), **bound}
    others = {"currencies": dict(discount.currencies)} if discount.currencies else {}
    if isinstance(discount, AmountOff):
        return {"amount_off": discount.amount_off, "currency": discount.currency, **others}
    return {"price": discount.price, "currency": discount.currency, **others}


class CodeOut(BaseModel):
    """A code. *cap* is that of every period without an allocation of its own; null is no cap."""

    id: str
    institution: str
    code: str
    cap: int | None
    discount: dict[str, Any]
    calendar: str
    per_buyer_limit: int | None
    starts_on: date | None
    ends_on: date | None
    products: list[str] | None
    refund_policy: str
    counts_with: str | None
    paused: bool
    buyer_identity: str
    period: str | None = Field(description="The key of the period that is now; null if no period was given it yet.")
    created_at: Moment
    replaced_by: str | None = Field(description="The code in force instead of this one, for good.")

    @classmethod
    def of(cls, code: model.Code) -> CodeOut:
        """A code as it is shown."""
        return cls(
            id=str(code.id),
            institution=code.institution,
            code=code.code,
            cap=code.cap,
            discount=discount_out(code.discount),
            calendar=str(code.calendar),
            per_buyer_limit=code.per_buyer_limit,
            starts_on=code.starts_on,
            ends_on=code.ends_on,
            products=list(code.products) if code.products is not None else None,
            refund_policy=str(code.refund_policy),
            counts_with=code.counts_with,
            paused=code.paused,
            buyer_identity=str(code.buyer_identity),
            period=code.period or None,
            created_at=code.created_at,
            replaced_by=code.replaced_by,
        )


class UsageOut(BaseModel):
    """How full one allocation is. *cap* and *remaining* are null where there is no cap."""

    code: str
    period: str
    cap: int | None
    completed: int
    pending: int
    held: int
    remaining: int | None
    over: int
    next_release_at: Moment | None
    note: str | None
    starts_on: date | None = Field(description="The first local day of the period.")
    ends_on: date | None = Field(description="The last local day of the period, included whole.")

    @classmethod
    def of(cls, usage: model.Usage) -> UsageOut:
        """A usage as it is shown."""
        return cls(
            code=usage.code,
            period=usage.period,
            cap=usage.cap,
            completed=usage.completed,
            pending=usage.pending,
            held=usage.held,
            remaining=usage.remaining,
            over=usage.over,
            next_release_at=usage.next_release_at,
            note=usage.note,
            starts_on=usage.starts_on,
            ends_on=usage.ends_on,
        )


class PeriodOut(BaseModel):
    """A period with a name: local days of the institution, both included whole."""

    code: str
    period: str
    starts_on: date
    ends_on: date

    @classmethod
    def of(cls, code: model.Code, period: NamedPeriod) -> PeriodOut:
        """A period as it is shown."""
        return cls(code=code.code, period=period.name, starts_on=period.starts_on, ends_on=period.ends_on)


class ProductOut(BaseModel):
    """What is sold. *amount* in minor units."""

    id: str
    name: str
    description: str
    amount: int
    currency: str
    unlocks: list[str]
    created_at: Moment

    @classmethod
    def of(cls, product: model.Product) -> ProductOut:
        """A product as it is shown."""
        return cls(
            id=product.id,
            name=product.name,
            description=product.description,
            amount=product.amount,
            currency=product.currency,
            unlocks=list(product.unlocks),
            created_at=product.created_at,
        )


class RedemptionOut(BaseModel):
    """One buyer's claim on one place. *lapsed*: still reserved, and its time is over."""

    id: str
    code: str
    period: str
    status: str
    lapsed: bool
    buyer: str
    reserved_at: Moment
    expires_at: Moment
    session_id: str | None
    session_expires_at: Moment | None
    completed_at: Moment | None
    released_at: Moment | None
    release_reason: str | None
    over_cap: bool

    @classmethod
    def of(cls, claim: model.Redemption) -> RedemptionOut:
        """A redemption as it is shown."""
        return cls(
            id=str(claim.id),
            code=claim.code,
            period=claim.period,
            status=str(claim.status),
            lapsed=claim.lapsed,
            buyer=claim.buyer,
            reserved_at=claim.reserved_at,
            expires_at=claim.expires_at,
            session_id=claim.session_id,
            session_expires_at=claim.session_expires_at,
            completed_at=claim.completed_at,
            released_at=claim.released_at,
            release_reason=str(claim.release_reason) if claim.release_reason else None,
            over_cap=claim.over_cap,
        )


class ReleasedOut(RedemptionOut):
    """A redemption that was to be released or returned, and whether that changed nothing: its status says why."""

    already_settled: bool


class CheckoutOut(BaseModel):
    """One attempt to buy. *url* is the payment page, while the checkout is open."""

    id: str
    status: str
    url: str | None
    session_id: str | None
    session_expires_at: Moment | None
    amount: int
    list_amount: int
    discount_amount: int
    currency: str
    buyer: str
    product: str | None
    name: str
    metadata: dict[str, str]
    payment_intent: str | None
    livemode: bool
    redemption: RedemptionOut | None
    created_at: Moment
    paid_at: Moment | None

    @classmethod
    def of(cls, sale: model.Checkout) -> CheckoutOut:
        """A checkout as it is shown."""
        return cls(
            id=str(sale.id),
            status=str(sale.status),
            url=sale.session_url if sale.status is model.CheckoutStatus.OPEN else None,
            session_id=sale.session_id,
            session_expires_at=sale.session_expires_at,
            amount=sale.amount,
            list_amount=sale.list_amount,
            discount_amount=sale.discount_amount,
            currency=sale.currency,
            buyer=sale.buyer,
            product=sale.product,
            name=sale.name,
            metadata=dict(sale.metadata),
            payment_intent=sale.payment_intent,
            livemode=sale.livemode,
            redemption=RedemptionOut.of(sale.redemption) if sale.redemption else None,
            created_at=sale.created_at,
            paid_at=sale.paid_at,
        )


class QuoteOut(BaseModel):
    """What would be charged now. Nothing is held; *refusal* is the problem code of why it could not be bought."""

    list_amount: int
    discount_amount: int
    amount: int
    currency: str
    code: str | None
    period: str | None
    available: bool
    refusal: str | None


class EntitlementOut(BaseModel):
    """What a paid checkout opened."""

    unlock: str
    product: str | None
    checkout: str
    buyer: str
    granted_at: Moment
    revoked_at: Moment | None

    @classmethod
    def of(cls, entitlement: model.Entitlement) -> EntitlementOut:
        """An entitlement as it is shown."""
        return cls(
            unlock=entitlement.unlock,
            product=entitlement.product,
            checkout=str(entitlement.checkout),
            buyer=entitlement.buyer,
            granted_at=entitlement.granted_at,
            revoked_at=entitlement.revoked_at,
        )


class MatterOut(BaseModel):
    """What a person must look at. *sentence* says what happened, *mend* what to do; *detail* depends on the kind."""

    id: str
    kind: str
    subject: str
    sentence: str
    mend: str
    detail: dict[str, Any]
    raised_at: Moment
    resolved_at: Moment | None

    @classmethod
    def of(cls, matter: Matter) -> MatterOut:
        """A matter as it is shown."""
        return cls(
            id=str(matter.id),
            kind=matter.kind,
            subject=matter.subject,
            sentence=matter.sentence,
            mend=matter.mend,
            detail=dict(matter.detail),
            raised_at=matter.raised_at,
            resolved_at=matter.resolved_at,
        )


class ActorOut(BaseModel):
    """Whoever did it: an account, a key, the command line, or the database's own user."""

    kind: str
    id: str | None
    name: str


class AuditOut(BaseModel):
    """One change: by whom, of what, and what was different before and after, without secrets."""

    id: str
    at: Moment
    actor: ActorOut
    action: str
    subject: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @classmethod
    def of(cls, entry: Entry) -> AuditOut:
        """An entry as it is shown."""
        return cls(
            id=str(entry.id),
            at=entry.at,
            actor=ActorOut(kind=entry.actor.kind, id=entry.actor.id, name=entry.actor.name),
            action=entry.action,
            subject=entry.subject,
            before=dict(entry.before) if entry.before is not None else None,
            after=dict(entry.after) if entry.after is not None else None,
        )


class EventOut(BaseModel):
    """What became true. *data* is the redemption, checkout, entitlement or usage that *type* names, as it was then."""

    id: str
    type: str
    created_at: Moment
    livemode: bool
    data: RedemptionOut | CheckoutOut | EntitlementOut | UsageOut

    @classmethod
    def of(cls, event: Event, *, livemode: bool) -> EventOut:
        """An event as it is shown, and as it is sent."""
        data: RedemptionOut | CheckoutOut | EntitlementOut | UsageOut
        match event.type.partition(".")[0]:
            case "redemption":
                data = RedemptionOut.of(reading.redemption(event.data))
            case "checkout":
                data = CheckoutOut.of(reading.checkout(event.data))
            case "entitlement":
                data = EntitlementOut.of(reading.entitlement(event.data))
            case _:
                data = UsageOut.of(reading.usage(event.data))
        return cls(id=event.id, type=str(event.type), created_at=event.created_at, livemode=livemode, data=data)


class EndpointOut(BaseModel):
    """Where events are sent. *types*: which; null for all there are and will be."""

    id: str
    url: str
    types: list[str] | None
    created_at: Moment

    @classmethod
    def of(cls, endpoint: Endpoint) -> EndpointOut:
        """An endpoint as it is shown."""
        return cls(
            id=str(endpoint.id),
            url=endpoint.url,
            types=[str(type) for type in endpoint.types] if endpoint.types is not None else None,
            created_at=endpoint.created_at,
        )


class EndpointMadeOut(EndpointOut):
    """An endpoint that was just made. *secret* signs what is sent to it; null where the answer is a replay."""

    secret: str | None


class DeliveryOut(BaseModel):
    """How far an event came on its way: waiting for *next_attempt_at*, delivered, or given_up."""

    event: str
    type: str
    status: str
    attempts: int
    next_attempt_at: Moment | None
    delivered_at: Moment | None
    last_attempt_at: Moment | None
    last_status: int | None
    last_error: str | None

    @classmethod
    def of(cls, delivery: Delivery) -> DeliveryOut:
        """A delivery as it is shown."""
        return cls(
            event=delivery.event,
            type=str(delivery.type),
            status=delivery.status,
            attempts=delivery.attempts,
            next_attempt_at=delivery.next_attempt_at,
            delivered_at=delivery.delivered_at,
            last_attempt_at=delivery.last_attempt_at,
            last_status=delivery.last_status,
            last_error=delivery.last_error,
        )


class ProblemOut(BaseModel):
    """An error (RFC 9457). *type* is a page that says what to do; a code may bring more fields."""

    type: str
    title: str
    status: int
    detail: str
    code: str
