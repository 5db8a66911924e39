"""What pages load: style, script and pictures of our own."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent.parent / "static"


@cache
def asset(name: str) -> str:
    """The address of a file of ours. It changes with the file, so that a browser may keep what it has for good."""
    return f"/static/{name}?{hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]}"


class Assets(StaticFiles):
    """Files that a browser keeps for good where the address names this very content, and else asks about again."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, and how long it may be kept."""
        answer = await super().get_response(path, scope)
        query = scope.get("query_string", b"").decode("latin-1")
        named = answer.status_code in (200, 304) and asset(path) == f"/static/{path}?{query}"
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if named else "no-cache"
        return answer
