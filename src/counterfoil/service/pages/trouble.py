"""The page of a problem: what happened, in words for people, and what to do next."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from counterfoil.service.pages.rendering import page
from counterfoil.service.problems import KINDS, Problem

#: Title and advice where those of the API speak to programs. The others' details speak to both.
_FOR_PEOPLE = {
    "bad-request": ("That could not be read", "Go back, look at what was typed, and send it again."),
    "method-not-allowed": ("That cannot be done here", "The form may be from an older page. Open the page anew."),
    "too-large": ("That is too long", "Go back and send a shorter text. What was typed is still there."),
    "internal": (
        "Something went wrong here",
        "It was logged. Nothing was charged because of it. Try again in a moment.",
    ),
}
#: The title alone: what else there is to say, the detail says.
_TITLES = {"forbidden": "That was refused", "invalid-request": "Something that was sent is not right"}
#: What goes away by itself.
_PASSES = ("busy", "rate-limited", "internal", "stripe-unavailable")


def trouble(request: Request, problem: Problem) -> Response:
    """The page of a problem, for a person's browser."""
    kind = KINDS[problem.code]
    status = problem.status or kind.status
    if problem.code == "not-found":
        return page(request, "not_found.html", status)
    title, advice = _FOR_PEOPLE.get(problem.code, (_TITLES.get(problem.code, kind.title), problem.detail))
    return page(
        request,
        "trouble.html",
        status,
        headers=problem.headers,
        title=title,
        advice=advice,
        again=request.url.path if problem.code in _PASSES and request.method == "GET" else None,
        back=_back(request),
    )


def _back(request: Request) -> str | None:
    """The page that a form was sent from, if it is ours. A browser that goes back has what was typed."""
    came_from = urlsplit(request.headers.get("referer", ""))
    ours = request.method == "POST" and came_from.netloc == request.url.netloc
    return came_from.path if ours and came_from.path.startswith("/") else None
