"""
What happens at the door, before any handler: how large a body may be, what it must be, and whose key it came with.

Plain ASGI, so that 401 comes before 404 and 422, and an unread body is never a surprise.
"""

from __future__ import annotations

import logging
import re
from typing import Any, ClassVar

import psycopg
from psycopg_pool import PoolTimeout
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterfoil import errors
from counterfoil.service import auth, problems
from counterfoil.service.pages.rendering import wants_page
from counterfoil.service.pages.trouble import trouble
from counterfoil.service.problems import Problem
from counterfoil.service.state import State

log = logging.getLogger(__name__)

#: Bytes. An event of Stripe's carries a whole session; everything else is a short form.
MOST_BODY = 64 * 1024
MOST_EVENT = 1024 * 1024
#: A file of codes, twice: as it was chosen, and as it was looked at.
MOST_FILE = 3 * 1024 * 1024
#: Of a body that is too large, this much is read and dropped: a connection that is closed on unread bytes is reset, and
#: the caller would never see why.
MOST_DRAINED = 16 * 1024 * 1024

_WITH_BODY = ("POST", "PUT", "PATCH")


class Door:
    """Bodies, media types and keys."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: State = scope["app"].state.counterfoil
        headers = Headers(scope=scope)
        api = scope["path"] == "/v1" or scope["path"].startswith("/v1/")
        most = _most(scope["path"])
        try:
            if api:
                scope.setdefault("state", {})["caller"] = await _caller(headers, state)
            if "\0" in scope["path"]:
                # No name of ours has one, and the database has no text with one.
                raise Problem("not-found", problems.KINDS["not-found"].advice)
            body = await _body(headers, receive, most)
            if api and body and scope["method"] in _WITH_BODY and not _is_json(headers):
                raise Problem("unsupported-media-type", "Send the body as application/json.")
        except Problem as problem:
            await _answer(problem, scope)(scope, receive, send)
            return
        except (psycopg.OperationalError, PoolTimeout):
            log.exception("the database cannot be reached")
            await _answer(database_down(), scope)(scope, receive, send)
            return

        sent = False

        async def once() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, once, send)


class SafeHeaders:
    """Headers that every answer carries. Pages may load what we serve, and send forms to us alone."""

    POLICY = (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    HEADERS: ClassVar = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers on the way out."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, dressed)


def database_down() -> Problem:
    """The database cannot be reached: never the same as full."""
    return problems.of(errors.Busy("The database cannot be reached. Try again in a moment.", retry_after=2))


def _answer(problem: Problem, scope: Scope) -> Response:
    request = Request(scope)
    if wants_page(request):
        return trouble(request, problem)
    return problem.response(request.app.state.counterfoil.settings.public_url)


async def caller_of(secret: str, state: State) -> auth.Caller | None:
    """Whose key this is, unless it was revoked."""
    return (
        auth.Caller(0, "all", "the admin key")
        if auth.is_admin(secret, state.settings)
        else await state.run(auth.find_key(secret))
    )


async def _caller(headers: Headers, state: State) -> auth.Caller:
    secret = auth.bearer(headers.get("authorization"))
    caller = await caller_of(secret, state) if secret is not None else None
    if caller is None:
        raise Problem(
            "unauthorized",
            "Send the header Authorization: Bearer with a key that was not revoked.",
            headers={"WWW-Authenticate": 'Bearer realm="counterfoil"'},
        )
    return caller


async def _body(headers: Headers, receive: Receive, most: int) -> bytes:
    too_large = Problem("too-large", f"A body may be {most} bytes long.", headers={"Connection": "close"})
    if _declared(headers) > most and (_declared(headers) > MOST_DRAINED or "expect" in headers):
        raise too_large
    parts: list[bytes] = []
    size = 0
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("bad-request", "The request ended in the middle of its body.")
        size += len(message.get("body", b""))
        if size <= most:
            parts.append(message.get("body", b""))
        if size > MOST_DRAINED or (size > most and not message.get("more_body")):
            raise too_large
        if not message.get("more_body"):
            return b"".join(parts)


def _most(path: str) -> int:
    if path == "/webhooks/stripe":
        return MOST_EVENT
    return MOST_FILE if re.fullmatch(r"/admin/institutions/[^/]+/import", path) else MOST_BODY


def _declared(headers: Headers) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else 0


def _is_json(headers: Headers) -> bool:
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
