"""Every state of a row against everything that a session can say: it is drift exactly if settling changes a row."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.life.test_drift import rows
from tests.life.test_opening import Till, till
from tests.support.places import code, lapse

from counterfoil import catalogue, reconcile, records
from counterfoil.calls import RetrieveSession
from counterfoil.drift import Would, compare
from counterfoil.model import Charge, Redemption, ReleaseReason, Session
from counterfoil.procedure import drive
from counterfoil.settlement import settle_session

__all__ = ["till"]

PAID: dict[str, Any] = {"status": "complete", "payment_status": "paid", "payment_intent": "pi_1"}
UNPAID: dict[str, Any] = {"status": "complete", "payment_status": "unpaid", "payment_intent": "pi_1"}

SAID: dict[str, dict[str, Any]] = {
    "open": {"status": "open"},
    "expired": {"status": "expired"},
    "pending": UNPAID | {"intent_status": "processing"},
    "failed": UNPAID | {"intent_status": "requires_payment_method"},
    "paid": PAID | {"charge": Charge(1000, 0, disputed=False)},
    "paid, refunded in part": PAID | {"charge": Charge(1000, 400, disputed=False)},
    "paid, refunded": PAID | {"charge": Charge(1000, 1000, disputed=False)},
    "for nothing": PAID | {"payment_status": "no_payment_required", "payment_intent": None},
}


class Says:
    """Stripe, where one session is what the table says of it, and all else is what it is."""

    def __init__(self, inner: Any, session: Session) -> None:
        self._inner, self._session = inner, session

    def carry_out(self, call: Any) -> Any:
        if isinstance(call, RetrieveSession) and call.session_id == self._session.id and self._session.status != "open":
            return self._session
        return self._inner.carry_out(call)


def settled(till: Till, session: Session, procedure: Any) -> None:
    """Run what settles a session that Stripe says this of."""
    drive(procedure, till.host, Says(till.stripe, session))


class Arranged:
    """A hold with a session, and ways to bring it into each state."""

    def __init__(self, till: Till, connection: psycopg.Connection[Any], buyer: str) -> None:
        self.till, self.connection = till, connection
        sale = till.open(buyer, "MANY").checkout
        assert sale.redemption
        self.sale, self.claim = sale, sale.redemption
        self.session: Session = till.perform(RetrieveSession(str(sale.session_id)))

    def read(self) -> Redemption:
        return self.till.do.read(self.claim)

    def settle(self, said: str) -> None:
        session = replace(self.session, **SAID[said])
        settled(self.till, session, settle_session(session, self.till.shop))

    def reserved(self) -> None:
        pass

    def lapsed(self) -> None:
        lapse(self.connection, self.claim)

    def unattached(self) -> None:
        for table in ("redemption", "checkout"):
            self.connection.execute(
                f"UPDATE counterfoil.{table} SET session_id = NULL, session_url = NULL, session_expires_at = NULL "
                "WHERE session_id = %s".encode(),
                (self.session.id,),
            )

    def unattached_and_lapsed(self) -> None:
        self.unattached()
        self.lapsed()

    def detached(self) -> None:
        assert self.till.do.renew(self.claim) == "renewed"

    def detached_and_lapsed(self) -> None:
        self.detached()
        self.lapsed()

    def attached_again(self) -> None:
        self.detached()
        self.till.do.attach(self.read(), f"cs_next_{self.claim.id}")
        self.connection.execute(
            "UPDATE counterfoil.checkout AS c SET session_id = r.session_id, session_expires_at = r.session_expires_at "
            "FROM counterfoil.redemption AS r WHERE r.id = c.redemption_id AND r.id = %s",
            (self.claim.id,),
        )

    def pending(self) -> None:
        self.settle("pending")

    def overdue(self) -> None:
        self.settle("pending")
        lapse(self.connection, self.claim)

    def completed(self) -> None:
        self.settle("paid")

    def released(self) -> None:
        assert self.till.do.release(self.claim, ReleaseReason.CANCELLED) == "released"

    def refunded(self) -> None:
        self.settle("paid, refunded")


STATES = [
    Arranged.reserved, Arranged.lapsed, Arranged.unattached, Arranged.unattached_and_lapsed, Arranged.detached,
    Arranged.detached_and_lapsed, Arranged.attached_again, Arranged.pending, Arranged.overdue, Arranged.completed,
    Arranged.released, Arranged.refunded,
]  # fmt: skip


@pytest.mark.parametrize("copy", [False, True], ids=["its own", "a copy"])
@pytest.mark.parametrize("with_checkout", [True, False], ids=["a checkout", "no checkout"])
@pytest.mark.parametrize("arrange", STATES, ids=[state.__name__ for state in STATES])
def test_drift_is_what_settling_changes(
    till: Till,
    connection: psycopg.Connection[Any],
    arrange: Callable[[Arranged], None],
    with_checkout: bool,
    copy: bool,
) -> None:
    school = till.host.run(catalogue.institution("northfold"))
    code(till.host, "MANY", cap=None, of=school, refund_policy="return" if with_checkout else "keep")
    for number, (said, how) in enumerate(SAID.items()):
        arranged = Arranged(till, connection, str(number))
        if not with_checkout:
            connection.execute("DELETE FROM counterfoil.checkout WHERE id = %s", (arranged.sale.id,))
        arrange(arranged)
        ends = arranged.read().expires_at - till.shop.clocks.margin
        session = replace(arranged.session, expires_at=ends, **how)
        if copy:
            session = replace(session, id=f"cs_copy_{number}", recovered_from=session.id)
        record = till.host.run(records.records_of(sessions=[session]))[session.id]
        would = compare(record, session)
        before = rows(connection)
        if would is None:
            settled(till, session, settle_session(session, till.shop))
        else:
            settled(till, session, reconcile._settle(record, session, would, till.shop))
        case = (said, would, record.claim and record.claim.status)
        assert (rows(connection) != before) == (would is not None), case
        # What Stripe says of it by now, where settling ended it there.
        now = till.perform(RetrieveSession(session.id)) if session.status == "open" and not copy else session
        after = till.host.run(records.records_of(sessions=[session]))[session.id]
        assert compare(after, now) is None, case
        assert would is None or _came_true(would, after), case


def _came_true(would: Would, after: records.Record) -> bool:
    claim = after.claim
    assert claim
    match would:
        case Would.COMPLETE:
            return claim.status == "completed" and claim.refunded_at is None
        case Would.PENDING:
            return claim.status == "pending"
        case Would.RELEASE:
            return claim.status == "released"
        case Would.REFUND:
            return claim.refunded_at is not None
        case Would.REINSTATE:
            return claim.status == "completed" and claim.refunded_at is None
        case Would.ATTENTION:
            return bool(after.listed) or claim.expires_at - claim.read_at > timedelta(days=20)
