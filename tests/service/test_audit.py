"""Who changed what: by pages, by the API and by the database's own user, written with the change and never changed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from tests.conftest import Clock
from tests.service.test_the_door import refused
from tests.support.admin import PASSWORD, SignIn, account
from tests.support.serving import Service

from counterfoil import audit, schema, verbs
from counterfoil.audit import Actor
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import auth, passwords
from counterfoil.service.roles import Role
from counterfoil.simulator import Running
from counterfoil.tokens import digest

ADMIN_KEY = {"kind": "key", "id": "0", "name": "the admin key"}


def told(service: Service, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.get("/v1/audit", limit=100, **query)["data"]
    return found


def actions(service: Service) -> list[tuple[str, str]]:
    """Of the API's calls, the oldest first."""
    return [(one["action"], one["subject"]) for one in reversed(told(service)) if one["actor"] == ADMIN_KEY]


class TestByTheApi:
    def test_what_is_sold_and_to_whom(self, service: Service) -> None:
        service.code()
        changed = service.client.patch("/v1/codes/north26", json={"paused": True, "cap": 5})
        assert changed.status_code == 200
        service.client.put("/v1/codes/NORTH-26/allocations/2026-27", json={"cap": 9, "note": "Ms Okafor"})
        assert actions(service) == [
            ("institution.added", "northfold"), ("product.added", "hub"), ("code.added", "NORTH-26"),
            ("code.changed", "NORTH-26"), ("cap.set", "NORTH-26 2026-27"),
        ]  # fmt: skip
        cap, code, *_ = told(service)
        assert (cap["before"]["note"], cap["after"]) == (None, {"cap": 9, "note": "Ms Okafor"})
        assert (code["before"]["cap"], code["after"]["cap"]) == (2, 5)
        assert code["before"]["paused_at"] is None
        assert code["after"]["paused_at"]
        # What did not change is not told of.
        assert code["after"].keys() == {"cap", "paused_at"}

    def test_by_the_key_that_was_used(self, service: Service, host: Psycopg) -> None:
        secret = auth.new_secret()
        made = host.run(auth.create_key(name="the importer", scope="manage", secret=secret))
        body = {"name": "Southfold", "time_zone": "Europe/London"}
        said = httpx.post(
            f"{service.url}/v1/institutions", json=body, headers={"Authorization": f"Bearer {secret}"}, trust_env=False
        )
        assert said.status_code == 201
        assert told(service)[0]["actor"] == {"kind": "key", "id": str(made.id), "name": "the importer"}

    def test_what_changes_nothing_is_not_told(self, service: Service) -> None:
        service.code()
        service.client.put("/v1/codes/NORTH-26/allocations/2026-27", json={"cap": 9})
        before = told(service)
        service.client.patch("/v1/codes/north26", json={"cap": 2})
        service.client.put("/v1/codes/NORTH-26/allocations/2026-27", json={"cap": 9})
        refused(service.client.patch("/v1/codes/north26", json={"products": ["none"]}), 422, "product-unknown")
        assert told(service) == before

    def test_places_given_back_by_hand(self, service: Service, simulator: Running) -> None:
        """Once each, however often it is asked for, and not those that give themselves back."""
        service.code(cap=5)
        released, cancelled = service.open("a@school.test"), service.open("b@school.test")
        for _ in range(2):
            service.post(f"/v1/redemptions/{released['redemption']['id']}/release", status=200)
        service.post(f"/v1/checkouts/{cancelled['id']}/cancel", status=200)
        assert actions(service)[3:] == [("redemption.release", released["redemption"]["id"])]

    def test_a_place_without_a_checkout(self, service: Service, host: Psycopg) -> None:
        """As a shop has it that keeps its own orders."""
        service.code()
        host.run(
            verbs.reserve(
                id=UUID(int=1), code="NORTH-26", buyer="a", hold=timedelta(minutes=40),
                lock_timeout=timedelta(seconds=3),
            )
        )  # fmt: skip
        service.post(f"/v1/redemptions/{UUID(int=1)}/release", status=200)
        last = told(service)[0]
        assert (last["action"], last["subject"]) == ("redemption.release", str(UUID(int=1)))
        assert (last["before"], last["after"]) == ({"status": "reserved"}, {"status": "released"})

    def test_a_place_returned(self, service: Service, simulator: Running) -> None:
        service.code(cap=5, discount={"percent": 100})
        free = service.open("a@school.test")
        simulator.pay(free["session_id"])
        for _ in range(2):
            service.post(f"/v1/redemptions/{free['redemption']['id']}/return", status=200)
        assert actions(service)[3:] == [("redemption.return", free["redemption"]["id"])]

    def test_a_matter_resolved(self, service: Service, host: Psycopg) -> None:
        host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
        matter = service.get("/v1/attention")["data"][0]
        for _ in range(2):
            service.post(f"/v1/attention/{matter['id']}/resolve", status=200)
        assert actions(service) == [("attention.resolved", "drift cs_1")]

    def test_buying_is_no_change_of_anybodys(self, service: Service, simulator: Running) -> None:
        service.code()
        before = told(service)
        simulator.pay(service.open("a@school.test")["session_id"])
        assert told(service) == before


