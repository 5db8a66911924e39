"""Alive, ready, and what is counted."""

from __future__ import annotations

import logging
from ipaddress import ip_address

import psycopg
from fastapi import APIRouter, Request, Response
from psycopg_pool import PoolTimeout
from starlette.responses import JSONResponse, PlainTextResponse

from counterfoil import schema
from counterfoil.service import auth
from counterfoil.service.openapi import PROBLEMS
from counterfoil.service.problems import Problem
from counterfoil.service.state import state_of
from counterfoil.statement import Sql, Statement

health = APIRouter(tags=["Health"])
log = logging.getLogger(__name__)


@health.get("/healthz")
async def alive() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@health.get("/readyz", responses={503: {"description": "Not ready, and what is behind"}})
async def ready(request: Request) -> Response:
    """The database is reachable, and its schema is one this program runs on. Names what is behind."""
    try:
        found = await state_of(request).run(_schema_version())
    except (psycopg.OperationalError, PoolTimeout) as error:
        log.warning("not ready: %s", error)
        return JSONResponse({"status": "not ready", "behind": "the database cannot be reached"}, 503)
    except psycopg.errors.UndefinedTable:
        return JSONResponse({"status": "not ready", "behind": "there is no schema: run `counterfoil migrate`"}, 503)
    behind = found.behind
    return JSONResponse({"status": "not ready" if behind else "ready", "behind": behind}, 503 if behind else 200)


@health.get("/metrics", response_class=PlainTextResponse, openapi_extra={PROBLEMS: ["unauthorized"]})
async def metrics(request: Request) -> Response:
    """Prometheus' text: from this machine, or with any key."""
    state = state_of(request)
    if not _from_this_machine(request):
        secret = auth.bearer(request.headers.get("authorization"))
        known = secret is not None and auth.is_admin(secret, state.settings)
        if secret is not None and not known:
            known = (await state.run(auth.find_key(secret))) is not None
        if not known:
            raise Problem(
                "unauthorized", "From another machine, metrics need a key.", headers={"WWW-Authenticate": "Bearer"}
            )
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _schema_version() -> Statement[schema.Version]:
    return Statement(
        Sql("SELECT number, name FROM counterfoil.migration"),
        {},
        lambda rows: schema.version_of({row["number"]: row["name"] for row in rows}),
    )


def _from_this_machine(request: Request) -> bool:
    # A proxy on this machine passes on the requests of others.
    if request.client is None or "forwarded" in request.headers or "x-forwarded-for" in request.headers:
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
