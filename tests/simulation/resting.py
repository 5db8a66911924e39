"""
How a run ends: everything comes to rest, and then the rows are what Stripe's truth makes of them.

By then every event that was not lost has been delivered, every delayed payment has ended, and Stripe was asked about
every session, which is what a reconciliation does.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from counterfoil import verbs
from counterfoil.checkout import Opened
from counterfoil.simulator.objects import Document
from tests.simulation.world import BUYERS, DAY, MINUTE, Broken, World

_ROWS = """
SELECT c.id AS sale, c.status AS sale_status, c.session_id AS sale_session, c.unlocks,
    r.id AS redemption, r.status, r.refunded_at, r.over_cap, r.session_id, r.session_expires_at, r.expires_at,
    r.expires_at <= counterfoil.clock() AS over, r.period,
    ARRAY(
        SELECT e.unlock FROM counterfoil.entitlement AS e
        WHERE (e.counts_with, e.checkout_id) = (c.counts_with, c.id) AND e.revoked_at IS NULL
    ) AS unlocked
FROM counterfoil.checkout AS c
LEFT JOIN counterfoil.redemption AS r ON (r.counts_with, r.id) = (c.counts_with, c.redemption_id)
"""


def come_to_rest(world: World) -> None:
    """Let everything end, and everybody hear of it."""
    world.say("everything comes to rest")
    world.down_until = world.lost_until = 0.0
    _finish(world)
    # The clocks are put right: a create call that Stripe finds too near would be refused, which is no leak.
    world.ahead = 0.0
    for _ in range(3):
        world.pass_time(11 * DAY)
        for _ in range(3):
            for event in [world.post.pop() for _ in range(len(world.post))]:
                world.deliver(event, 0)
    if world.post:
        raise Broken(f"never settled: {', '.join(map(world.named, world.post))}")
    world.begin("everything is compared with Stripe", world.reconciling(), 0)


def _finish(world: World) -> None:
    for task in list(world.tasks):
        world.say(f"  goes on: {task.name}")
        world.go_on(task, 0)


def check(world: World) -> None:
    """
    Hold the rows against the truth.

    Raises:
        Broken: They are not what it makes of them.
    """
    world.tell_time()
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in world.ground.run(_ROWS).fetchall()]
    paid: defaultdict[str, list[Document]] = defaultdict(list)
    for session in world.engine.sessions.values():
        if session["payment_status"] in ("paid", "no_payment_required"):
            paid[session["metadata"]["counterfoil_checkout"]].append(session)
    for row in rows:
        _one(world, row, paid.pop(str(row["sale"]), []))
    if paid:
        raise Broken(f"paid for, and there is no checkout: {list(paid)}")
    wrong = world.ground.host.run(verbs.recount())
    if wrong:
        raise Broken(f"the counter is wrong: {wrong}")
    _no_place_leaked(world, rows)


_COLUMNS = (
    "sale", "sale_status", "sale_session", "unlocks", "redemption", "status", "refunded_at", "over_cap", "session_id",
    "session_expires_at", "expires_at", "over", "period", "unlocked",
)  # fmt: skip


def _one(world: World, row: dict[str, Any], paid: list[Document]) -> None:
    """One checkout and its redemption."""
    who = world._of_sale(row["sale"])
    status, sale_status = row["status"], row["sale_status"]
    if row["session_expires_at"] and row["session_expires_at"] >= row["expires_at"]:
        raise Broken(f"{who}: the session outlives its hold")
    happened = world.database.transitions[row["redemption"] or row["sale"]]
    if happened["completed"] != (1 if paid else 0):
        raise Broken(f"{who}: {len(paid)} sessions of it are paid, and it was completed {happened['completed']} times")
    if not paid:
        if sale_status in ("paid", "refunded", "pending") or status in ("completed", "refunded", "pending"):
            raise Broken(f"{who}: nobody paid, and it is {sale_status}, {status}")
        if status == "reserved" and not row["over"]:
            raise Broken(f"{who}: nobody paid, and its place is held")
        if row["unlocked"]:
            raise Broken(f"{who}: nobody paid, and it unlocked {row['unlocked']}")
        return

    if len(paid) > 1 and str(row["redemption"]) not in world.excused:
        raise Broken(f"{who}: paid twice")
    counted = next((one for one in paid if one["id"] == row["sale_session"]), None)
    if counted is None:
        raise Broken(f"{who}: paid in another session than its own")
    gone = _gone(world, counted) or row["redemption"] in world.given_back
    if sale_status != ("refunded" if gone else "paid"):
        raise Broken(f"{who}: {'its money went back' if gone else 'it is paid'}, and it is {sale_status}")
    if sorted(row["unlocked"]) != ([] if gone else sorted(row["unlocks"])):
        raise Broken(f"{who}: it is {sale_status}, and unlocks {row['unlocked']}")
    if row["redemption"] and status not in _places(world, row, counted, gone=gone):
        raise Broken(f"{who}: it is {sale_status}, and its place is {status} by the policy {world.policy}")
    if row["redemption"] and (row["refunded_at"] is not None) != gone:
        raise Broken(f"{who}: it is {sale_status}, and its place says refunded at {row['refunded_at']}")


def _gone(world: World, session: Document) -> bool:
    """Whether all of its money went back."""
    charge = _charge(world, session)
    if charge is None:
        return False
    lost = [one for one in world.engine.disputes.values() if one["charge"] == charge["id"] and one["status"] == "lost"]
    return bool(charge["amount_refunded"] + sum(one["amount"] for one in lost) >= charge["amount"])


def _charge(world: World, session: Document) -> Document | None:
    intent = world.engine.intents.get(session["payment_intent"] or "")
    return world.engine.charges[intent["latest_charge"]] if intent else None


def _places(world: World, row: dict[str, Any], session: Document, *, gone: bool) -> set[str]:
    if not gone:
        return {"completed"}
    if row["redemption"] in world.given_back:
        return {"refunded"}
    charge = _charge(world, session)
    disputed = charge is not None and any(one["charge"] == charge["id"] for one in world.engine.disputes.values())
    match str(world.policy):
        case "keep":
            return {"completed"}
        case "return_unless_disputed" if disputed:
            # It depends on what was heard first, the refund or the dispute.
            return {"completed", "refunded"}
    return {"refunded"}


def _no_place_leaked(world: World, rows: list[dict[str, Any]]) -> None:
    """Exactly what is not spent can be had: new buyers come until one is refused."""
    code = world.ground.host.run(verbs.usage(code="A"))
    spent = sum(row["status"] == "completed" and row["period"] == code.period for row in rows)
    world.ground.run("UPDATE counterfoil.code SET paused_at = NULL")
    world.said.append("new buyers come until one is refused")
    admitted: list[Opened] = []
    for number in range(world.cap + 1):
        before = len(admitted)
        world.open(BUYERS + number, "hub", "A", 0, admitted.append)
        if len(admitted) == before:
            break
    if len(admitted) != max(0, world.cap - spent):
        raise Broken(f"{spent} of {world.cap} places are spent, and {len(admitted)} more can be had")
    world.pass_time(MINUTE)
