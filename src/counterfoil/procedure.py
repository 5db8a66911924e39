"""
A procedure: where Stripe and the database must take turns.

It is a generator that yields what it wants done (a statement or several at once, a call to Stripe, a pause) and is sent
the answer, or has the failure thrown into it. The two drivers here run it, sync and async; a test can run it with
neither.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from counterfoil.calls import Pause, StripeCall, Together
from counterfoil.statement import AllOrNone, Statement

T = TypeVar("T")
R = TypeVar("R")

Step = Statement[Any] | AllOrNone[Any] | StripeCall | Together | Pause

Procedure = Generator[Step, Any, R]


class Database(Protocol):
    """A host: runs statements, each that decides on an autocommit connection."""

    def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        ...

    def run_all(self, together: AllOrNone[T]) -> list[T]:
        """Run several statements in one transaction."""
        ...


class AsyncDatabase(Protocol):
    """A host for ``async`` code."""

    async def run(self, statement: Statement[T]) -> T:
        """Run one statement and read its answer."""
        ...

    async def run_all(self, together: AllOrNone[T]) -> list[T]:
        """Run several statements in one transaction."""
        ...


class Stripe(Protocol):
    """Carries out the calls of ``calls.py``."""

    def carry_out(self, call: StripeCall) -> Any:
        """Carry out one call."""
        ...


class NoStripe:
    """For procedures that ask Stripe nothing."""

    def carry_out(self, call: StripeCall) -> Any:
        """There is nothing to carry out."""
        raise AssertionError(f"{call} is asked of no Stripe")


class AsyncStripe(Protocol):
    """Carries out the calls of ``calls.py``, for ``async`` code."""

    async def carry_out(self, call: StripeCall) -> Any:
        """Carry out one call."""
        ...


def drive(procedure: Procedure[R], database: Database, stripe: Stripe) -> R:
    """
    Run a procedure to its end.

    Raises:
        Refusal: What the procedure refuses.
    """
    try:
        step = next(procedure)
        while True:
            try:
                answer = perform(step, database, stripe)
            except BaseException as failure:  # noqa: BLE001 (whatever it is, the procedure is told)
                step = procedure.throw(failure)
            else:
                step = procedure.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def adrive(procedure: Procedure[R], database: AsyncDatabase, stripe: AsyncStripe) -> R:
    """
    Run a procedure to its end, in ``async`` code.

    A cancellation reaches the procedure at the step it interrupts. What the procedure then still does, such as giving
    the place back, is carried out before the cancellation goes on.

    Raises:
        Refusal: What the procedure refuses.
    """
    cancelled = False
    try:
        step = next(procedure)
        while True:
            try:
                doing = aperform(step, database, stripe)
                answer = await (_to_the_end(doing) if cancelled else doing)
            except BaseException as failure:  # noqa: BLE001 (whatever it is, the procedure is told)
                cancelled = cancelled or isinstance(failure, asyncio.CancelledError)
                step = procedure.throw(failure)
            else:
                step = procedure.send(answer)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def perform(step: Step, database: Database, stripe: Stripe) -> Any:
    """Do what one step wants done."""
    match step:
        case Statement():
            return database.run(step)
        case AllOrNone():
            return database.run_all(step)
        case Pause(seconds):
            return time.sleep(seconds)
        case Together(calls):

            def answer(call: StripeCall) -> Any:
                try:
                    return stripe.carry_out(call)
                except Exception as failure:  # noqa: BLE001 (it is the answer)
                    return failure

            with ThreadPoolExecutor(max(len(calls), 1)) as threads:
                return list(threads.map(answer, calls))
        case _:
            return stripe.carry_out(step)


async def aperform(step: Step, database: AsyncDatabase, stripe: AsyncStripe) -> Any:
    """Do what one step wants done."""
    match step:
        case Statement():
            return await database.run(step)
        case AllOrNone():
            return await database.run_all(step)
        case Pause(seconds):
            return await asyncio.sleep(seconds)
        case Together(calls):
            return await asyncio.gather(*map(stripe.carry_out, calls), return_exceptions=True)
        case _:
            return await stripe.carry_out(step)


async def _to_the_end(work: Any) -> Any:
    """Finish *work* whatever else is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return task.result()
