"""A code as a square that a phone reads: the shop's page with the code filled in, as SVG."""

from __future__ import annotations

from urllib.parse import quote

import segno
from markupsafe import Markup

from counterfoil.model import Code


def address(code: Code, public_url: str) -> str:
    """Where the square leads: to the one product that the code is for, or to the shop."""
    path = f"/products/{quote(code.products[0])}" if code.products and len(code.products) == 1 else "/"
    return f"{public_url.rstrip('/')}{path}?code={quote(code.code)}"


def square(address: str) -> Markup:
    """The square; what it says is written beside it."""
    drawn = segno.make(address, error="m", micro=False).svg_inline(
        scale=5, border=4, dark="#000000", light="#ffffff", svgclass="qr", lineclass=None, omitsize=True
    )
    # Its text is numbers and colours: nothing of the address is in it.
    return Markup(drawn.replace("<svg ", '<svg role="img" aria-label="The code as a square to scan" ', 1))  # noqa: S704