class TestByPages:
    def test_the_account_is_named(self, signed: SignIn, service: Service, host: Psycopg) -> None:
        browser = signed(Role.STAFF)
        host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
        matter = service.get("/v1/attention")["data"][0]
        browser.post(f"/admin/attention/{matter['id']}/resolve")
        assert told(service, action="attention.resolved")[0]["actor"]["name"] == "staff@seller.test"
        begun = told(service, action="session.begun")[0]
        assert (begun["actor"]["kind"], begun["actor"]["name"]) == ("account", "staff@seller.test")

    def test_reconciling_is_told_when_it_is_applied(self, signed: SignIn, service: Service) -> None:
        browser = signed(Role.STAFF)
        browser.post("/admin/reconcile", data={"days": "7"})
        assert told(service, action="reconcile.applied") == []
        browser.post("/admin/reconcile", data={"days": "7", "apply": "yes"})
        assert told(service, action="reconcile.applied")[0]["after"] == {"days": 7}

    def test_the_page(self, signed: SignIn, service: Service) -> None:
        service.code("N-<B>")
        browser = signed(Role.READ_ONLY)
        shown = browser.get("/admin/audit").text
        assert "the admin key" in shown
        assert "code.added" in shown
        only = browser.get("/admin/audit", params={"subject": "hub"}).text
        assert ("product.added" in only, "code.added" in only) == (True, False)
        assert "Nothing like that" in browser.get("/admin/audit", params={"action": "nothing"}).text
        assert browser.get("/admin/audit", params={"after": "x"}).status_code == 422
        assert browser.get("/admin/audit?subject=%00").status_code == 200


class TestSecrets:
    def test_none_is_in_the_log(self, signed: SignIn, service: Service, connection: psycopg.Connection[Any]) -> None:
        """That there is one, and that it was changed, is."""
        owner = signed(Role.OWNER)
        page = owner.post("/admin/keys", data={"name": "shop", "scope": "read"}).text
        secret = page.partition("<code>")[2].partition("</code>")[0]
        assert secret.startswith("cf_")
        owner.post(
            "/admin/account/password",
            data={"present": PASSWORD, "new": "another long one", "again": "another long one"},
        )
        rows = str(connection.execute("SELECT * FROM counterfoil.audit").fetchall())
        for hidden in (secret, digest(secret).hex(), "argon2", PASSWORD, "another long one"):
            assert hidden not in rows
        changed = told(service, action="account.changed")[0]
        assert (changed["before"], changed["after"]) == ({"password_hash": "(hidden)"},) * 2
        assert told(service, action="key.added")[0]["after"]["secret_hash"] == "(hidden)"

    def test_no_buyer_is(self, service: Service, connection: psycopg.Connection[Any]) -> None:
        service.code()
        opened = service.open("mina@school.test")
        service.post(f"/v1/redemptions/{opened['redemption']['id']}/release", status=200)
        assert "mina" not in str(connection.execute("SELECT * FROM counterfoil.audit").fetchall())


