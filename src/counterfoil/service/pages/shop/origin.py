"""Where a buyer on a page comes from: a keyed digest of the client's address, never the address."""

from __future__ import annotations

import hashlib
import hmac
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request

from counterfoil.service.state import State

#: Bits of an IPv6 address that are one customer's: whoever has the network has every address in it.
_NETWORK = 64


def of(request: Request, state: State) -> str | None:
    """
    The digest of the client's address, as the trusted proxies tell it; None where there is no address.

    An IPv6 address counts as its /64, an IPv4 address in IPv6 clothes as itself.
    """
    try:
        address = ip_address((request.client.host if request.client else "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or IPv6Address(int(address) >> _NETWORK << _NETWORK)
    return hmac.new(state.settings.secret_key.encode(), f"origin {address}".encode(), hashlib.sha256).hexdigest()
