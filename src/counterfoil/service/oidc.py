"""
The conversation with an OpenID Connect provider: discovery, the authorization code flow with PKCE, and the check of
what comes back (OpenID Connect Core 1.0, 3.1; RFC 7636).

Signing in is rare, so nothing of the provider's is kept: a key or an address that it changed is known at once.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from counterfoil.service.problems import Problem
from counterfoil.service.provider import LOOPBACK, Provider, is_safe

log = logging.getLogger(__name__)

#: Seconds that everything we ask of it for one page may take.
PATIENCE = 10.0
#: By a key of the provider's alone: never by a secret that we have as well, never by none.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


@dataclass(frozen=True)
class Flow:
    """What one sign-in is known by: *state* in this browser, *nonce* in its token, *verifier* at the exchange."""

    state: str
    nonce: str
    verifier: str


async def begin(provider: Provider, flow: Flow, redirect_uri: str) -> str:
    """
    The provider's address to send the browser to.

    Raises:
        Problem: ``provider-unavailable`` or ``provider-refused``.
    """
    async with _talking(provider) as client:
        endpoint = _endpoint(await _metadata(client, provider), "authorization_endpoint")
    challenge = base64.urlsafe_b64encode(hashlib.sha256(flow.verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri,
        "scope": "openid email",
        "state": flow.state,
        "nonce": flow.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"


async def verified_email(provider: Provider, flow: Flow, redirect_uri: str, code: str, leeway: int) -> str:
    """
    The address of whoever the code is of, as the provider verified it. *leeway*: seconds that its clock may be off.

    Raises:
        Problem: ``provider-unavailable``, ``provider-refused``, or ``forbidden``: it did not verify an address.
    """
    async with _talking(provider) as client:
        metadata = await _metadata(client, provider)
        tokens = await _exchange(client, provider, metadata, flow, redirect_uri, code)
        keys = await _json(client, "GET", _endpoint(metadata, "jwks_uri"))
        claims = _checked(provider, flow, tokens.get("id_token"), keys, leeway)
        if "email" not in claims and metadata.get("userinfo_endpoint") and tokens.get("access_token"):
            claims = await _userinfo(client, metadata, str(tokens["access_token"]), claims["sub"])
    email = claims.get("email")
    # guard: only-an-address-that-the-provider-verified
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise Problem(
            "forbidden",
            f"{provider.host} did not say that it verified your e-mail address. Verify it there and sign in again, or "
            "sign in with a password.",
        )
    return email


@asynccontextmanager
async def _talking(provider: Provider) -> AsyncIterator[httpx.AsyncClient]:
    """A client for one conversation, and what its failures are to people. What the provider said is in our log."""
    here = urlsplit(provider.issuer).hostname in LOOPBACK
    try:
        # Each step has its time-out, and all of them together.
        async with asyncio.timeout(PATIENCE), httpx.AsyncClient(timeout=PATIENCE / 2, trust_env=not here) as client:
            yield client
    except (httpx.TransportError, TimeoutError) as error:
        log.warning("the OpenID Connect provider cannot be reached: %r", error)
        raise Problem(
            "provider-unavailable",
            f"{provider.host} cannot be reached. Try again in a moment, or sign in with a password.",
        ) from error
    except httpx.HTTPStatusError as error:
        log.warning("the OpenID Connect provider answered %s", error)
        if error.response.status_code >= 500:
            raise Problem(
                "provider-unavailable",
                f"{provider.host} answered {error.response.status_code}. Try again in a moment, or sign in with a "
                "password.",
            ) from error
        raise refused(provider, f"it answered {error.response.status_code}") from error
    except (JoseError, httpx.DecodingError, httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError) as error:
        # What it sent is not what it should be: whichever part broke on it.
        log.warning("what the OpenID Connect provider sent cannot be used: %r", error)
        raise refused(provider, f"what it sent cannot be used ({type(error).__name__}: {_plain(error)})") from error


def refused(provider: Provider, why: str) -> Problem:
    """The provider let nobody in, or what it sent may let nobody in."""
    return Problem(
        "provider-refused",
        f"Signing in with {provider.host} did not work: {why}. Sign in again, or with a password. If it stays so, tell "
        "whoever runs this service.",
    )


async def _metadata(client: httpx.AsyncClient, provider: Provider) -> dict[str, Any]:
    found = await _json(client, "GET", f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    # guard: the-provider-is-the-one-that-was-set
    if found.get("issuer") != provider.issuer:
        raise ValueError(f"it calls itself {found.get('issuer')}, and COUNTERFOIL_OIDC_ISSUER is {provider.issuer}")
    return found


def _endpoint(metadata: dict[str, Any], name: str) -> str:
    url = metadata.get(name)
    if not isinstance(url, str) or not is_safe(url):
        raise ValueError(f"its {name} is not an https address")
    return url


async def _exchange(
    client: httpx.AsyncClient, provider: Provider, metadata: dict[str, Any], flow: Flow, redirect_uri: str, code: str
) -> dict[str, Any]:
    body = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri, "code_verifier": flow.verifier,
    }  # fmt: skip
    endpoint = _endpoint(metadata, "token_endpoint")
    if "client_secret_basic" in metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
        # RFC 6749, 2.3.1: each is encoded as in a form first.
        auth = httpx.BasicAuth(quote_plus(provider.client_id), quote_plus(provider.client_secret))
        answer = await client.post(endpoint, data=body, auth=auth)
    else:
        ours = {"client_id": provider.client_id, "client_secret": provider.client_secret}
        answer = await client.post(endpoint, data=body | ours)
    if answer.status_code in (400, 401):
        # It says why, in words of RFC 6749's.
        said = _object(answer)
        raise ValueError(f"it gave no token: {said.get('error')} {said.get('error_description', '')}".rstrip())
    answer.raise_for_status()
    return _object(answer)


def _checked(provider: Provider, flow: Flow, token: Any, keys: Any, leeway: int) -> dict[str, Any]:
    """The claims of an id token, after its signature and each of those that we rely on were found right."""
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    claims = jwt.decode(token, KeySet.import_key_set(keys), registry=registry).claims
    jwt.JWTClaimsRegistry(
        leeway=leeway,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": flow.nonce},
    ).validate(claims)
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else provider.client_id) != provider.client_id:
        raise ValueError("its token was made for somebody else")
    return claims


async def _userinfo(client: httpx.AsyncClient, metadata: dict[str, Any], token: str, sub: Any) -> dict[str, Any]:
    """Where the id token is a short one: the claims of the same person."""
    url = _endpoint(metadata, "userinfo_endpoint")
    found = await _json(client, "GET", url, headers={"Authorization": f"Bearer {token}"})
    if found.get("sub") != sub:
        raise ValueError("it told of somebody else")
    return found


async def _json(client: httpx.AsyncClient, method: str, url: str, **options: Any) -> dict[str, Any]:
    answer = await client.request(method, url, **options)
    answer.raise_for_status()
    return _object(answer)


def _object(answer: httpx.Response) -> dict[str, Any]:
    found = answer.json()
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def _plain(error: Exception) -> str:
    return "".join(letter for letter in str(error) if letter.isprintable())[:300]
