"""
How long each page takes to answer, with a million redemptions in the database.

    python -m benchmarks.pages [--redemptions 1000000] [--turns 30]

A service of its own on a PostgreSQL of its own: 201 institutions, a thousand codes, and one code that alone has a third
of all. The pages are those of the application's own routes, so that a new one is measured or refused. Each is asked for
in turns with the others, over one connection, as one browser would: what is printed is what that browser waits for,
less the network. Exit 1 if a median is over 100 ms.

Not asked for: what is streamed (CSV files, which take as long as they are large, and the live events).
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, LiteralString, cast

import httpx
import psycopg
from tests.support.commands import SETTINGS
from tests.support.serving import Service, serving

from counterfoil import catalogue, embedded, outgoing, portal, schema, verbs
from counterfoil.clocks import Clocks
from counterfoil.codes import fold
from counterfoil.demo import sample
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop
from counterfoil.service import accounts, passwords
from counterfoil.service.app import create_app
from counterfoil.service.roles import Role
from counterfoil.service.settings import load
from counterfoil.simulator import Running, run_in_thread
from counterfoil.stripe.drivers import SyncStripe
from counterfoil.tokens import new_token

MOST = 100.0
OWNER, PASSWORD, SECRET = "owner@seller.test", "correct horse battery", "whsec_benchmark"
#: Streamed, or no page.
LEFT_OUT = {"/admin/redemptions.csv", "/portal/codes/{code}/redemptions.csv", "/admin/live", "/static", "/metrics"}
BIG = "BIG-000-A"

INSTITUTIONS: LiteralString = """
    INSERT INTO counterfoil.institution (slug, name, time_zone)
    SELECT 'big-' || i, 'Institution ' || i, 'Europe/London' FROM generate_series(0, 200) AS i
