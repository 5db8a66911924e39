"""
A route of the API: its scope, and what an idempotency key means for it.

A handler that changes something says which resource it was by `Resource`; a replay answers that resource as it is now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import JSONResponse

from counterfoil.service import idempotency
from counterfoil.service.acting import acting
from counterfoil.service.auth import Caller, Scope
from counterfoil.service.openapi import PROBLEMS, SCOPE
from counterfoil.service.problems import Problem
from counterfoil.service.state import State, state_of

Reader = Callable[[State, str], Awaitable[BaseModel]]
R = TypeVar("R", bound=Callable[[State, str], Awaitable[BaseModel]])

#: How to read a resource again, by kind: what a replay answers.
READERS: dict[str, Reader] = {}


@dataclass(frozen=True)
class Resource:
    """What a POST made or changed: its kind, its key, and its representation."""

    kind: str
    key: str
    shown: BaseModel
    status: int = 200

    def response(self, *, replayed: bool = False) -> Response:
        """The answer."""
        headers = {"Idempotent-Replayed": "true"} if replayed else {}
        return JSONResponse(self.shown.model_dump(mode="json"), self.status, headers)


def reader(kind: str) -> Callable[[R], R]:
    """Register how resources of a kind are read again."""

    def register(read: R) -> R:
        READERS[kind] = read
        return read

    return register


class ScopedRoute(APIRoute):
    """Checks the scope before anything of the request is looked at, and carries idempotency keys."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler FastAPI made, inside ours."""
        handler = super().get_route_handler()
        scope: Scope = (self.openapi_extra or {})[SCOPE]

        async def guarded(request: Request) -> Response:
            caller: Caller = request.state.caller
            caller.must_reach(scope)
            # What is sold is told by its events; what was changed, by the audit log.
            if request.method == "GET" or scope == "checkout":
                return await _answered(request, caller, handler)
            with acting(caller.actor):
                return await _answered(request, caller, handler)

        return guarded


def router(tag: str) -> Router:
    """A router of the API."""
    return Router(prefix="/v1", tags=[tag], route_class=ScopedRoute)


class Router(APIRouter):
    """An `APIRouter` whose routes say the scope that they need."""

    def call(
        self, method: str, path: str, scope: Scope, *, problems: Sequence[str] = (), **options: Any
    ) -> Callable[[Any], Any]:
        """Declare one call of the API, with the problems that are its own."""
        return self.api_route(path, methods=[method], openapi_extra={SCOPE: scope, PROBLEMS: list(problems)}, **options)


async def _answered(request: Request, caller: Caller, handler: Callable[[Request], Awaitable[Response]]) -> Response:
    key = request.headers.get("idempotency-key")
    if request.method != "POST" or key is None:
        return await handler(request)
    return await _once(request, caller, key, handler)


async def _once(
    request: Request, caller: Caller, key: str, handler: Callable[[Request], Awaitable[Response]]
) -> Response:
    state = state_of(request)
    if not 1 <= len(key) <= 255 or not key.isprintable() or not key.isascii():
        raise Problem("bad-request", "An Idempotency-Key is 1 to 255 printable ASCII characters.")
    what = b"\0".join((request.method.encode(), request.url.path.encode(), await request.body()))
    known = await state.run(idempotency.begin(key_id=caller.key_id, key=key, fingerprint=hashlib.sha256(what).digest()))
    if known is None:
        return await _first(request, state, caller, key, handler)
    if not known.same_request:
        raise Problem("idempotency-mismatch", f"The key {key!r} was used with another request. Use a fresh one.")
    if known.status is None or known.resource is None:
        raise Problem("idempotency-in-progress", f"The first request with the key {key!r} has not been answered yet.")
    kind, _, name = known.resource.partition(":")
    if kind not in READERS:
        # It holds nothing and changes nothing, so its answer now is to ask again.
        response = await handler(request)
        response.headers["Idempotent-Replayed"] = "true"
        return response
    return Resource(kind, name, await READERS[kind](state, name), known.status).response(replayed=True)


async def _first(
    request: Request,
    state: State,
    caller: Caller,
    key: str,
    handler: Callable[[Request], Awaitable[Response]],
) -> Response:
    done = False
    try:
        response = await handler(request)
        done = 200 <= response.status_code < 300
    finally:
        if not done:
            await state.run(idempotency.forget(key_id=caller.key_id, key=key))
    resource: Resource | None = getattr(request.state, "resource", None)
    await state.run(
        idempotency.remember(
            key_id=caller.key_id,
            key=key,
            status=response.status_code,
            resource=f"{resource.kind}:{resource.key}" if resource else "none:",
        )
    )
    return response


def answer(request: Request, resource: Resource) -> Response:
    """The answer of a POST, and what a replay of it will answer."""
    request.state.resource = resource
    return resource.response()
