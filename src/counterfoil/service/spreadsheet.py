"""Tables that are opened in a spreadsheet: CSV, line by line, in constant memory."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence

from starlette.responses import StreamingResponse

from counterfoil.importing.cells import FORMULA


def line(cells: Sequence[object]) -> str:
    """
    One line, with its end. None is an empty cell. Cells that a spreadsheet would take for a formula get an apostrophe
    before them.
    """
    buffer = io.StringIO()
    csv.writer(buffer).writerow(
        [
            "'" + cell if isinstance(cell, str) and cell.startswith(FORMULA) else "" if cell is None else cell
            for cell in cells
        ]
    )
    return buffer.getvalue()


def table(lines: AsyncIterator[str], name: str) -> StreamingResponse:
    """The answer that is kept as a file of this name."""
    return StreamingResponse(
        lines,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
