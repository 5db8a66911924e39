"""The application: what is served, and what an error becomes."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from psycopg_pool import PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from counterfoil import errors
from counterfoil.service import openapi, problems
from counterfoil.service.api import (
    attention,
    audit,
    bulk,
    buyers,
    checkouts,
    code_files,
    codes,
    entitlements,
    events,
    explain,
    health,
    institutions,
    moving,
    periods,
    portal_links,
    products,
    redemptions,
    replacing,
    webhook,
    webhook_endpoints,
)
from counterfoil.service.changes import Changes
from counterfoil.service.edge import Door, SafeHeaders, database_down
from counterfoil.service.interval import reconciling
from counterfoil.service.mailing import mailing
from counterfoil.service.pages.admin import admin
from counterfoil.service.pages.assets import Assets
from counterfoil.service.pages.portal import portal
from counterfoil.service.pages.reference import reference
from counterfoil.service.pages.rendering import wants_page
from counterfoil.service.pages.shop import shop
from counterfoil.service.pages.trouble import trouble
from counterfoil.service.problems import Problem
from counterfoil.service.sending import sending
from counterfoil.service.settings import Settings
from counterfoil.service.state import running

log = logging.getLogger(__name__)

_OF_STATUS = {404: "not-found", 405: "method-not-allowed", 400: "bad-request"}


def create_app(settings: Settings) -> FastAPI:
    """The service for these settings. Opens nothing until it is started."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings) as state, reconciling(state), sending(state), mailing(state):
            app.state.counterfoil = state
            yield

    app = FastAPI(
        title="Counterfoil",
        version="1",
        summary="Codes that are good for so many discounted purchases a year, and never one more.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.changes = Changes()
    for router in (
        institutions.api,
        portal_links.api,
        products.api,
        codes.api,
        replacing.api,
        bulk.api,
        code_files.api,
        explain.api,
        moving.api,
        periods.api,
        checkouts.api,
        redemptions.api,
        entitlements.api,
        attention.api,
        audit.api,
        buyers.api,
        events.api,
        webhook_endpoints.api,
    ):
        app.include_router(router)
    app.include_router(webhook.webhook)
    app.include_router(health.health)
    app.include_router(reference)
    for pages in admin:
        app.include_router(pages)
    if settings.provider is not None:
        # Here, for it needs an extra.
        from counterfoil.service.pages.admin import oidc_sign_in

        app.include_router(oidc_sign_in.entrance)
    for pages in portal:
        app.include_router(pages)
    if settings.storefront == "on":
        for pages in shop:
            app.include_router(pages)
    openapi.install(app)
    app.mount("/static", Assets())

    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(errors.Refusal, _refusal)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(psycopg.OperationalError, _database)
    app.add_exception_handler(PoolTimeout, _database)
    app.add_exception_handler(Exception, _internal)
    app.add_middleware(Door)
    app.add_middleware(SafeHeaders)
    return app


async def _problem(request: Request, error: Any) -> Response:
    problem: Problem = error
    if wants_page(request):
        return trouble(request, problem)
    return problem.response(_public_url(request))


async def _refusal(request: Request, error: Any) -> Response:
    return await _problem(request, problems.of(error))


async def _invalid(request: Request, error: Any) -> Response:
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        return await _problem(request, Problem("bad-request", "The body is not JSON."))
    wrong = [
        {
            "field": ".".join(str(part) for part in one["loc"][1:]) or str(one["loc"][0]),
            "message": one["msg"].removeprefix("Value error, "),
        }
        for one in found
    ]
    detail = "; ".join(f"{one['field']}: {one['message']}" for one in wrong)
    return await _problem(request, Problem("invalid-request", detail, fields={"errors": wrong}))


async def _http(request: Request, error: Any) -> Response:
    code = _OF_STATUS.get(error.status_code, "internal" if error.status_code >= 500 else "bad-request")
    detail = problems.KINDS[code].advice if code != "bad-request" else str(error.detail)
    headers = dict(error.headers or {}) | (_allow(request) if code == "method-not-allowed" else {})
    return await _problem(request, Problem(code, detail, error.status_code, headers=headers))


def _allow(request: Request) -> dict[str, str]:
    """What may be asked of an address of the API: of all its routes, where the framework tells that of the first."""
    methods = {
        method.upper()
        for template, calls in request.app.openapi()["paths"].items()
        if compile_path(template)[0].match(request.url.path)
        for method in calls
    }
    return {"Allow": ", ".join(sorted(methods))} if methods else {}


async def _database(request: Request, error: Any) -> Response:
    log.error("the database cannot be reached: %s", error)
    return await _problem(request, database_down())


async def _internal(request: Request, error: Exception) -> Response:
    # What opens an institution's page once is no matter of a log.
    path = re.sub(r"[\w-]{43,}", "…", request.url.path)
    log.error("unexpected error in %s %s", request.method, path, exc_info=error)
    answer = await _problem(request, Problem("internal", problems.KINDS["internal"].advice))
    # This one is made outside all that dresses the others.
    for name, value in SafeHeaders.HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


def _public_url(request: Request) -> str:
    url: str = request.app.state.counterfoil.settings.public_url
    return url
