"""Each transition is told once, by the statement that makes it, and what does not happen is not told."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from tests.support.places import HOLD, Verbs, a_session, code, lapse

from counterfoil import catalogue, errors, outgoing, pricing, reading, verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Checkout, CheckoutStatus, Order, Redemption, RefundPolicy, ReleaseReason, Shop
from counterfoil.verbs import Settled


class Told(Verbs):
    """The verbs, and what they told."""

    def told(self) -> list[str]:
        """The types of all events, oldest first."""
        return [str(event.type) for event in self.events()]

    def events(self) -> list[outgoing.Event]:
        """All events, oldest first."""
        return self.host.run(outgoing.events())[::-1]

    def sale(self, buyer: str, typed: str | None = "NORTH", *, amount: int = 2000) -> Checkout:
        """A checkout of a product that unlocks two things, with a session."""
        found, product = self.host.run(verbs.terms(code=typed, product="hub"))
        assert product
        order = Order(buyer=buyer, product="hub", code=typed, success_url="http://a.test", cancel_url="http://a.test")
        if found is None:
            price = pricing.Price(amount, 0, amount, "gbp")
            sale = self.host.run(
                verbs.begin_checkout(checkout=uuid4(), order=order, product=product, price=price, shop=self.shop)
            )
        else:
            price = pricing.Price(amount, amount // 2, amount - amount // 2, "gbp")
            decision = self.host.run(
                verbs.open_checkout(
                    redemption=uuid4(), checkout=uuid4(), order=order, code=found, product=product, price=price,
                    shop=self.shop,
                )
            )  # fmt: skip
            assert decision.sale, decision.outcome
            sale = decision.sale
        return sale

    def session(self, sale: Checkout) -> str:
        """Attach a session to it."""
        like = sale.redemption or redemption_like(sale)
        session = a_session(f"cs_{sale.id}", like, amount_total=sale.amount)
        assert self.host.run(verbs.attach(sale=sale, session=session, shop=self.shop)).attached
        return session.id

    def says(self, sale: Checkout, verdict: str) -> Settled:
        """Settle its session."""
        like = sale.redemption or redemption_like(sale)
        reference = {
            "checkout": sale.id, "redemption": sale.redemption and sale.redemption.id,
            "counts_with": sale.counts_with, "attempt": sale.redemption and sale.redemption.attempt,
        }  # fmt: skip
        session = a_session(f"cs_{sale.id}", like, amount_total=sale.amount)
        return self.host.run(verbs.settle(session=session, verdict=verdict, reference=reference, shop=self.shop))

    def money(self, settled: Settled, *, back: bool) -> str:
        """The money of a settled session went back, or came back."""
        session = settled.sale.session_id if settled.sale else settled.claim and settled.claim.session_id
        return self.host.run(
            verbs.settle_refund(
                settled=settled, session_id=session or "", money_back=back, disputed=False, shop=self.shop
            )
        ).outcome


def redemption_like(sale: Checkout) -> Any:
    """What a session of a checkout at full price is made like."""

    class Like:
        reserved_at = sale.created_at
        expires_at = sale.created_at + HOLD

    return Like()


@pytest.fixture
def do(host: Psycopg, shop: Shop) -> Told:
    code(host, cap=10, refund_policy=RefundPolicy.RETURN)
    host.run(catalogue.add_product(id="hub", name="Hub", amount=2000, currency="gbp", unlocks=["a", "b"]))
    return Told(host, shop)


def held(do: Told) -> Redemption:
    claim = do.reserve("a")
    do.attach(claim, "cs_1")
    return claim


def settled(do: Told, typed: str | None = "NORTH") -> Settled:
    sale = do.sale("a", typed)
    do.session(sale)
    return do.says(sale, "paid")


GRANTED = ["entitlement.granted"] * 2
REVOKED = ["entitlement.revoked"] * 2
RESERVED = ["redemption.reserved"]
SOLD = [*RESERVED, "redemption.completed", "checkout.paid", *GRANTED]


def superseded(do: Told) -> None:
    sale = do.sale("a")
    found, product = do.host.run(verbs.terms(code="NORTH", product="hub"))
    assert found
    order = Order(buyer="a", product="hub", code="NORTH", success_url="http://a.test", cancel_url="http://a.test")
    decision = do.host.run(
        verbs.open_checkout(
            redemption=uuid4(), checkout=uuid4(), order=order, code=found, product=product,
            price=pricing.Price(2000, 1500, 500, "gbp"), shop=do.shop,
            instead_of=sale.redemption and sale.redemption.id,
        )
    )  # fmt: skip
    assert decision.outcome == "held"


def ended(verdict: str, typed: str | None = "NORTH") -> Callable[[Told], None]:
    def story(do: Told) -> None:
        sale = do.sale("a", typed)
        do.session(sale)
        do.says(sale, verdict)

    return story


def given_up(reason: ReleaseReason) -> Callable[[Told], None]:
    def story(do: Told) -> None:
        sale = do.sale("a")
        assert sale.redemption
        do.release(sale.redemption, reason)

    return story


def cancelled_at_full_price(do: Told) -> None:
    sale = do.sale("a", None)
    do.session(sale)
    do.host.run(verbs.mark_ending(sale=sale, reason=ReleaseReason.CANCELLED, shop=do.shop))
    do.says(sale, "expired")


def delayed(do: Told, typed: str | None = "NORTH") -> None:
    sale = do.sale("a", typed)
    do.session(sale)
    do.says(sale, "pending")
    do.says(sale, "paid")


def late(do: Told) -> None:
    sale = do.sale("a")
    do.session(sale)
    do.says(sale, "expired")
    do.says(sale, "paid")


def refund_failed(do: Told, typed: str | None = "NORTH") -> None:
    sold = settled(do, typed)
    assert do.money(sold, back=True) == "refunded"
    assert do.money(sold, back=False) == "reinstated"


def returned(do: Told) -> None:
    sale = do.sale("a", amount=0)
    do.session(sale)
    claim = do.says(sale, "paid").claim
    assert claim
    assert do.host.run(verbs.return_place(claim=claim, shop=do.shop))[0] == "returned"


#: What happens, and all that is told of it, in order.
STORIES: dict[str, tuple[Callable[[Told], Any], list[str]]] = {
    "reserved": (held, RESERVED),
    "completed": (lambda do: do.settle(held(do), "cs_1", "paid"), [*RESERVED, "redemption.completed"]),
    "pending": (lambda do: do.settle(held(do), "cs_1", "pending"), [*RESERVED, "redemption.pending"]),
    "released": (lambda do: do.release(held(do)), [*RESERVED, "redemption.released"]),
    "sold": (settled, SOLD),
    "sold at full price": (lambda do: settled(do, None), ["checkout.paid", *GRANTED]),
    "delayed": (delayed, [*RESERVED, "redemption.pending", *SOLD[1:]]),
    "delayed at full price": (lambda do: delayed(do, None), ["checkout.paid", *GRANTED]),
    "expired": (ended("expired"), [*RESERVED, "redemption.released", "checkout.expired"]),
    "expired at full price": (ended("expired", None), ["checkout.expired"]),
    "payment failed": (ended("payment_failed"), [*RESERVED, "redemption.released", "checkout.failed"]),
    "payment failed at full price": (ended("payment_failed", None), ["checkout.failed"]),
    "still open": (ended("open"), RESERVED),
    "lapsed": (given_up(ReleaseReason.LAPSED), [*RESERVED, "redemption.released", "checkout.expired"]),
    "creation failed": (
        given_up(ReleaseReason.CREATION_FAILED), [*RESERVED, "redemption.released", "checkout.failed"]
    ),
    "creation failed at full price": (
        lambda do: do.host.run(verbs.end_unpayable(sale=do.sale("a", None), status=CheckoutStatus.FAILED)),
        ["checkout.failed"],
    ),
    "cancelled": (given_up(ReleaseReason.CANCELLED), [*RESERVED, "redemption.released"]),
    "cancelled at full price": (cancelled_at_full_price, []),
    "by hand": (given_up(ReleaseReason.BY_HAND), [*RESERVED, "redemption.released"]),
    "superseded": (superseded, [*RESERVED, "redemption.released", *RESERVED]),
    "late": (late, [*RESERVED, "redemption.released", "checkout.expired", *SOLD[1:]]),
    "refunded": (
        lambda do: do.money(settled(do), back=True), [*SOLD, "redemption.refunded", "checkout.refunded", *REVOKED]
    ),
    "refunded at full price": (
        lambda do: do.money(settled(do, None), back=True),
        ["checkout.paid", *GRANTED, "checkout.refunded", *REVOKED],
    ),
    "refund failed": (
        refund_failed,
        [*SOLD, "redemption.refunded", "checkout.refunded", *REVOKED, *SOLD[1:]],
    ),
    "returned": (returned, [*SOLD, "redemption.refunded", "checkout.refunded", *REVOKED]),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_a_transition_is_told_once(do: Told, name: str) -> None:
    story, expected = STORIES[name]
    story(do)
    assert do.told() == expected


@pytest.mark.parametrize("name", ["sold", "expired", "payment failed", "late", "delayed"])
def test_what_was_settled_before_is_told_no_more(do: Told, name: str) -> None:
    """Another delivery of any event about it, and a wish to give it back."""
    story, expected = STORIES[name]
    story(do)
    sale = do.host.run(verbs.checkouts())[0]
    assert sale.redemption
    for verdict in ("paid", "pending", "expired", "payment_failed") if name != "expired" else ("expired", "pending"):
        if name != "payment failed" or verdict != "paid":
            do.says(sale, verdict)
    do.release(sale.redemption)
    assert do.told() == expected


def test_a_refund_that_keeps_the_place_tells_of_the_checkout_alone(host: Psycopg, shop: Shop) -> None:
    """The redemption stays completed, when the money goes and when it comes back."""
    code(host, cap=10)
    host.run(catalogue.add_product(id="hub", name="Hub", amount=2000, currency="gbp", unlocks=["a", "b"]))
    do = Told(host, shop)
    refund_failed(do)
    assert do.told() == [*SOLD, "checkout.refunded", *REVOKED, "checkout.paid", *GRANTED]


def test_a_payment_over_the_cap_is_told_beside_its_completion(host: Psycopg, shop: Shop) -> None:
    code(host, cap=1)
    do = Told(host, shop)
    late = held(do)
    do.release(late)
    other = do.reserve("b")
    do.settle(late, "cs_1", "paid")
    of_late = [str(event.type) for event in do.events() if event.data.get("id") == str(late.id)]
    assert of_late == [*RESERVED, "redemption.released", "redemption.completed", "redemption.over_cap"]
    assert do.events()[-1].data["over_cap"]
    assert not do.read(other).over_cap


def test_a_lapsed_hold_that_is_taken_back_is_told_before_whoever_took_it(
    host: Psycopg, shop: Shop, connection: psycopg.Connection[Any]
) -> None:
    code(host, cap=1)
    do = Told(host, shop)
    gone = do.reserve("a")
    lapse(connection, gone)
    do.reserve("b")
    assert do.told() == [
        "redemption.reserved", "allocation.threshold", "allocation.full", "redemption.released", "redemption.reserved",
    ]  # fmt: skip
    assert do.events()[3].data["release_reason"] == "lapsed"


def test_a_refusal_tells_nothing(host: Psycopg, shop: Shop) -> None:
    code(host, cap=1)
    do = Told(host, shop)
    do.reserve("a")
    before = do.told()
    with pytest.raises(errors.AllocationHeld):
        do.reserve("b")
    assert do.reserve("a")
    assert do.told() == before


def test_what_is_rolled_back_was_never_told(do: Told, connection: psycopg.Connection[Any]) -> None:
    claim = held(do)
    with connection.transaction(force_rollback=True):
        row = connection.execute(
            "SELECT outcome FROM counterfoil.complete(%s, %s, 'cs_1', now(), '3 s')", (claim.counts_with, claim.id)
        ).fetchone()
        assert row == ("completed",)
        assert do.told() == [*RESERVED, "redemption.completed"]
    assert do.told() == RESERVED


def test_an_event_holds_its_resource_as_it_was_then(do: Told) -> None:
    """Not as it is when somebody reads the event."""
    claim = held(do)
    do.settle(claim, "cs_1", "paid")
    reserved, completed = (reading.redemption(event.data) for event in do.events())
    assert (reserved.status, reserved.session_id, reserved.completed_at) == ("reserved", None, None)
    assert (completed.status, completed.session_id) == ("completed", "cs_1")
    assert completed.completed_at == do.read(claim).completed_at


def test_an_allocation_tells_when_it_fills_up_and_each_time_again(host: Psycopg, shop: Shop) -> None:
    """At four fifths, and when no place is left; not while it stays there."""
    code(host, cap=5)
    do = Told(host, shop)
    claims = [do.reserve(str(number)) for number in range(5)]

    def told() -> list[tuple[str, int]]:
        return [(str(event.type), event.data["held"]) for event in do.events() if event.type.startswith("allocation.")]

    assert told() == [("allocation.threshold", 4), ("allocation.full", 5)]
    do.release(claims[0])
    do.reserve("again")
    assert told()[2:] == [("allocation.full", 5)]
    for claim in claims[1:4]:
        do.release(claim)
    do.reserve("once more")
    do.reserve("and another")
    assert told()[3:] == [("allocation.threshold", 4)]


def test_an_allocation_whose_cap_is_lowered_to_what_is_used_is_full(host: Psycopg, shop: Shop) -> None:
    made = code(host, cap=10)
    do = Told(host, shop)
    do.reserve("a")
    do.settle(do.reserve("b"), "cs_1", "paid")
    period = do.usage().period

    def cap(number: int | None) -> None:
        host.run(catalogue.set_cap(code=made, period=period, cap=number, note="less", confirmed=False, shop=shop))

    cap(2)
    assert do.told()[-2:] == ["allocation.threshold", "allocation.full"]
    usage = reading.usage(do.events()[-1].data)
    assert (usage.code, usage.period, usage.cap, usage.completed, usage.held, usage.note) == (
        "NORTH", period, 2, 1, 1, "less",
    )  # fmt: skip
    count = len(do.told())
    cap(3)
    cap(2)
    assert do.told()[count:] == ["allocation.threshold", "allocation.full"]
    cap(None)
    assert len(do.told()) == count + 2


def test_without_a_cap_nothing_fills_up(host: Psycopg, shop: Shop) -> None:
    code(host, cap=None)
    do = Told(host, shop)
    do.reserve("a")
    assert do.told() == RESERVED


def test_the_events_of_a_purchase_are_in_the_order_of_its_redemption(
    do: Told, connection: psycopg.Connection[Any]
) -> None:
    """Those of its checkout and of what it unlocks too: one subject."""
    sold = settled(do)
    subjects = connection.execute("SELECT DISTINCT subject FROM counterfoil.event").fetchall()
    assert sold.claim
    assert [UUID(subject) for (subject,) in subjects] == [sold.claim.id]
