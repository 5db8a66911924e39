"""Every answer that a test gets is one that the OpenAPI document knows: status, media type, problem code."""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI
from starlette.routing import compile_path


class Documented:
    """A hook of the client's, called with each answer."""

    def __init__(self, app: FastAPI) -> None:
        document = app.openapi()
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        # Those without a parameter first: /v1/redemptions.csv is no redemption's id.
        paths = sorted(document["paths"].items(), key=lambda item: "{" in item[0])
        self.calls = [(compile_path(template)[0], calls) for template, calls in paths]

    def __call__(self, answer: httpx.Response) -> None:
        """Hold an answer against the document."""
        call = self._call(answer.request)
        if call is None:
            return
        answer.read()
        where = f"{answer.request.method} {answer.request.url.path} answered {answer.status_code}: {answer.text[:300]}"
        documented = call["responses"].get(str(answer.status_code))
        assert documented is not None, f"not in the document: {where}"
        by_media: dict[str, Any] = documented.get("content", {})
        media = answer.headers.get("content-type", "").partition(";")[0]
        assert not by_media or media in by_media, f"{media} is not in the document: {where}"
        schema = by_media.get(media, {}).get("schema", {})
        if media == "application/problem+json":
            assert answer.json()["code"] in schema["properties"]["code"]["enum"], f"not in the document: {where}"
        elif "$ref" in schema:
            required = self.schemas[schema["$ref"].rpartition("/")[2]]["required"]
            assert set(required) <= answer.json().keys(), where

    def _call(self, request: httpx.Request) -> dict[str, Any] | None:
        for pattern, calls in self.calls:
            if pattern.match(request.url.path):
                found: dict[str, Any] | None = calls.get(request.method.lower())
                return found
        return None
