"""
How many sessions a second the simulator makes, beside an endpoint on the same server that does nothing.

    python benchmarks/simulator.py

Both are asked by the same clients, in turns; medians of the turns are printed, with their range.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from urllib.parse import urlencode

TURNS, CALLS, CLIENTS = 5, 2000, 16

SESSION = urlencode(
    {
        "mode": "payment",
        "success_url": "http://127.0.0.1/",
        "line_items[0][quantity]": 1,
        "line_items[0][price_data][currency]": "gbp",
        "line_items[0][price_data][unit_amount]": 500,
        "line_items[0][price_data][product_data][name]": "Mug",
    }
)
NOTHING = """
import uvicorn
from starlette.responses import Response
from counterfoil.listening import listen
async def app(scope, receive, send):
    await receive()
    await Response(b"{}")(scope, receive, send)
listening = listen("127.0.0.1")
print(f"=http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")).run(sockets=[listening])
"""


async def rate(address: str) -> float:
    """
    Calls a second, of so many clients at once.

    Written by hand over plain connections: a client library takes longer for a call than the server does.
    """
    host, _, port = address.removeprefix("http://").partition(":")
    request = (
        "POST /v1/checkout/sessions HTTP/1.1\r\n"
        f"Host: {host}:{port}\r\nAuthorization: Bearer sk_test_x\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(SESSION)}\r\n\r\n{SESSION}"
    ).encode()
    left = iter(range(CALLS))

    async def caller() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in left:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if not head.startswith(b"http/1.1 200"):
                raise RuntimeError(head.decode())
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CLIENTS)))
    return CALLS / (time.perf_counter() - began)


def main() -> None:
    """Start both, ask them in turns, and print."""
    programs = {
        "simulator, POST /v1/checkout/sessions": [sys.executable, "-m", "counterfoil", "simulator", "--port", "0"],
        "an endpoint that does nothing": [sys.executable, "-c", NOTHING],
    }
    rates: dict[str, list[float]] = {name: [] for name in programs}
    started = {
        name: subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for name, arguments in programs.items()
    }
    try:
        urls = {}
        for name, process in started.items():
            assert process.stdout
            urls[name] = process.stdout.readline().strip().partition("=")[2]
        for _ in range(TURNS):
            for name, url in urls.items():
                rates[name].append(asyncio.run(rate(url)))
    finally:
        for process in started.values():
            process.terminate()
            process.wait(30)
    for name, found in rates.items():
        print(f"{name:40} {statistics.median(found):6.0f}/s  ({min(found):.0f} to {max(found):.0f})")


if __name__ == "__main__":
    main()
