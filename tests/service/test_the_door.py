"""Who is let in, and in which order a request is refused: key, size, media type, scope, then what it says."""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from tests.support.serving import ADMIN_KEY, Service

from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service import auth
from counterfoil.tokens import new_token

#: Every call of the API that is built, with the least scope that reaches it.
CALLS = [
    ("POST", "/v1/institutions", "manage"),
    ("GET", "/v1/institutions", "read"),
    ("GET", "/v1/institutions/x", "read"),
    ("POST", "/v1/codes", "manage"),
    ("GET", "/v1/codes", "read"),
    ("GET", "/v1/codes/x", "read"),
    ("PATCH", "/v1/codes/x", "manage"),
    ("POST", "/v1/codes/x/replace", "manage"),
    ("POST", "/v1/codes/bulk", "manage"),
    ("GET", "/v1/codes/batches/x", "read"),
    ("GET", "/v1/codes.csv", "read"),
    ("GET", "/v1/codes/x/allocations", "read"),
    ("PUT", "/v1/codes/x/allocations/2026-27", "manage"),
    ("POST", "/v1/codes/x/allocations/2026-27/move", "manage"),
    ("GET", "/v1/codes/x/periods", "read"),
    ("GET", "/v1/codes/x/periods/2026-27", "read"),
    ("PUT", "/v1/codes/x/periods/2026-27", "manage"),
    ("DELETE", "/v1/codes/x/periods/2026-27", "manage"),
    ("PATCH", "/v1/institutions/x", "manage"),
    ("GET", "/v1/codes/x/usage", "read"),
    ("GET", "/v1/codes/x/explain", "read"),
    ("GET", "/v1/buyers/x", "manage"),
    ("DELETE", "/v1/buyers/x", "manage"),
    ("POST", "/v1/products", "manage"),
    ("GET", "/v1/products", "read"),
    ("GET", "/v1/products/x", "read"),
    ("POST", "/v1/quotes", "checkout"),
    ("POST", "/v1/checkouts", "checkout"),
    ("GET", "/v1/checkouts", "checkout"),
    ("GET", "/v1/checkouts/x", "checkout"),
    ("POST", "/v1/checkouts/x/refresh", "checkout"),
    ("POST", "/v1/checkouts/x/cancel", "checkout"),
    ("GET", "/v1/redemptions", "read"),
    ("GET", "/v1/redemptions/x", "read"),
    ("GET", "/v1/redemptions.csv", "read"),
    ("POST", "/v1/redemptions/x/release", "manage"),
    ("POST", "/v1/redemptions/x/return", "manage"),
    ("GET", "/v1/entitlements?buyer=a", "checkout"),
    ("GET", "/v1/attention", "manage"),
    ("POST", "/v1/attention/x/resolve", "manage"),
    ("GET", "/v1/audit", "manage"),
    ("POST", "/v1/portal-links", "manage"),
    ("DELETE", "/v1/portal-links/x", "manage"),
    ("GET", "/v1/events", "manage"),
    ("GET", "/v1/events/x", "manage"),
    ("POST", "/v1/events/x/resend", "manage"),
    ("POST", "/v1/webhook-endpoints", "manage"),
    ("GET", "/v1/webhook-endpoints", "manage"),
    ("GET", "/v1/webhook-endpoints/x", "manage"),
    ("DELETE", "/v1/webhook-endpoints/x", "manage"),
    ("GET", "/v1/webhook-endpoints/x/deliveries", "manage"),
]
REACH = {"checkout": {"checkout"}, "read": {"read"}, "manage": {"read", "manage"}}


@pytest.fixture
def anybody(service: Service) -> Iterator[httpx.Client]:
    """A client without a key."""
    with httpx.Client(base_url=service.url, timeout=30) as client:
        yield client


@pytest.fixture
def keys(host: Psycopg, service: Service) -> dict[str, str]:
    """A key of each scope."""
    secrets = {}
    for scope in ("checkout", "read", "manage"):
        secrets[scope] = auth.new_secret()
        host.run(auth.create_key(name=scope, scope=scope, secret=secrets[scope]))
    return secrets


