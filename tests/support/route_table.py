"""The application's own routes, all of them: what the rules of who may do what are held against."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from counterfoil.service.app import create_app
from counterfoil.service.settings import load
from tests.support.commands import SETTINGS
from tests.support.serving import ADMIN_KEY

#: With what is an extra, so that its routes are seen as well.
OIDC = {
    "COUNTERFOIL_OIDC_ISSUER": "https://id.example",
    "COUNTERFOIL_OIDC_CLIENT_ID": "counterfoil",
    "COUNTERFOIL_OIDC_CLIENT_SECRET": "a-secret",
}


def application() -> FastAPI:
    """The application with all its extras; it reaches nothing until it is served."""
    return create_app(
        load(COUNTERFOIL_DATABASE_URL="postgresql://", COUNTERFOIL_ADMIN_KEY=ADMIN_KEY, **SETTINGS, **OIDC)
    )


def routes_of(app: FastAPI) -> list[Any]:
    """Its routes, also those of the routers that it includes."""
    return list(_routes(app.routes))


def methods_of(route: Any) -> list[str]:
    """A route's methods; HEAD comes with GET."""
    return sorted((getattr(route, "methods", None) or {"GET"}) - {"HEAD"})


def _routes(routes: Any) -> Iterator[Any]:
    for route in routes:
        # What is included is held as it was, to be looked at when it is asked for.
        if hasattr(route, "original_router"):
            assert not route.include_context.prefix, "a prefix given to include_router is not seen here"
            yield from _routes(route.original_router.routes)
        else:
            yield route
