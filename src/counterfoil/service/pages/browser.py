"""The browser that asks: on pages, what it began is shown to it alone."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from counterfoil.service.problems import Problem
from counterfoil.service.state import State

COOKIE = "counterfoil_browser"
_YEAR = 365 * 24 * 60 * 60


def known(request: Request, state: State) -> str | None:
    """The digest of this browser's cookie, as it is stored with what it began; None if it has none."""
    token = request.cookies.get(COOKIE, "")
    return _digest(token, state) if re.fullmatch(r"[\w-]{43}", token, re.ASCII) else None


def known_or_new(request: Request, state: State) -> tuple[str, str | None]:
    """The digest of this browser's cookie, and the cookie to set if it had none."""
    digest = known(request, state)
    if digest is not None:
        return digest, None
    token = secrets.token_urlsafe(32)
    return _digest(token, state), token


def remember(response: Response, token: str | None, state: State) -> Response:
    """Set the cookie, if it is new."""
    if token is not None:
        response.set_cookie(
            COOKIE,
            token,
            max_age=_YEAR,
            httponly=True,
            samesite="lax",
            secure=state.settings.public_url.startswith("https:"),
        )
    return response


def must_be_ours(request: Request, state: State) -> None:
    """Refuse a form that another site's page sent."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    ours = {request.url.netloc, urlsplit(state.settings.public_url).netloc}
    if site not in ("same-origin", "none") or (origin is not None and urlsplit(origin).netloc not in ours):
        raise Problem("forbidden", "This form was sent from another site's page. Open the page here and send it again.")


def _digest(token: str, state: State) -> str:
    return hmac.new(state.settings.secret_key.encode(), token.encode(), hashlib.sha256).hexdigest()