def refused(said: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """A problem, with all that a problem has."""
    assert (said.status_code, said.json()["code"]) == (status, code), said.text
    assert said.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = said.json()
    assert body["status"] == status
    assert body["type"].endswith(f"/problems/{code}")
    assert body["title"]
    assert body["detail"]
    return body


def test_the_list_of_calls_is_all_of_them(service: Service) -> None:
    document = service.get("/openapi.json")
    built = {
        (method.upper(), path)
        for path, calls in document["paths"].items()
        if path.startswith("/v1")
        for method in calls
    }
    listed = {(method, path.partition("?")[0]) for method, path, _ in CALLS}
    names = ("{institution}", "{code}", "{id}", "{buyer}")
    plain = set()
    for method, path in built:
        for name in names:
            path = path.replace(name, "x")
        plain.add((method, path.replace("{period}", "2026-27")))
    assert plain == listed


class TestWithoutAKey:
    @pytest.mark.parametrize(("method", "path", "_"), CALLS)
    def test_401_comes_before_404_and_422(self, anybody: httpx.Client, method: str, path: str, _: str) -> None:
        said = anybody.request(method, path, content=b"{nonsense" if method != "GET" else None)
        refused(said, 401, "unauthorized")
        assert said.headers["www-authenticate"].startswith("Bearer")

    @pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/codes/%00", "/v1/../v1/codes"])
    def test_also_where_there_is_nothing(self, anybody: httpx.Client, path: str) -> None:
        refused(anybody.get(path), 401, "unauthorized")

    @pytest.mark.parametrize(
        "header",
        [
            "Bearer", "bearer nonsense", f"Basic {ADMIN_KEY}", ADMIN_KEY, f"Bearer {ADMIN_KEY}x",
            f"Bearer {ADMIN_KEY[:-1]}", "Bearer cf_" + "a" * 43, "Bearer \xff", "Bearer " + "a" * 5000,
        ],
    )  # fmt: skip
    def test_what_is_no_key(self, anybody: httpx.Client, header: str) -> None:
        said = anybody.get("/v1/codes", headers=[(b"authorization", header.encode("latin-1"))])
        refused(said, 401, "unauthorized")

    def test_a_revoked_key(self, service: Service, anybody: httpx.Client, host: Psycopg, keys: dict[str, str]) -> None:
        bearer = {"Authorization": f"Bearer {keys['read']}"}
        assert anybody.get("/v1/codes", headers=bearer).status_code == 200
        for one in host.run(auth.keys()):
            assert host.run(auth.revoke_key(one.id))
            assert not host.run(auth.revoke_key(one.id))
        refused(anybody.get("/v1/codes", headers=bearer), 401, "unauthorized")

    def test_the_secret_is_not_stored(self, host: Psycopg, keys: dict[str, str]) -> None:
        rows = host._source.execute("SELECT * FROM counterfoil.api_key").fetchall()
        assert not any(secret in str(rows) for secret in keys.values())
        assert all(secret.startswith("cf_") for secret in keys.values())


class TestScopes:
    @pytest.mark.parametrize(("method", "path", "least"), CALLS)
    @pytest.mark.parametrize("scope", ["checkout", "read", "manage"])
    def test_a_key_reaches_what_its_scope_says(
        self, anybody: httpx.Client, keys: dict[str, str], method: str, path: str, least: str, scope: str
    ) -> None:
        """And nothing else is looked at first: a body that is nonsense is still 403."""
        said = anybody.request(
            method,
            path,
            content=b"{nonsense" if method != "GET" else None,
            headers={"Authorization": f"Bearer {keys[scope]}", "Content-Type": "application/json"},
        )
        if least in REACH[scope]:
            assert said.status_code not in (401, 403)
            assert said.status_code < 500
        else:
            body = refused(said, 403, "forbidden")
            assert least in body["detail"]

    def test_the_admin_key_has_all(self, service: Service) -> None:
        service.get("/v1/codes")
        service.get("/v1/checkouts")


class TestBodies:
    def test_not_json(self, service: Service) -> None:
        for content in (b"{", b"{nonsense", b"\xff", b"[1,", b"'a'", b"{'a': 1}"):
            said = service.client.post("/v1/products", content=content, headers={"Content-Type": "application/json"})
            refused(said, 400, "bad-request")

    @pytest.mark.parametrize(
        "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
    )
    def test_another_media_type(self, service: Service, media: str) -> None:
        headers = {"Content-Type": media} if media else {}
        said = service.client.post("/v1/products", content=b'{"id": "hub"}', headers=headers)
        refused(said, 415, "unsupported-media-type")

    @pytest.mark.parametrize(
        "media", ["application/json", "APPLICATION/JSON; charset=utf-8", "application/vnd.api+json"]
    )
    def test_json_by_any_of_its_names(self, service: Service, media: str) -> None:
        said = service.client.post("/v1/products", content=b"{}", headers={"Content-Type": media})
        refused(said, 422, "invalid-request")

    def test_none_where_one_is_needed(self, service: Service) -> None:
        refused(service.client.post("/v1/products"), 422, "invalid-request")

    @pytest.mark.parametrize("body", ["[]", "null", "5", '"text"', "true", "[{}]"])
    def test_json_that_is_no_object(self, service: Service, body: str) -> None:
        said = service.client.post("/v1/products", content=body, headers={"Content-Type": "application/json"})
        refused(said, 422, "invalid-request")

    def test_too_large(self, service: Service) -> None:
        body = b'{"id": "' + b"a" * (64 * 1024) + b'"}'
        refused(
            service.client.post("/v1/products", content=body, headers={"Content-Type": "application/json"}),
            413,
            "too-large",
        )

    def test_too_large_and_it_did_not_say_so(self, service: Service) -> None:
        """Sent in chunks, without a length."""
        chunks = (b"a" * 10_000 for _ in range(20))
        said = service.client.post("/v1/products", content=chunks, headers={"Content-Type": "application/json"})
        refused(said, 413, "too-large")

    def test_deeper_than_anybody_needs(self, service: Service) -> None:
        said = service.client.post("/v1/products", content=b"[" * 30_000, headers={"Content-Type": "application/json"})
        assert said.status_code in (400, 422)

    def test_a_number_longer_than_python_reads(self, service: Service) -> None:
        said = service.client.post(
            "/v1/products", content=b'{"amount": ' + b"9" * 5000 + b"}", headers={"Content-Type": "application/json"}
        )
        assert said.status_code in (400, 422)

    @pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity"])
    def test_numbers_that_json_does_not_have(self, service: Service, text: bytes) -> None:
        said = service.client.post(
            "/v1/products",
            content=b'{"id": "hub", "name": "Hub", "currency": "gbp", "amount": ' + text + b"}",
            headers={"Content-Type": "application/json"},
        )
        assert said.status_code in (400, 422)
        assert said.json()["code"] in ("bad-request", "invalid-request")


class TestPathsAndMethods:
    def test_nothing_there(self, service: Service) -> None:
        for path in ("/v1", "/v1/", "/v1/nothing", "/v1/codes/", "/v1/checkouts/x/y/z"):
            refused(service.client.get(path, follow_redirects=False), 404, "not-found")

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("DELETE", "/v1/codes", {"GET", "POST"}),
            ("PUT", "/v1/codes/x", {"GET", "PATCH"}),
            ("GET", "/v1/quotes", {"POST"}),
            ("GET", "/webhooks/stripe", {"POST"}),
            ("POST", "/v1/entitlements", {"GET"}),
        ],
    )
    def test_another_method(self, service: Service, method: str, path: str, allowed: set[str]) -> None:
        said = service.client.request(method, path)
        refused(said, 405, "method-not-allowed")
        assert set(said.headers["allow"].replace(" ", "").split(",")) == allowed

    def test_no_other_site_may_call(self, service: Service) -> None:
        """No CORS."""
        said = service.client.get("/v1/codes", headers={"Origin": "https://elsewhere.test"})
        assert "access-control-allow-origin" not in said.headers

    @pytest.mark.parametrize(
        "path", ["/v1/codes/%00", "/v1/codes/a%00b/usage", "/v1/products/%00", "/v1/institutions/%00"]
    )
    def test_nul_in_a_path(self, service: Service, path: str) -> None:
        refused(service.client.get(path), 404, "not-found")

    @pytest.mark.parametrize("path", ["/v1/checkouts/x", "/v1/redemptions/x", "/v1/checkouts/" + "0" * 300])
    def test_ids_that_are_none(self, service: Service, path: str) -> None:
        refused(service.client.get(path), 404, "not-found")

    def test_ids_of_nothing(self, service: Service) -> None:
        none = "00000000-0000-4000-8000-000000000000"
        for path in (f"/v1/checkouts/{none}", f"/v1/redemptions/{none}"):
            refused(service.client.get(path), 404, "not-found")
        for path in (
            f"/v1/checkouts/{none}/cancel",
            f"/v1/checkouts/{none}/refresh",
            f"/v1/redemptions/{none}/release",
        ):
            refused(service.client.post(path), 404, "not-found")


