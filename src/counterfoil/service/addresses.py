"""
Where we may connect when somebody else chose the address: to public addresses alone.

A name is looked up by us, every address it has is judged, and the connection goes to one that was judged. So a name
that meant something else a moment ago (DNS rebinding) leads nowhere either.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

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
    except (OSError, UnicodeError) as error:
        raise Unresolved(f"{host} has no address") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    # guard: no-private-address-is-connected-to
    if not all(map(is_public, addresses)):
        raise NotPublic(f"{host} is not a public address")
    return addresses


async def check_url(url: str) -> None:
    """
    Nothing, if events may be sent to this URL.

    Raises:
        NotPublic: It is not https, or not public.
        Unresolved: Its name has no address.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise NotPublic("only https")
    await public_addresses(parts.hostname, parts.port or 443)


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
        host = request.url.host
        if request.url.scheme != "https":
            raise NotPublic("only https")
        failure: httpx.TransportError | None = None
        for address in await public_addresses(host, request.url.port or 443):
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