"""
FILL: tuple[LiteralString, ...] = (
    # Four in five are paid, some on their way, some held now, the rest given back; a third of all are of one code, most
    # of them of this year.
    """
    CREATE TEMPORARY TABLE filling AS
    SELECT
        gen_random_uuid() AS id, gen_random_uuid() AS checkout, g AS number, c.id AS code_id,
        clock_timestamp() - interval '320 days' * power(random(), 2) - CASE WHEN g %% 5 = 0 THEN interval '1 year'
            ELSE interval '0' END - interval '1 hour' AS at,
        CASE WHEN g %% 1000 = 1 THEN 'pending' WHEN g %% 1000 = 2 THEN 'reserved' WHEN g %% 10 IN (3, 7) THEN 'released'
            WHEN g %% 500 = 4 THEN 'refunded' ELSE 'completed' END AS status
    FROM generate_series(1, %(all)s) AS g
    JOIN (
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM counterfoil.code WHERE code LIKE 'BIG-%%'
    ) AS c ON c.place = CASE WHEN g %% 3 = 0 THEN 0 ELSE g %% 1005 END
    """,
    "UPDATE filling SET at = clock_timestamp() - interval '1 minute' * (1 + number %% 5) WHERE status = 'reserved'",
    "ALTER TABLE filling ADD COLUMN period text",
    "UPDATE filling SET period = counterfoil.period_key('academic_year', '09-01', 'Europe/London', at)",
    """
    INSERT INTO counterfoil.allocation (code_id, period, cap, used)
    SELECT code_id, period, %(all)s, count(*) FILTER (WHERE status IN ('reserved', 'pending', 'completed'))
    FROM filling GROUP BY code_id, period
    """,
    """
    INSERT INTO counterfoil.redemption (
        id, code_id, counts_with, period, status, buyer, buyer_key, reserved_at, expires_at, pending_at, session_id,
        session_url, session_expires_at, completed_at, released_at, release_reason, refunded_at
    )
    SELECT
        f.id, f.code_id, f.code_id, f.period, f.status, 'buyer' || f.number || '@school.test',
        'buyer' || f.number || '@school.test', f.at,
        CASE WHEN f.status = 'pending' THEN clock_timestamp() + interval '5 days' ELSE f.at + interval '40 minutes' END,
        CASE WHEN f.status = 'pending' THEN f.at + interval '5 minutes' END, 'cs_test_' || f.number,
        'http://127.0.0.1/pay', f.at + interval '31 minutes',
        CASE WHEN f.status IN ('completed', 'refunded') THEN f.at + interval '5 minutes' END,
        CASE WHEN f.status = 'released' THEN f.at + interval '31 minutes' END,
        CASE WHEN f.status = 'released' THEN 'session_expired' END,
        CASE WHEN f.status = 'refunded' THEN f.at + interval '30 minutes' END
    FROM filling AS f
    """,
    """
    INSERT INTO counterfoil.checkout (
        id, counts_with, redemption_id, product_id, name, unlocks, buyer, buyer_key, list_amount, discount_amount,
        amount, currency, status, success_url, cancel_url, session_id, session_url, session_expires_at,
        payment_intent, livemode, created_at, paid_at
    )
    SELECT
        f.checkout, f.code_id, f.id, 'numerical-hub', 'Numerical reasoning hub', '{numerical-hub}',
        'buyer' || f.number || '@school.test', 'buyer' || f.number || '@school.test', 2900, 1450, 1450, 'gbp',
        CASE f.status WHEN 'reserved' THEN 'open' WHEN 'completed' THEN 'paid' WHEN 'released' THEN 'expired'
            ELSE f.status END,
        'http://127.0.0.1/', 'http://127.0.0.1/', 'cs_test_' || f.number, 'http://127.0.0.1/pay',
        f.at + interval '31 minutes', 'pi_' || f.number, false, f.at,
        CASE WHEN f.status IN ('completed', 'refunded') THEN f.at + interval '5 minutes' END
    FROM filling AS f
    """,
)


def steps_of_old_rows() -> LiteralString:
    """What the migration does for rows from before there were steps: these were never reserved by anybody."""
    text = next((files("counterfoil") / "sql" / "tables").glob("*_steps.sql")).read_text()  # type: ignore[attr-defined]
    return cast("LiteralString", text[text.index("INSERT INTO counterfoil.step") :])


def fill(connection: psycopg.Connection[Any], redemptions: int) -> None:
    """So many redemptions, which agree with the counters."""
    began = time.monotonic()
    connection.execute("SET synchronous_commit = off; SET work_mem = '256MB'; SET maintenance_work_mem = '256MB'")
    connection.execute(INSTITUTIONS)
    names = [(f"big-{number}", f"BIG-{number:03d}-{letter}") for number in range(201) for letter in "ABCDE"]
    connection.cursor().executemany(
        "INSERT INTO counterfoil.code (institution_id, code, folded, cap, percent) "
        "SELECT id, %s, %s, %s, 50 FROM counterfoil.institution WHERE slug = %s",
        [(name, fold(name), redemptions, slug) for slug, name in names],
    )
    for statement in FILL:
        if "%(all)s" in statement:
            connection.execute(statement, {"all": redemptions})
        else:
            connection.execute(statement.replace("%%", "%").encode())
    connection.execute(steps_of_old_rows())
    connection.execute("VACUUM (ANALYZE)")
    print(f"filled in {time.monotonic() - began:.0f} s", flush=True)


def paths(app: Any) -> Iterator[str]:
    """Every page there is."""

    def routes(of: Any) -> Iterator[Any]:
        for route in of:
            yield from routes(route.original_router.routes) if hasattr(route, "original_router") else (route,)

    for route in routes(app.routes):
        asked = "GET" in (getattr(route, "methods", None) or {"GET"})
        if asked and not route.path.startswith("/v1") and route.path not in LEFT_OUT:
            yield route.path


def filled(path: str, values: dict[str, str]) -> str:
    """The path of something that is there: *values* are by path, or by the name of what stands in it."""
    if path in values:
        return values[path]
    return re.sub(r"\{(\w+)\}", lambda name: values[name[1]], path)


def furnish(service: Service, host: Psycopg, simulator: Running, connection: psycopg.Connection[Any]) -> dict[str, str]:
    """A browser's purchase, an account, an endpoint, and what stands in the paths."""
    owner = host.run(
        accounts.add(email=OWNER, name="Owner", role=Role.OWNER, password_hash=passwords.hashed(PASSWORD), first=False)
    )
    endpoint = host.run(outgoing.add_endpoint(url="https://93.184.215.14/", secret=SECRET, types=None))
    host.run(verbs.raise_attention(kind="drift", subject="cs_1", detail={}))
    completed, held = (
        connection.execute(
            "SELECT r.id::text FROM counterfoil.redemption AS r JOIN counterfoil.code AS c ON c.id = r.code_id "
            "WHERE c.code = %s AND r.status = %s ORDER BY r.reserved_at DESC LIMIT 1",
            (BIG, status),
        ).fetchone()
        or ("",)
        for status in ("completed", "reserved")
    )
    token = new_token()
    school = host.run(catalogue.institution("big-0"))
    host.run(portal.invite(institution=school.id, token=token))
    spare = new_token()
    host.run(portal.invite(institution=school.id, token=spare, email="colleague@school.test"))
    browser = service.client
    said = browser.post("/products/numerical-hub", data={"buyer": "ada@home.test", "code": BIG})
    assert said.status_code == 303, said.text
    sale = service.get("/v1/checkouts?buyer=ada@home.test")["data"][0]
    simulator.pay(sale["session_id"])
    simulator.wait_delivered()
    assert browser.post("/admin/sign-in", data={"email": OWNER, "password": PASSWORD}).status_code == 303
    assert browser.post(f"/portal/links/{token}").status_code == 303
    return {
        "institution": "big-0",
        "slug": "big-0",
        "code": BIG,
        "unlock": "numerical-hub",
        "session_id": sale["session_id"],
        "token": spare,
        "/problems/{code}": "/problems/not-found",
        "/admin/redemptions/{id}": f"/admin/redemptions/{completed[0]}",
        "/admin/redemptions/{id}/release": f"/admin/redemptions/{held[0]}/release",
        "/admin/redemptions/{id}/return": f"/admin/redemptions/{completed[0]}/return",
        "/admin/products/{id}": "/admin/products/numerical-hub",
        "/admin/webhooks/{id}": f"/admin/webhooks/{endpoint.id}",
        "/admin/accounts/{id}": f"/admin/accounts/{owner.id}",
        "/products/{id}": "/products/numerical-hub",
        "/products/{id}/price": f"/products/numerical-hub/price?code={BIG}",
        "/products/{id}/back": "/products/numerical-hub/back",
        "/checkouts/{id}": f"/checkouts/{sale['id']}",
        # More than what a path alone asks for: a search, and a code that is full of rows.
        "searched by a buyer's beginning": "/admin/redemptions?q=buyer7777",
        "searched by a payment": "/admin/redemptions?q=pi_4242",
        "searched by a session": "/admin/redemptions?q=cs_test_4242",
        "of one code and status": f"/admin/redemptions?code={BIG}&status=released",
        "institutions, searched": "/admin?q=Institution+17",
    }


