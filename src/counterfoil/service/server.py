"""The server that the service runs in: it lets go of those who only listen, as soon as it is told to end."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI

from counterfoil.service.changes import Changes


class Server(uvicorn.Server):
    """
    Uvicorn's, which waits for answers that are under way: one that has no end of its own has to be told.

    The application itself would hear of it only afterwards.
    """

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._changes: Changes = app.state.changes

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: finish what is under way, and first of all what would never be."""
        self._changes.end()
        await super().shutdown(sockets)
