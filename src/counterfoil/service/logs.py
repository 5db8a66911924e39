"""Logs: text for people, JSON for machines, one line each. Never a body, a key or a secret."""

from __future__ import annotations

import logging
from typing import Literal

import structlog


def configure(kind: Literal["text", "json"], level: int = logging.INFO) -> None:
    """Send the standard library's logging through one renderer."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if kind == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore", "stripe", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
