"""Templates, and what they may call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from counterfoil.service.pages.assets import asset
from counterfoil.service.pages.reader import Reader, reading

_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent.parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

#: Who reads the page that is being rendered. Set for the length of one render, so that macros need not be handed it.
_reader: ContextVar[Reader] = ContextVar("reader")


def prose(text: str) -> Markup:
    """A docstring's paragraph: its *emphasis* and `code`, and nothing else of Markdown."""
    safe = str(escape(text))
    safe = re.sub(r"`+([^`]+)`+", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", safe))  # noqa: S704 (escaped above)


def _money(amount: int, currency: str) -> str:
    return _reader.get().money(amount, currency)


def _number(count: int) -> str:
    return _reader.get().number(count)


def _time_in(moment: datetime, zone: str) -> str:
    return _reader.get().time(moment, zone)


def _moment_in(moment: datetime, zone: str) -> str:
    return _reader.get().moment(moment, zone)


def _day(day: date) -> str:
    return _reader.get().day(day)


def _day_in(moment: datetime, zone: str) -> str:
    return _reader.get().day(moment.astimezone(ZoneInfo(zone)).date())


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


_environment.filters.update(
    time_in=_time_in, moment_in=_moment_in, day=_day, day_in=_day_in, number=_number, iso=_iso, prose=prose
)
_environment.globals.update(money=_money, asset=asset)


def reader_of(request: Request, now: datetime | None = None) -> Reader:
    """Who reads the answer to this request."""
    return reading(request.headers.get("accept-language", ""), now)


def page(
    request: Request,
    template: str,
    status: int = 200,
    *,
    headers: Mapping[str, str] | None = None,
    now: datetime | None = None,
    **values: Any,
) -> HTMLResponse:
    """A page. *now*, the database's clock, is what `time_in` needs to know whether a moment is today."""
    mine = _reader.set(reader_of(request, now))
    try:
        body = _environment.get_template(template).render(
            request=request, path=request.url.path, now=now, home=_home(request), **values
        )
    finally:
        _reader.reset(mine)
    return HTMLResponse(body, status, headers)


def wants_page(request: Request) -> bool:
    """Whether a person's browser asks, and not a program."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1")


def _home(request: Request) -> str:
    """Where somebody who is lost begins again: the part of the site they were in."""
    for part in ("/admin", "/portal"):
        if request.url.path == part or request.url.path.startswith(f"{part}/"):
            return part
    return "/" if request.app.state.counterfoil.settings.storefront == "on" else "/docs"
