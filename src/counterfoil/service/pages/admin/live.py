"""Live pages: a stream of server-sent events that says that something changed. What, each page asks for itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from counterfoil.service.changes import Changes
from counterfoil.service.pages.admin.door import AdminRouter, who_is
from counterfoil.service.state import state_of

pages = AdminRouter()

#: Seconds. A connection over which nothing comes is closed by what lies between.
HEARTBEAT = 15.0
#: How often it is looked whether the session is still good.
CHECK = 5.0


@pages.page("/live")
async def live(request: Request) -> Response:
    """``event: changed`` whenever something did. Ends with the session, and with the service."""
    return StreamingResponse(_stream(request), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _stream(request: Request) -> AsyncIterator[str]:
    state = state_of(request)
    changes: Changes = request.app.state.changes
    loop = asyncio.get_running_loop()
    async with changes.listening(state.database) as heard:
        # How long a browser waits before it connects again, in milliseconds.
        yield "retry: 2000\n\n"
        said = loop.time()
        while not changes.ending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(heard.wait(), CHECK)
            if changes.ending or await who_is(request, state, touch=False) is None:
                return
            if heard.is_set():
                heard.clear()
                yield "event: changed\ndata:\n\n"
                said = loop.time()
            elif loop.time() - said >= HEARTBEAT:
                yield ": still here\n\n"
                said = loop.time()
