"""One mail over SMTP: plain text, as programs send it, with nothing in it that reports back."""

from __future__ import annotations

from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from urllib.parse import unquote, urlsplit

import aiosmtplib

from counterfoil.service.settings import sender_address

#: Seconds for one step of the conversation.
TIMEOUT = 10.0

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Refused(Exception):
    """The server will never take a mail for this address."""


class Smtp:
    """
    A way to send.

    With ``smtp://`` the conversation is encrypted by STARTTLS where the server offers it, and must be where a password
    is sent to another machine; with ``smtps://`` from its beginning.
    """

    def __init__(self, url: str, sender: str) -> None:
        self._parts = urlsplit(url)
        found = sender_address(sender)
        if found is None:
            raise ValueError(f"not a sender: {sender}")
        self._name, self._address = found

    def message(self, recipient: str, subject: str, body: str, *, id: str | None = None) -> EmailMessage:
        """The mail as it is sent. *id* is the same at each attempt, so that a mail that came twice is known as one."""
        message = EmailMessage()
        local, _, domain = self._address.rpartition("@")
        message["From"] = Address(self._name, local, domain)
        message["To"] = recipient
        message["Subject"] = subject
        # The time of this machine, not the database's, which a demo moves.
        message["Date"] = format_datetime(datetime.now(UTC))
        message["Message-ID"] = f"<{id}@{domain}>" if id else make_msgid(domain=domain)
        # No answer by a machine is wanted: RFC 3834.
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(body)
        return message

    async def send(self, message: EmailMessage) -> None:
        """
        Send it.

        Raises:
            Refused: Its address is refused for good.
            aiosmtplib.SMTPException, OSError: It was not sent this time.
        """
        host = self._parts.hostname or ""
        password = unquote(self._parts.password) if self._parts.password else None
        implicit = self._parts.scheme == "smtps"
        must = password is not None and host not in _LOOPBACK
        client = aiosmtplib.SMTP(
            hostname=host,
            port=self._parts.port or (465 if implicit else 587),
            username=unquote(self._parts.username) if self._parts.username else None,
            password=password,
            use_tls=implicit,
            start_tls=None if implicit else (True if must else None),
            timeout=TIMEOUT,
        )
        async with client:
            try:
                await client.send_message(message, sender=self._address)
            except aiosmtplib.SMTPRecipientsRefused as refused:
                if all(500 <= one.code < 600 for one in refused.recipients):
                    raise Refused("; ".join(f"{one.code} {one.message}" for one in refused.recipients)) from None
                raise
