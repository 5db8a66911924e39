"""Templates, money and times as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from babel.numbers import format_currency
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from counterfoil.pricing import decimals

HERE = Path(__file__).parent.parent

_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def money(amount: int, currency: str) -> str:
    """An amount of minor units, as it is written in English; with as many decimals as Stripe counts."""
    places = decimals(currency)
    pattern = "¤#,##0" + ("." + "0" * places if places else "")
    number = Decimal(amount).scaleb(-places)
    return format_currency(number, currency.upper(), pattern, locale="en_GB", currency_digits=False)


def clock_time(moment: datetime, zone: str) -> str:
    """The time of day in a zone, with the day if it is another one than today there."""
    local = moment.astimezone(ZoneInfo(zone))
    today = datetime.now(ZoneInfo(zone)).date()
    return f"{local:%H:%M}" if local.date() == today else f"{local:%H:%M on %-d %B}"


def prose(text: str) -> Markup:
    """A docstring's paragraph: its *emphasis* and `code`, and nothing else of Markdown."""
    safe = str(escape(text))
    safe = re.sub(r"`+([^`]+)`+", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", safe))  # noqa: S704 (escaped above)


_environment.filters.update(time_in=clock_time, prose=prose)
_environment.globals.update(money=money)


def page(
    request: Request, template: str, status: int = 200, *, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page."""
    body = _environment.get_template(template).render(request=request, path=request.url.path, **values)
    return HTMLResponse(body, status, headers)


def wants_page(request: Request) -> bool:
    """Whether a person's browser asks, and not a program."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1")
