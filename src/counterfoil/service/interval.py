"""
Reconciling, replaying and tidying at intervals, in one process of many. A convenience: correctness never rests on it.

Whoever moves the task's row forward does it this time. There is no lease to lose: a process that dies at it leaves the
next time standing in the row, and then another one takes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from counterfoil import guessing, outgoing, verbs
from counterfoil.reconcile import reconcile
from counterfoil.replay import replay
from counterfoil.service import idempotency
from counterfoil.service.state import State
from counterfoil.statement import Sql, Statement

log = logging.getLogger(__name__)

TASK = "reconcile"
#: Events of so long ago are replayed: those whose delivery Stripe has given up by now, and no older ones each time.
REPLAYED = timedelta(days=4)
#: How often a process looks whether it is time, in seconds.
LOOK = 60.0


@asynccontextmanager
async def reconciling(state: State) -> AsyncIterator[None]:
    """Do it at COUNTERFOIL_RECONCILE_INTERVAL while the block runs; never, if that is 0."""
    if not state.settings.reconcile_interval:
        yield
        return
    task = asyncio.create_task(_at_intervals(state, state.settings.reconcile_interval))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def once(state: State) -> None:
    """Replay, reconcile, tidy, and say what it came to. Whatever fails, the others are done all the same."""
    for part in (_replay, _reconcile, _tidy):
        try:
            await part(state)
        except Exception:
            log.exception("%s failed, and is tried again", part.__name__.removeprefix("_"))


async def _replay(state: State) -> None:
    report = await state.drive(replay(state.shop, last=REPLAYED))
    for outcome, number in report.outcomes.items():
        state.metrics.settled.labels(outcome).inc(number)
    if report.unsettled:
        log.info("replayed %d events: %s", report.unsettled, dict(report.outcomes))
    if report.missed:
        detail = {"number": report.missed, "url": f"{state.settings.public_url.rstrip('/')}/webhooks/stripe"}
        await state.run(verbs.raise_attention(kind="stripe-webhook-silent", subject="stripe", detail=detail))
    _tell_of(report.interrupted)


async def _reconcile(state: State) -> None:
    report = await state.drive(reconcile(state.shop, apply=True))
    for one in report.findings:
        state.metrics.drift.labels("left" if one.left else "settled").inc()
        log.log(
            logging.WARNING if one.left else logging.INFO,
            "drift: session %s: we said %s, Stripe %s: %s", one.session_id, one.rows, one.stripe, one.done,
        )  # fmt: skip
    _tell_of(report.interrupted)


async def _tidy(state: State) -> None:
    """What a crash left open at full price; what is kept for a time only, in small batches; what was typed on pages."""
    await state.run(verbs.end_forsaken())
    while await state.run(verbs.forget_origins()):
        pass
    while await state.run(idempotency.forget_old()):
        pass
    if state.settings.event_retention:
        while await state.run(outgoing.forget_old(kept=state.settings.event_retention)):
            pass
    await state.run(guessing.forget())


def _tell_of(interrupted: str | None) -> None:
    if interrupted:
        log.warning("it was interrupted, and goes on next time: %s", interrupted)


def plan(interval: timedelta) -> Statement[None]:
    """The first time is one interval from now."""
    return Statement(
        Sql(
            "INSERT INTO counterfoil.task AS t (name, next_at) VALUES (:name::text, counterfoil.clock() + "
            ":interval::interval) ON CONFLICT (name) DO UPDATE SET name = t.name RETURNING t.name"
        ),
        {"name": TASK, "interval": interval},
        lambda _: None,
    )


def claim(interval: timedelta) -> Statement[bool]:
    """
    Whether it is time, and nobody else does it: then the next time is one interval from now.

    A time that lies further ahead than two intervals was written by a clock that was set back since, or under another
    setting: it counts as now.
    """
    return Statement(
        Sql(
            "UPDATE counterfoil.task SET next_at = counterfoil.clock() + :interval::interval WHERE name = :name::text "
            "AND (next_at <= counterfoil.clock() OR next_at > counterfoil.clock() + 2 * :interval::interval) "
            "RETURNING name"
        ),
        {"name": TASK, "interval": interval},
        lambda rows: bool(rows),
    )


async def _at_intervals(state: State, interval: timedelta) -> None:
    planned = False
    while True:
        try:
            if not planned:
                await state.run(plan(interval))
                planned = True
            if await state.run(claim(interval)):
                await once(state)
        except Exception:  # whatever it is, there is a next time
            log.exception("reconciling failed, and is tried again")
        await asyncio.sleep(min(LOOK, interval.total_seconds()))
