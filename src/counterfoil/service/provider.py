"""The OpenID Connect provider of the settings: what it is, and what it must be. Who talks to it is `oidc.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Provider:
    """Who says who somebody is, and what we are to it."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str | None = None

    @property
    def host(self) -> str:
        """Where it is, as people are told."""
        return urlsplit(self.issuer).hostname or self.issuer

    @property
    def label(self) -> str:
        """What people know it by."""
        return self.name or self.host


def given(
    issuer: str | None, client_id: str | None, client_secret: str | None, name: str | None = None
) -> Provider | None:
    """
    The provider of these settings, or None if there is none.

    Raises:
        ValueError: With the variable, what is wrong, and the mend.
    """
    values = {
        "COUNTERFOIL_OIDC_ISSUER": issuer,
        "COUNTERFOIL_OIDC_CLIENT_ID": client_id,
        "COUNTERFOIL_OIDC_CLIENT_SECRET": client_secret,
    }
    missing = [name for name, value in values.items() if value is None]
    if len(missing) == len(values):
        return None
    if issuer is None or client_id is None or client_secret is None:
        there = next(name for name, value in values.items() if value is not None)
        raise ValueError(f"{' and '.join(missing)} not set, and {there} is: set all three, or none")
    if not is_safe(issuer) or any(letter in issuer for letter in "?#@"):
        raise ValueError(
            f"COUNTERFOIL_OIDC_ISSUER={issuer}: write it as the provider does, such as https://accounts.example.org; "
            "plain http only to this machine"
        )
    if find_spec("joserfc") is None:
        raise ValueError(
            "COUNTERFOIL_OIDC_ISSUER is set, and what checks its tokens is not installed: "
            "pip install 'counterfoil[oidc]', or unset the COUNTERFOIL_OIDC_ variables"
        )
    return Provider(issuer, client_id, client_secret, name)


def is_safe(url: str) -> bool:
    """Whether a secret may be sent there: over https, or to this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))
