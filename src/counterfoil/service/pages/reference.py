"""Pages about the API itself: each problem, and every call."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from counterfoil.service.openapi import ANYWHERE
from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import KINDS

reference = APIRouter(include_in_schema=False)


@reference.get("/problems/{code}")
async def problem(request: Request, code: str) -> Response:
    """What a problem code means, and what to do."""
    if code not in KINDS:
        return page(request, "not_found.html", 404)
    return page(request, "reference/problem.html", code=code, kind=KINDS[code])


@reference.get("/docs")
async def calls(request: Request) -> Response:
    """Every call of the API, readable, with nothing loaded from elsewhere."""
    document: dict[str, Any] = request.app.openapi()
    schemas = document["components"]["schemas"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            groups.setdefault(call["tags"][0], []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "scope": call.get("x-counterfoil-scope"),
                    "says": call["summary"],
                    "more": call.get("description", ""),
                    "problems": sorted(
                        {
                            code
                            for answer in call["responses"].values()
                            for code in answer.get("content", {})
                            .get("application/problem+json", {})
                            .get("schema", {})
                            .get("properties", {})
                            .get("code", {})
                            .get("enum", ())
                        }
                        - ANYWHERE
                    ),
                    "query": [one for one in call.get("parameters", []) if one["in"] == "query"],
                    "fields": _fields(schemas.get(body.get("$ref", "").rpartition("/")[2], {})),
                }
            )
    return page(request, "reference/docs.html", groups=groups, problems=KINDS)


def _fields(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", [])
    return [
        {"name": name, "type": _type(field), "required": name in required}
        for name, field in schema.get("properties", {}).items()
    ]


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "enum" in field:
        return " | ".join(map(str, field["enum"]))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "any"))
