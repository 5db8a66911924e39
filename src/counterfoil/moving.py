"""Places that move from one allocation to another: so many fewer here, so many more there, in one step."""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil import errors
from counterfoil.model import Code, Shop
from counterfoil.statement import Row, Sql, Statement


def move_places(
    *, code: Code, period: str, to: Code, to_period: str, places: int, note: str | None, shop: Shop
) -> Statement[None]:
    """
    Move free places of a code's period to another period, or to another code; its allocation is made if need be.

    Raises (when run):
        NotSoManyFree: Fewer than that are free there.
        NoCap: One of the two has no cap.
        CannotMove: Both are one allocation, or the other one's cap would be more than a cap may be.
        Busy: The allocations' locks were not won in time.
    """

    def read(rows: Sequence[Row]) -> None:
        match (row := rows[0])["outcome"]:
            case "not_free":
                raise errors.NotSoManyFree(code=code.code, period=period, used=row["occupied"], free=row["free"])
            case "no_cap":
                whose, when = (code, period) if row["which"] == "from" else (to, to_period)
                raise errors.NoCap(code=whose.code, period=when)
            case "same":
                raise errors.CannotMove("Both are the same places. Choose another code, or another period.")
            case "too_many":
                raise errors.CannotMove(f"{to.code} would have more than 1,000,000,000 places in {to_period}.")

    return Statement(
        Sql(
            "SELECT m.* FROM counterfoil.code AS source, counterfoil.code AS target, "
            "LATERAL counterfoil.move_places(counts_with => coalesce(source.counts_with, source.id), "
            "period => :period::text, to_counts_with => coalesce(target.counts_with, target.id), "
            "to_period => :to_period::text, places => :places::bigint, note => :note::text, "
            "lock_timeout => :lock_timeout::interval) AS m "
            "WHERE source.id = :code::bigint AND target.id = :to::bigint"
        ),
        {
            "code": code.id,
            "period": period,
            "to": to.id,
            "to_period": to_period,
            "places": places,
            "note": note,
            "lock_timeout": shop.lock_timeout,
        },
        read,
        alone=True,
    )
