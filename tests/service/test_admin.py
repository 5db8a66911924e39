"""The seller's own pages of what needs attention, and of what our rows and Stripe do not agree about."""

from typing import Any

import httpx
import psycopg
import pytest
from tests.support.admin import signed_in
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.simulator import Running


class TestAttention:
    def test_listed_and_resolved(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser)
        assert "Nothing." in browser.get("/admin/attention").text
        host.run(verbs.raise_attention(kind="dispute", subject="pi_<b>", detail={"checkout": "c", "disputes": {}}))
        shown = browser.get("/admin/attention").text
        assert "disputes payment pi_&lt;b&gt;" in shown
        assert "dashboard before its deadline" in shown
        path = shown.partition('action="/admin/attention/')[2].partition('"')[0]
        said = browser.post(f"/admin/attention/{path}")
        assert (said.status_code, said.headers["location"]) == (303, "/admin/attention")
        assert "Nothing." in browser.get("/admin/attention").text
        assert "pi_&lt;b&gt;" in browser.get("/admin/attention?resolved=true").text
        for unknown in ("999999", "x"):
            assert browser.post(f"/admin/attention/{unknown}/resolve").status_code == 404

    def test_page_by_page(self, browser: httpx.Client, host: Psycopg) -> None:
        signed_in(browser)
        for number in range(51):
            host.run(verbs.raise_attention(kind="drift", subject=f"cs_{number:03}", detail={}))
        first = browser.get("/admin/attention").text
        assert ("cs_050" in first, "cs_001" in first, "cs_000" in first) == (True, True, False)
        older = browser.get(first.partition('<a href="/admin/attention?after=')[2].partition('"')[0].join(
            ("/admin/attention?after=", "")
        ))  # fmt: skip
        assert ("cs_000" in older.text, "cs_001" in older.text, "Older" in older.text) == (True, False, False)
        assert browser.get("/admin/attention?after=x").status_code == 422


class TestReconcile:
    @pytest.fixture
    def unheard(self, service: Service, simulator: Running) -> Any:
        """A payment of which no event came."""
        service.code()
        opened = service.open("a@school.test")
        simulator.drop_events(99)
        simulator.pay(opened["session_id"])
        simulator.drop_events(0)
        return opened

    def test_looking_changes_nothing_and_applying_settles(
        self, service: Service, browser: httpx.Client, unheard: Any, connection: psycopg.Connection[Any]
    ) -> None:
        signed_in(browser)
        assert "Looking changes nothing" in browser.get("/admin/reconcile").text
        for _ in range(2):
            looked = browser.post("/admin/reconcile", data={"days": "7"})
            assert looked.status_code == 200
            assert "1 differ" in looked.text
            assert unheard["session_id"] in looked.text
            assert "complete it" in looked.text
            assert 'name="apply"' in looked.text
        assert service.get(f"/v1/checkouts/{unheard['id']}")["status"] == "open"
        applied = browser.post("/admin/reconcile", data={"days": "7", "apply": "yes"})
        assert "1 settled, 0 left over" in applied.text
        assert 'name="apply"' not in applied.text
        assert service.get(f"/v1/checkouts/{unheard['id']}")["status"] == "paid"
        assert "no drift" in browser.post("/admin/reconcile", data={"days": "7"}).text

    @pytest.mark.parametrize("days", ["", "0", "31", "x", "-1", "9" * 40, "²"])
    def test_days_that_are_none(self, browser: httpx.Client, days: str) -> None:
        signed_in(browser)
        assert browser.post("/admin/reconcile", data={"days": days}).status_code == 422
