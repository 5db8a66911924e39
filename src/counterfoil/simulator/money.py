"""
What the simulated account charges: minimums, the ceiling, and how amounts are written.

Minimums from Stripe's currency page, in minor units. Stripe judges them in the account's settlement currency; here the
currency itself decides.
"""

from __future__ import annotations

MINIMUMS = {
    "usd": 50, "eur": 50, "gbp": 30, "cad": 50, "aud": 50, "nzd": 50, "chf": 50, "sgd": 50, "brl": 50, "inr": 50,
    "dkk": 250, "nok": 300, "sek": 300, "pln": 200, "hkd": 400, "mxn": 1000, "myr": 200, "jpy": 50,
}  # fmt: skip
MAXIMUM = 99_999_999
ZERO_DECIMAL = frozenset("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split())
THREE_DECIMAL = frozenset("bhd jod kwd omr tnd".split())
SYMBOLS = {"gbp": "£", "eur": "€", "usd": "$", "jpy": "¥"}


def written(amount: int, currency: str) -> str:
    """An amount of minor units as a payment page writes it."""
    places = 0 if currency in ZERO_DECIMAL else 3 if currency in THREE_DECIMAL else 2
    number = f"{amount / 10**places:,.{places}f}"
    symbol = SYMBOLS.get(currency)
    return f"{symbol}{number}" if symbol else f"{number} {currency.upper()}"