class TestLists:
    LISTS = ("/v1/institutions", "/v1/codes", "/v1/products", "/v1/checkouts", "/v1/redemptions")

    @pytest.mark.parametrize("path", LISTS)
    @pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=", "limit=1.5"])
    def test_limits(self, service: Service, path: str, query: str) -> None:
        body = refused(service.client.get(f"{path}?{query}"), 422, "invalid-request")
        assert body["errors"][0]["field"] == "limit"

    @pytest.mark.parametrize("path", LISTS)
    @pytest.mark.parametrize(
        "cursor", ["x", "", "W10", "bnVsbA", "WyIxIiwiMiIsIjMiLCI0Il0", "%00", "é", "WyJcdTAwMDAiXQ", "e30", "=" * 9]
    )
    def test_cursors_of_nobody(self, service: Service, path: str, cursor: str) -> None:
        refused(service.client.get(f"{path}?cursor={cursor}"), 422, "invalid-request")

    @pytest.mark.parametrize(
        "path",
        [
            "/v1/redemptions?code=%00", "/v1/redemptions?period=%00", "/v1/redemptions?institution=%00",
            "/v1/redemptions?status=no", "/v1/checkouts?status=no", "/v1/checkouts?session_id=%00",
            "/v1/checkouts?buyer=%00", "/v1/entitlements?buyer=%00", "/v1/entitlements?buyer=", "/v1/entitlements",
            "/v1/codes?institution=%00", "/v1/codes?institution=nobody", "/v1/redemptions?institution=nobody",
            "/v1/redemptions?code=", "/v1/redemptions.csv?code=%00", "/v1/redemptions.csv?status=no",
        ],
    )  # fmt: skip
    def test_filters(self, service: Service, path: str) -> None:
        said = service.client.get(path)
        assert said.status_code == 422, said.text
        assert said.json()["code"] in ("invalid-request", "institution-unknown")

    def test_pages_follow_one_another(self, service: Service) -> None:
        """Newest first, each once, also when something is added meanwhile."""
        service.code("CODE-0")
        for number in range(1, 7):
            service.code(f"CODE-{number}")
        first = service.get("/v1/codes", limit=3)
        service.code("CODE-7")
        second = service.get("/v1/codes", limit=3, cursor=first["next_cursor"])
        third = service.get("/v1/codes", limit=3, cursor=second["next_cursor"])
        seen = [code["code"] for page in (first, second, third) for code in page["data"]]
        assert seen == [f"CODE-{number}" for number in range(6, -1, -1)]
        assert third["next_cursor"] is None


