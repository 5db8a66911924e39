"""
For whom a request works: what the audit log calls whoever changed something.

The routes say so, once for all of them: a handler cannot forget it, and what it runs need not be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from counterfoil.audit import Actor

_acting: ContextVar[Actor | None] = ContextVar("acting", default=None)


def current() -> Actor | None:
    """Whoever the work of this moment is done for; None: nobody whose changes are kept, such as a buyer."""
    return _acting.get()


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """What is run in this block is done for *actor*."""
    before = _acting.set(actor)
    try:
        yield
    finally:
        _acting.reset(before)
