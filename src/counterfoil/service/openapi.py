"""
The OpenAPI document: what FastAPI makes of the routes, and what only we know of them.

Each route names the problems that are its own; those that any call can meet are added here. So a client that is made
from the document knows every answer, and the tests hold every answer against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from counterfoil.service.problems import KINDS
from counterfoil.service.resources import ProblemOut

SCOPE = "x-counterfoil-scope"
PROBLEMS = "x-counterfoil-problems"

#: What any call with a key can meet, and any POST of those.
_WITH_A_KEY = ("unauthorized", "forbidden", "busy", "internal", "bad-request", "too-large")
_POSTED = ("idempotency-mismatch", "idempotency-in-progress")
#: What is no call's own.
ANYWHERE = frozenset((*_WITH_A_KEY, *_POSTED, "unsupported-media-type", "invalid-request", "not-found"))

_KEY = {"key": {"type": "http", "scheme": "bearer", "description": "A key of `counterfoil key create`."}}
_IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Sent again with the same key within 24 hours, the request is not done again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


def install(app: FastAPI) -> None:
    """Let the application answer with this document."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def operation_id(method: str, path: str) -> str:
    """A name for a call that stays as it is: ``post_checkouts_id_cancel``."""
    return re.sub(r"[^a-z0-9]+", "_", f"{method.lower()} {path.removeprefix('/v1')}".lower()).strip("_")


def _document(app: FastAPI) -> dict[str, Any]:
    found: dict[str, Any] = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    for path, calls in found["paths"].items():
        for method, call in calls.items():
            _complete(method, path, call)
    schemas = found["components"]["schemas"]
    for made_by_the_framework in ("HTTPValidationError", "ValidationError"):
        schemas.pop(made_by_the_framework, None)
    schemas["Problem"] = ProblemOut.model_json_schema() | {"additionalProperties": True}
    found["components"]["securitySchemes"] = _KEY
    return found


def _complete(method: str, path: str, call: dict[str, Any]) -> None:
    call["operationId"] = operation_id(method, path)
    first, _, rest = call.pop("description", call["summary"]).partition("\n")
    call["summary"] = first.rstrip(".")
    paragraphs = [rest.strip()] if rest.strip() else []
    if SCOPE in call:
        call["security"] = [{"key": []}]
        paragraphs.insert(0, f"Needs a key that reaches `{call[SCOPE]}`.")
        if method == "post":
            call.setdefault("parameters", []).append(_IDEMPOTENCY)
    if paragraphs:
        call["description"] = "\n\n".join(paragraphs)
    responses = call["responses"]
    if "422" in responses and "application/json" in responses["422"]["content"]:
        del responses["422"]
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(_problems(method, path, call)):
        for status in statuses(code, path):
            by_status.setdefault(status, []).append(code)
    for status, codes in sorted(by_status.items()):
        schema = {"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": codes}}}
        responses[str(status)] = {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes),
            "content": {"application/problem+json": {"schema": schema}},
        }


def _problems(method: str, path: str, call: dict[str, Any]) -> Iterator[str]:
    """What is its own, and what any call of its kind can meet."""
    yield from call.pop(PROBLEMS, ())
    body = "requestBody" in call
    if SCOPE in call:
        yield from _WITH_A_KEY
        if method == "post":
            yield from _POSTED
        if method != "get":
            yield "unsupported-media-type"
        if body or any(one["in"] == "query" for one in call.get("parameters", ())):
            yield "invalid-request"
    if "{" in path:
        yield "not-found"


def statuses(code: str, path: str) -> tuple[int, ...]:
    """The statuses that a problem has in answers of this path."""
    if code == "code-unknown" and "{code}" in path:
        # The body of a move names another code.
        return (404, 422) if path.endswith("/move") else (404,)
    if code == "stripe-unavailable":
        return (502, 503)
    return (KINDS[code].status,)
