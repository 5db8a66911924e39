"""The settings as this process has them, and the chain of clocks drawn to scale."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fastapi import Request, Response

from counterfoil.clocks import Clocks, format_duration
from counterfoil.service.pages.admin.door import AdminRouter, Role
from counterfoil.service.pages.rendering import page
from counterfoil.service.settings import Settings, is_secret
from counterfoil.service.state import state_of

pages = AdminRouter()

#: The drawing's axis, in its own units.
WIDTH = 720


@dataclass(frozen=True)
class Bar:
    """One span of the drawing: from when to when, and how that is said."""

    kind: str
    label: str
    start: float
    width: float
    lasts: str


@pages.page("/settings", role=Role.OWNER)
async def shown(request: Request) -> Response:
    """Every setting with its value; of a secret, only whether it is set."""
    settings = state_of(request).settings
    return page(
        request, "admin/settings.html", settings=said(settings), chain=settings.clocks.chain(),
        bars=bars(settings.clocks), ticks=ticks(settings.clocks), width=WIDTH,
    )  # fmt: skip


def said(settings: Settings) -> list[tuple[str, str]]:
    """The variables and their values, as they would be written."""
    found = []
    for name, field in type(settings).model_fields.items():
        variable, value = field.alias or name, getattr(settings, name)
        if value is None or value == ():
            found.append((variable, "not set"))
        else:
            found.append((variable, "set, and not shown" if is_secret(variable) else _written(value)))
    return found


def bars(clocks: Clocks) -> list[Bar]:
    """The chain, to scale: what Stripe asks for, what the call may take, the session, and its hold."""
    scale = WIDTH / clocks.reservation_ttl.total_seconds()

    def bar(kind: str, label: str, start: timedelta, lasts: timedelta) -> Bar:
        return Bar(
            kind, label, round(start.total_seconds() * scale, 1), round(max(lasts.total_seconds() * scale, 2.0), 1),
            format_duration(lasts),
        )  # fmt: skip

    none = timedelta()
    return [
        bar("floor", "Stripe's floor", none, clocks.stripe_floor),
        bar("call", "the create call, and the skew allowed", clocks.stripe_floor,
            clocks.call_budget + clocks.allowed_skew),
        bar("session", "the payment page", none, clocks.session_ttl),
        bar("hold", "the place is held", none, clocks.reservation_ttl),
    ]  # fmt: skip


def ticks(clocks: Clocks) -> list[tuple[float, str]]:
    """Where the axis has a mark, and what it says: six or fewer, at whole numbers of a unit that people use."""
    whole = clocks.reservation_ttl.total_seconds()
    step = next((step for step in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 14400, 43200) if whole / step <= 6), 86400)
    return [
        (round(at * WIDTH / whole, 1), format_duration(timedelta(seconds=at))) for at in range(0, int(whole) + 1, step)
    ]


def _written(value: Any) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
