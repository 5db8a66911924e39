"""
Where we may connect when somebody else chose the address: to public addresses alone.

A name is looked up by us, every address it has is judged, and the connection goes to one that was judged. So a name
that meant something else a moment ago (DNS rebinding) leads nowhere either.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv6Address, ip_address

import httpx


class NotPublic(Exception):
    """The address lies in a private network, on this machine, or nowhere."""


class Unresolved(Exception):
    """The name has no address."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public Internet's, also where it only wraps an IPv4 address."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        wrapped = ip.ipv4_mapped or ip.sixtofour
        if wrapped:
            return is_public(str(wrapped))
        if ip.is_site_local:
            return False
    # Reserved covers the prefixes of NAT64 and of IPv4-compatible addresses, which wrap IPv4 addresses as well.
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def public_addresses(host: str, port: int) -> list[str]:
    """
    The addresses of a host, all of them public.

    Raises:
        NotPublic: One of them is not.
        Unresolved: There is none.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as error:
        raise Unresolved(f"{host} has no address") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    # guard: no-private-address-is-connected-to
    if not all(map(is_public, addresses)):
        raise NotPublic(f"{host} is not a public address")
    return addresses


async def check_url(url: str) -> None:
    """
    Nothing, if a request to this URL would be sent.

    Raises:
        NotPublic: It is not https, or not public.
        Unresolved: Its name has no address.
    """
    try:
        # Read as the client reads it, so that what is judged is what is connected to.
        await _judged(httpx.URL(url))
    except httpx.InvalidURL as error:
        raise Unresolved(str(error)) from None


class PublicOnly(httpx.AsyncBaseTransport):
    """Sends a request to an address that was judged, under the name that was asked for."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """
        Send a request.

        Raises:
            NotPublic: The URL is not https, or leads to an address that is not public.
            Unresolved: The name has no address.
            httpx.TransportError: None of the addresses could be connected to, or what came then failed.
        """
        host = request.url.raw_host.decode("ascii")
        failure: httpx.TransportError | None = None
        for address in await _judged(request.url):
            # The Host header was made from the name, and stays.
            request.url = request.url.copy_with(host=address)
            request.extensions = {**request.extensions, "sni_hostname": host}
            try:
                return await self._inner.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        raise failure or Unresolved(f"{host} has no address")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def _judged(url: httpx.URL) -> list[str]:
    # guard: only-by-https
    if url.scheme != "https":
        raise NotPublic("only https")
    port = 443 if url.port is None else url.port
    if not 0 < port < 65536:
        raise Unresolved(f"there is no port {port}")
    return await public_addresses(url.raw_host.decode("ascii"), port)
