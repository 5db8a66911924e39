"""Where whoever signs in goes on: the page that they opened, if it is one of ours behind the door."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlencode, urlsplit

from starlette.requests import Request

HOME = "/admin"
_LONGEST = 1000
_ENTRANCES = ("/admin/sign-in", "/admin/sign-out", "/admin/live")


def safe(wanted: str) -> str:
    """The path that is wanted, if it is plainly one under /admin; otherwise /admin."""
    path = unquote(wanted.partition("?")[0])
    # guard: back-to-our-own-pages-only
    if len(wanted) > _LONGEST or not re.fullmatch(r"/admin(?:[/?][!-~]*)?", wanted) or re.search(r"[\\#]", wanted):
        return HOME
    # As a browser would read it: what is encoded, and what leads up again.
    if re.search(r"//|\\|[^ -~]|/\.{1,2}(/|$)", path) or path.startswith(_ENTRANCES):
        return HOME
    return wanted


def asking(at: str, wanted: str) -> str:
    """The address of a page of the entrance, which carries along where to go on."""
    return at if wanted == HOME else f"{at}?{urlencode({'next': wanted})}"


def wanted_by(request: Request) -> str:
    """Where whoever made this request wanted to be: for a form, at the page that held it."""
    if request.method != "POST":
        return safe(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
    try:
        held = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return HOME
    return safe(held.path + (f"?{held.query}" if held.query else ""))