def main() -> int:
    """Exit 1 if a page is too slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redemptions", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=30)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="counterfoil-", dir="/var/tmp", ignore_cleanup_errors=True) as folder,
    ):
        Path(folder).chmod(0o755)
        with (
            embedded.start(Path(folder) / "home") as server,
            psycopg.connect(server.url, autocommit=True) as connection,
            run_in_thread(secret=SECRET) as simulator,
        ):
            schema.migrate(connection)
            host = Psycopg(connection)
            with serving(server.url, simulator) as service:
                simulator.add_endpoint(f"{service.url}/webhooks/stripe")
                shop = Shop(clocks=Clocks(), livemode=False)
                stripe = SyncStripe("sk_test_pages", shop.clocks, simulator.base_url)
                sample.make(host, stripe, simulator, shop)
                stripe.close()
                fill(connection, options.redemptions)
                assert host.run(verbs.recount()) == [], "the rows and the counters do not agree"
                app = create_app(load(COUNTERFOIL_DATABASE_URL="postgresql://", **SETTINGS))
                values = furnish(service, host, simulator, connection)
                wanted = {path: filled(path, values) for path in paths(app)}
                wanted |= {name: at for name, at in values.items() if " " in name}
                return measured(service.client, wanted, options.turns)


def measured(browser: httpx.Client, wanted: dict[str, str], turns: int) -> int:
    """Ask for each in turns, and print what came of it."""
    times: dict[str, list[float]] = {path: [] for path in wanted}
    sizes: dict[str, int] = {}
    for turn in range(turns + 1):
        for path, at in wanted.items():
            began = time.perf_counter()
            said = browser.get(at, headers={"Accept": "text/html", "Authorization": ""})
            took = 1000 * (time.perf_counter() - began)
            assert said.status_code in (200, 303), f"{at}: {said.status_code}\n{said.text[:500]}"
            sizes[path] = len(said.content)
            # The first turn fills caches that a service has after its first minute.
            if turn:
                times[path].append(took)
    slow = 0
    print(f"{'page':44} {'median':>8} {'p95':>8} {'bytes':>8}")
    for path, all_of_it in sorted(times.items(), key=lambda one: -statistics.median(one[1])):
        median, p95 = statistics.median(all_of_it), statistics.quantiles(all_of_it, n=20)[-1]
        slow += median > MOST
        print(f"{path:44} {median:8.1f} {p95:8.1f} {sizes[path]:8}{'  too slow' if median > MOST else ''}")
    print(f"{len(times)} pages, {turns} turns; ms as one browser on this machine waits; {slow} over {MOST:.0f} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