class TestWhatEveryAnswerCarries:
    @pytest.mark.parametrize("path", ["/", "/healthz", "/docs", "/v1/codes", "/nothing", "/static/shop.css"])
    def test_headers(self, service: Service, path: str) -> None:
        said = service.client.get(path)
        assert "default-src 'none'" in said.headers["content-security-policy"]
        assert "unsafe" not in said.headers["content-security-policy"]
        assert said.headers["x-content-type-options"] == "nosniff"

    def test_times_are_utc(self, service: Service) -> None:
        code = service.code()
        assert code["created_at"].endswith("Z")


class TestProblemPages:
    def test_each_type_is_a_page(self, service: Service, anybody: httpx.Client) -> None:
        from counterfoil.service.problems import KINDS

        for code, kind in KINDS.items():
            page = anybody.get(f"/problems/{code}")
            assert page.status_code == 200
            assert page.headers["content-type"].startswith("text/html")
            assert kind.title in page.text.replace("&#39;", "'")

    def test_a_type_that_is_none(self, anybody: httpx.Client) -> None:
        assert anybody.get("/problems/nonsense").status_code == 404


class TestTheDocument:
    def test_it_is_openapi_31(self, anybody: httpx.Client) -> None:
        document = anybody.get("/openapi.json").json()
        assert document["openapi"].startswith("3.1")

    def test_a_readable_page_without_foreign_assets(self, anybody: httpx.Client) -> None:
        page = anybody.get("/docs")
        assert page.status_code == 200
        assert "/v1/checkouts" in page.text
        assert "<em>cap</em> is the default" in page.text
        assert 'src="http' not in page.text
        assert 'href="http' not in page.text.replace('href="https://www.rfc-editor.org', "")


def test_what_opens_a_page_once_is_not_in_the_log(
    service: Service, connection: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where the request that carries it breaks."""
    secret = new_token()
    connection.execute("ALTER TABLE counterfoil.portal_link RENAME TO gone")
    try:
        assert service.client.post(f"/portal/links/{secret}").status_code == 500
    finally:
        connection.execute("ALTER TABLE counterfoil.gone RENAME TO portal_link")
    assert "unexpected error in POST /portal/links/…" in caplog.text
    assert secret not in caplog.text
