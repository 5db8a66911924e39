"""A mail server that listens, keeps what it was given, and answers as it is told."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller

from counterfoil.listening import listen


class Post:
    """What came, and what is said to an address: None takes it."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.raw: list[bytes] = []
        self.says: Callable[[str], str | None] = lambda _: None
        self.url = ""

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        """Take a recipient, or not."""
        said = self.says(address)
        if said is not None:
            return said
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        """Take a mail."""
        self.raw.append(envelope.content)
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        self.mails.append(message)
        return "250 OK"


@contextmanager
def post_office() -> Iterator[Post]:
    """A mail server that listens until the block ends."""
    post = Post()
    with listen("127.0.0.1") as free:
        port = free.getsockname()[1]
    controller = Controller(post, hostname="127.0.0.1", port=port)
    controller.start()
    post.url = f"smtp://127.0.0.1:{port}"
    yield post
    controller.stop()
