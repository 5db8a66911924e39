"""Sockets that listen before anything is started on them."""

from __future__ import annotations

import socket


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
