"""
Writing and sending mails: at least once, by as many processes as there are.

What is due is in the database, and so is who is at work on it: a process that dies in the middle loses nothing. Without
COUNTERFOIL_SMTP_URL mails are written all the same, and wait in the outbox.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiosmtplib

from counterfoil import mail, notices
from counterfoil.mail import Mail
from counterfoil.procedure import AsyncDatabase
from counterfoil.service import letters
from counterfoil.service.settings import Settings
from counterfoil.service.smtp import Refused, Smtp
from counterfoil.service.state import State

log = logging.getLogger(__name__)

#: Mails that a process takes on at once: what they can take together is inside the lease.
AT_ONCE = 5
#: Seconds that one mail may take, however slowly its server answers.
_LONGEST = 50


class Mailer:
    """
    Writes the mails of notices, and sends what is due.

    Args:
        saw: Told how each attempt ended: ``sent``, ``failed`` or ``given_up``.
    """

    def __init__(
        self, database: AsyncDatabase, settings: Settings, saw: Callable[[str], object] = lambda _: None
    ) -> None:
        self._database = database
        self._settings = settings
        self._saw = saw
        self._smtp = Smtp(settings.smtp_url, settings.mail_from) if settings.smtp_url and settings.mail_from else None

    async def look(self) -> None:
        """Once: notice what is to be told, write its mails, and send all that are due."""
        await self.write_notices()
        if self._smtp is not None:
            while await self._send_some(self._smtp):
                pass

    async def write_notices(self) -> None:
        """Write the mails of notices that have none yet."""
        await self._database.run(notices.look())
        if await self._database.run(notices.years_are_due()):
            await self._database.run(notices.look_at_year_ends())
        for notice in await self._database.run(notices.unmailed()):
            drafts = list(letters.of_notice(notice, self._settings))
            await self._database.run(notices.mail(notice=notice, drafts=drafts))

    async def _send_some(self, smtp: Smtp) -> bool:
        claimed = await self._database.run(mail.claim(most=AT_ONCE))
        for one in claimed:
            error, for_good = await self._attempt(smtp, one)
            given_up = await self._database.run(mail.close(mail=one, error=error, for_good=for_good))
            self._saw("sent" if error is None else "given_up" if given_up else "failed")
            if error is not None:
                # Not to whom: a log is no place for addresses.
                log.warning("mail %d, attempt %d: %s%s", one.id, one.attempts, error, ", given up" if given_up else "")
        return bool(claimed)

    async def _attempt(self, smtp: Smtp, one: Mail) -> tuple[str | None, bool]:
        """What went wrong, None if nothing did; and whether it will never go right."""
        try:
            message = smtp.message(one.recipient, one.subject, one.text, id=f"counterfoil-{one.id}-{_stamp(one)}")
            async with asyncio.timeout(_LONGEST):
                await smtp.send(message)
        except Refused as refused:
            return str(refused)[:200], True
        except (aiosmtplib.SMTPException, OSError, TimeoutError) as failure:
            return f"{type(failure).__name__}: {failure}"[:200], False
        except Exception as failure:  # what cannot be sent is given up like all else, and never tried for ever
            log.exception("mail %d cannot be sent", one.id)
            return type(failure).__name__, False
        return None, False


def _stamp(one: Mail) -> str:
    """What tells mails of the same number apart: of another database, or one that was begun anew."""
    return f"{int(one.created_at.timestamp() * 1_000_000):x}"


@asynccontextmanager
async def mailing(state: State) -> AsyncIterator[None]:
    """Look every COUNTERFOIL_MAIL_INTERVAL while the block runs; never, if that is 0."""
    if not state.settings.mail_interval:
        yield
        return
    mailer = Mailer(state.database, state.settings, lambda result: state.metrics.mails.labels(result).inc())
    task = asyncio.create_task(_at_intervals(mailer, state.settings.mail_interval.total_seconds()))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _at_intervals(mailer: Mailer, interval: float) -> None:
    while True:
        try:
            await mailer.look()
        except Exception:  # whatever it is, what is due stays due
            log.exception("mails could not be looked after, and are tried again")
        await asyncio.sleep(interval)