class TestItOnlyGrows:
    @pytest.mark.parametrize(
        "sql",
        ["UPDATE counterfoil.audit SET action = 'x'", "DELETE FROM counterfoil.audit", "TRUNCATE counterfoil.audit"],
    )
    def test_changing_it_is_refused(self, service: Service, connection: psycopg.Connection[Any], sql: str) -> None:
        service.code()
        before = told(service)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only grows"):
            connection.execute(sql.encode())
        assert told(service) == before

    def test_what_is_rolled_back_was_not_done(self, service: Service, connection: psycopg.Connection[Any]) -> None:
        service.code()
        before = told(service)
        with connection.transaction(force_rollback=True):
            connection.execute("UPDATE counterfoil.code SET cap = 7")
        assert told(service) == before

    def test_a_migrate_keeps_the_triggers_and_takes_no_lock_of_their_tables(
        self, service: Service, connection: psycopg.Connection[Any], database: str
    ) -> None:
        service.code()
        with psycopg.connect(database) as reading:
            reading.execute("SELECT FROM counterfoil.code")
            connection.execute("UPDATE counterfoil.migration SET name = 'older' WHERE number = 0")
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '5s'")
                schema.migrate(connection)
        try:
            connection.execute("UPDATE counterfoil.code SET cap = 7")
            assert told(service)[0]["after"] == {"cap": 7}
        finally:
            from counterfoil import movable_clock

            movable_clock.install(connection)


class TestWhoeverSaysNothing:
    def test_is_the_databases_user(self, service: Service, connection: psycopg.Connection[Any]) -> None:
        service.code()
        connection.execute("UPDATE counterfoil.institution SET name = 'Northfold College'")
        last = told(service)[0]
        row = connection.execute("SELECT session_user").fetchone()
        assert row
        assert last["actor"] == {"kind": "database", "id": None, "name": row[0]}
        assert last["after"] == {"name": "Northfold College"}

    def test_who_acted_before_on_the_connection_does_not_stay(self, connection: psycopg.Connection[Any]) -> None:
        """The host says it for one transaction."""
        for acting, kind in ((Actor("account", "mina", "1"), "account"), (None, "database")):
            Psycopg(connection, acting=lambda acting=acting: acting).run(audit.keep(action="x", subject="y"))
            assert Psycopg(connection).run(audit.entries(most=1))[0].actor.kind == kind

    def test_a_statement_for_somebody_is_the_same_statement(self, connection: psycopg.Connection[Any]) -> None:
        """Per cent signs, quotes, empty lists and times go through as they are."""
        mina = Psycopg(connection, acting=lambda: Actor("account", "O'Hara %s {x}", "1"))
        mina.run(audit.keep(action="100 % 'sure' %s", subject="\\", after={"a": "%(b)s"}))
        entry = mina.run(audit.entries(most=1))[0]
        assert (entry.action, entry.subject, entry.after) == ("100 % 'sure' %s", "\\", {"a": "%(b)s"})
        assert entry.actor.name == "O'Hara %s {x}"


def test_listed_newest_first_and_page_by_page(service: Service, host: Psycopg) -> None:
    for number in range(5):
        host.run(audit.keep(action="a" if number % 2 else "b", subject=str(number)))
    found: list[Any] = []
    cursor = None
    while True:
        page = service.get("/v1/audit", limit=2, **({"cursor": cursor} if cursor else {}))
        found += page["data"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [one["subject"] for one in found] == ["4", "3", "2", "1", "0"]
    assert [one["subject"] for one in told(service, action="a")] == ["3", "1"]
    assert [one["action"] for one in told(service, subject="2")] == ["b"]
    refused(service.client.get("/v1/audit", params={"cursor": "x"}), 422, "invalid-request")


def test_accounts_are_told_of(signed: SignIn, service: Service, host: Psycopg, clock: Clock) -> None:
    owner = signed(Role.OWNER)
    owner.post("/admin/accounts", data={"email": "Noah@seller.test", "name": "Noah", "role": "staff"})
    made = told(service, subject="noah@seller.test")[0]
    assert (made["action"], made["actor"]["name"], made["after"]["role"]) == (
        "account.added", "owner@seller.test", "staff",
    )  # fmt: skip
    assert passwords.NOBODYS not in str(made)
    assert account(host, Role.STAFF).id
