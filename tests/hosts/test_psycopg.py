"""psycopg, sync and async: the same verbs, and where a place is not decided."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from tests.support.places import HOLD, code
from tests.support.races import until

from counterfoil import catalogue, checkout, ending, errors, movable_clock, verbs
from counterfoil.clocks import Clocks
from counterfoil.hosts.psycopg import AsyncPsycopg, Psycopg
from counterfoil.model import CheckoutStatus, Order, Redemption, RedemptionStatus, ReleaseReason, Shop
from counterfoil.procedure import adrive
from counterfoil.simulator import Fault, Running
from counterfoil.statement import AllOrNone, Statement
from counterfoil.stripe.drivers import AsyncStripe

PATIENCE = timedelta(seconds=3)


def place(buyer: str) -> Statement[Redemption]:
    """A place for a buyer."""
    return verbs.reserve(id=uuid4(), code="NORTH", buyer=buyer, hold=HOLD, lock_timeout=PATIENCE)


class TestWhereAPlaceIsDecided:
    """Never inside a transaction of the caller: no lock over the network, and no row that goes with a rollback."""

    def test_not_without_autocommit(self, database: str, host: Psycopg) -> None:
        code(host)
        with psycopg.connect(database) as connection, pytest.raises(errors.InsideTransaction):
            Psycopg(connection).run(place("a"))
        assert host.run(verbs.usage(code="NORTH")).held == 0

    def test_not_in_an_open_transaction(self, database: str, host: Psycopg) -> None:
        code(host)
        with (
            psycopg.connect(database, autocommit=True) as connection,
            connection.transaction(),
            pytest.raises(errors.InsideTransaction),
        ):
            Psycopg(connection).run(place("a"))

    @pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
    def test_not_at_another_isolation(self, database: str, host: Psycopg, isolation: str) -> None:
        """It would not see the place that was taken while it waited."""
        code(host)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"SET default_transaction_isolation = '{isolation}'".encode())
            with pytest.raises(psycopg.Error, match="READ COMMITTED"):
                Psycopg(connection).run(place("a"))
        assert host.run(verbs.usage(code="NORTH")).held == 0

    def test_reading_joins_the_callers(self, database: str, host: Psycopg) -> None:
        code(host)
        with psycopg.connect(database) as connection:
            assert Psycopg(connection).run(verbs.usage(code="NORTH")).held == 0

    def test_from_a_pool(self, database: str, host: Psycopg) -> None:
        code(host)
        with ConnectionPool(
            database, min_size=1, kwargs={"autocommit": True}, connection_class=psycopg.Connection[Any]
        ) as pool:
            assert Psycopg(pool).run(place("a")).buyer == "a"


class Async:
    """An async shop."""

    def __init__(self, database: AsyncPsycopg, stripe: AsyncStripe, shop: Shop) -> None:
        self.database, self.stripe, self.shop = database, stripe, shop

    async def open(self, buyer: str, code: str | None = "NORTH") -> checkout.Opened:
        order = Order(
            buyer=buyer, product="hub", code=code, success_url="http://127.0.0.1/", cancel_url="http://127.0.0.1/"
        )
        return await adrive(checkout.open_checkout(order, self.shop), self.database, self.stripe)


@pytest.fixture
async def till(database: str, host: Psycopg, simulator: Running) -> AsyncIterator[Async]:
    host.run(catalogue.add_product(id="hub", name="Hub", amount=2000, currency="gbp", unlocks=["hub"]))
    code(host, cap=1)
    clocks = Clocks(stripe_timeout=timedelta(seconds=1), stripe_attempts=1)
    stripe = AsyncStripe("sk_test_async", clocks, simulator.base_url)
    async with AsyncConnectionPool(
        database, min_size=1, kwargs={"autocommit": True}, connection_class=psycopg.AsyncConnection[Any], open=False
    ) as pool:
        yield Async(AsyncPsycopg(pool), stripe, Shop(clocks=clocks, livemode=False))
    await stripe.close()


class TestAsync:
    async def test_the_same_from_async_code(self, till: Async, simulator: Running) -> None:
        opened = await till.open("a")
        assert opened.checkout.redemption
        with pytest.raises(errors.AllocationHeld):
            await till.open("b")
        cancelled = await adrive(ending.cancel(opened.checkout, till.shop), till.database, till.stripe)
        assert cancelled.status is CheckoutStatus.CANCELLED
        assert simulator.session(str(opened.checkout.session_id))["status"] == "expired"

    async def test_not_in_an_open_transaction(self, till: Async, database: str) -> None:
        async with await psycopg.AsyncConnection.connect(database) as connection:
            with pytest.raises(errors.InsideTransaction):
                await AsyncPsycopg(connection).run(place("a"))

    async def test_cancelled_while_stripe_is_asked(self, till: Async, host: Psycopg, simulator: Running) -> None:
        """The client went away: the place is given back before the cancellation goes on."""
        simulator.fail_next(Fault("lost_before", "POST", "/v1/checkout/sessions"))
        task = asyncio.create_task(till.open("a"))

        def asked() -> bool:
            return not simulator.account.faults.waiting

        await asyncio.to_thread(until, asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        claim = host.run(verbs.redemptions(most=1))[0]
        assert (claim.status, claim.release_reason) == (RedemptionStatus.RELEASED, ReleaseReason.CREATION_FAILED)
        assert (await till.open("b")).checkout.status is CheckoutStatus.OPEN

    async def test_cancelled_again_while_it_is_given_back(self, till: Async, host: Psycopg, simulator: Running) -> None:
        simulator.fail_next(Fault("lost_before", "POST", "/v1/checkout/sessions"))
        task = asyncio.create_task(till.open("a"))
        await asyncio.to_thread(until, lambda: not simulator.account.faults.waiting)
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.run(verbs.usage(code="NORTH")).held == 0

    async def test_a_call_has_its_budget(self, till: Async, host: Psycopg, simulator: Running) -> None:
        """Stripe answers a byte at a time: no read runs into its own time-out, and the call ends all the same."""
        simulator.fail_next(Fault("drip", "POST", "/v1/checkout/sessions", seconds=6))
        with pytest.raises(errors.StripeUnavailable) as refused:
            await till.open("a")
        assert refused.value.fields["stripe_code"] is None
        assert host.run(verbs.usage(code="NORTH")).held == 0


def test_an_academic_year_that_ends_while_a_hold_is_open(
    host: Psycopg, connection: psycopg.Connection[Any], shop: Shop, simulator: Running
) -> None:
    """Reserved before midnight and paid after it: it counts in the old year, and the new year is empty."""
    from tests.support.places import Verbs

    do = Verbs(host, shop)
    code(host, cap=1)
    now = connection.execute("SELECT now()").fetchone()
    assert now
    year = now[0].year if (now[0].month, now[0].day) < (8, 31) else now[0].year + 1
    # 22:50 UTC is 23:50 in London in August: ten minutes before the year turns.
    before = now[0].replace(year=year, month=8, day=31, hour=22, minute=50, second=0)
    ahead = simulator.account.engine.clock.ahead
    movable_clock.set_ahead(connection, before - now[0])
    try:
        claim = do.reserve("a")
        assert do.attach(claim, "cs_1") == "attached"
        movable_clock.set_ahead(connection, before - now[0] + timedelta(minutes=15))
        assert do.settle(claim, "cs_1", "paid").outcome == "completed"
        assert do.read(claim).period == f"{year - 1}-{year % 100:02}"
        usage = do.usage()
        assert (usage.period, usage.completed) == (f"{year}-{(year + 1) % 100:02}", 0)
        assert do.reserve("b").period == usage.period
    finally:
        movable_clock.set_ahead(connection, ahead)


class TestSeveralAtOnce:
    """All of them take effect, or none."""

    def two(self, *, second: str) -> AllOrNone[Any]:
        return AllOrNone(
            tuple(catalogue.add_product(id=id, name=id, amount=1, currency="gbp", unlocks=[]) for id in ("hub", second))
        )

    @pytest.mark.parametrize("pooled", [True, False])
    def test_sync(self, database: str, host: Psycopg, pooled: bool) -> None:
        with ConnectionPool(database, kwargs={"autocommit": True}, min_size=1, max_size=1) as pool:
            several = Psycopg(pool) if pooled else host
            with pytest.raises(errors.AlreadyExists):
                several.run_all(self.two(second="hub"))
            assert host.run(catalogue.products()) == []
            assert [one.id for one in several.run_all(self.two(second="day"))] == ["hub", "day"]
            assert len(host.run(catalogue.products())) == 2

    @pytest.mark.parametrize("pooled", [True, False])
    def test_async(self, database: str, host: Psycopg, pooled: bool) -> None:
        async def both(several: AsyncPsycopg) -> None:
            with pytest.raises(errors.AlreadyExists):
                await several.run_all(self.two(second="hub"))
            assert host.run(catalogue.products()) == []
            assert [one.id for one in await several.run_all(self.two(second="day"))] == ["hub", "day"]

        async def run() -> None:
            if pooled:
                async with AsyncConnectionPool(database, kwargs={"autocommit": True}, min_size=1, max_size=1) as pool:
                    await both(AsyncPsycopg(pool))
            else:
                async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
                    await both(AsyncPsycopg(connection))

        asyncio.run(run())
        assert len(host.run(catalogue.products())) == 2

    def test_no_place_is_decided_among_them(self, host: Psycopg) -> None:
        code(host)
        with pytest.raises(errors.InsideTransaction):
            host.run_all(AllOrNone((place("a"),)))
        assert host.run(verbs.usage(code="NORTH")).held == 0
