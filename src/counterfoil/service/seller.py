"""One database serves one seller and one Stripe mode, recorded at first start."""

from __future__ import annotations

from counterfoil.statement import Sql, Statement


def mode() -> Statement[bool | None]:
    """The mode that was recorded: True for live, None for none yet."""
    return Statement(
        Sql("SELECT livemode FROM counterfoil.seller"), {}, lambda rows: bool(rows[0]["livemode"]) if rows else None
    )


def record(livemode: bool) -> Statement[bool]:
    """Record the mode if there is none yet; returns the one that holds."""
    return Statement(
        Sql(
            "INSERT INTO counterfoil.seller AS s (livemode) VALUES (:livemode::boolean) "
            "ON CONFLICT (only_one) DO UPDATE SET livemode = s.livemode RETURNING livemode"
        ),
        {"livemode": livemode},
        lambda rows: bool(rows[0]["livemode"]),
    )


def name(livemode: bool) -> str:
    """What Stripe calls it."""
    return "live" if livemode else "test"
