"""Sockets that listen before anything is started on them, and servers that end when they are told to."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import uvicorn


def listen(host: str, port: int = 0) -> socket.socket:
    """
    A socket that listens on *host* and *port* (0: any that is free).

    What is accepted on it sends at once: without TCP_NODELAY, which it inherits, an answer in two pieces waits 40 ms
    for the other side's delayed acknowledgement. A server that makes its own sockets sets this itself.

    Raises:
        OSError: The address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def serve_until_told(server: uvicorn.Server, listening: socket.socket) -> None:
    """
    Serve on a socket until SIGTERM or SIGINT; requests that are under way are finished. Then this returns.

    A server of uvicorn's ends by raising the signal again, which would kill the process that ended so well: so the
    handlers it restores are these.
    """
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, server.handle_exit)
    server.run(sockets=[listening])
