"""
Run stories through faults, on a PostgreSQL that is started for it: ``python -m tests.simulation --seeds 1000``.

The first failure ends it: its seed, the shortest story found, and exit 1.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from counterfoil import embedded
from tests.conftest import binaries
from tests.simulation.ground import Ground
from tests.simulation.running import search, shortened


def main() -> int:
    """Exit 1 if something broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--long", action="store_true", help="the story as it was drawn, not shortened")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-", dir="/var/tmp" if Path("/var/tmp").is_dir() else None))
    folder.chmod(0o755)
    began = time.monotonic()
    try:
        with (
            embedded.start(folder / "home", binaries()) as server,
            psycopg.connect(server.url, autocommit=True) as connection,
        ):
            connection.execute("SET synchronous_commit = off")
            ground = Ground(connection)
            for seed, failure in search(ground, range(options.first, options.first + options.seeds)):
                if failure:
                    print(f"seed {seed} breaks: {failure.why}\nlooking for the shortest story", flush=True)
                    print(failure if options.long else shortened(ground, failure))
                    return 1
                if seed % 100 == 0:
                    print(f"{seed}: {time.monotonic() - began:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.seeds} stories, nothing broke, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
