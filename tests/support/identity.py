"""An OpenID Connect provider: real keys, discovery, codes that are good once, PKCE and the secret checked."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from counterfoil.listening import listen
from tests.support.serving import in_thread

CLIENT, SECRET = "counterfoil", "a secret: of the tests"


class Identity:
    """
    Where it listens, and what it does otherwise than it should.

    Attributes:
        claims: What its tokens say otherwise; None leaves a claim out.
        metadata: What its discovery document says otherwise.
        key: What it signs with. Others know it by the first one.
        asks: Shows a page with a link, where it would lead on at once.
        short: Tells who it is at its userinfo endpoint alone.
        down: Answers 503.
        error: Lets nobody in.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._known = RSAKey.generate_key(2048, parameters={"kid": "first", "use": "sig", "alg": "RS256"})
        self.forget()
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/userinfo", self._userinfo),
            ]
        )

    def forget(self) -> None:
        """Be as it should again."""
        self.claims: dict[str, Any] = {}
        self.told: dict[str, Any] = {"sub": "1", "email": "mina@seller.test", "email_verified": True}
        self.metadata: dict[str, Any] = {}
        self.key, self.alg = self._known, "RS256"
        self.asks = self.short = self.down = False
        self.error = ""
        self._codes: dict[str, dict[str, str]] = {}

    @property
    def settings(self) -> dict[str, str]:
        """What a service is told of it."""
        return {
            "COUNTERFOIL_OIDC_ISSUER": self.url,
            "COUNTERFOIL_OIDC_CLIENT_ID": CLIENT,
            "COUNTERFOIL_OIDC_CLIENT_SECRET": SECRET,
        }

    def other_key(self) -> None:
        """Sign with a key that it never told of, under the name of the one that it did."""
        self.key = RSAKey.generate_key(2048, parameters={"kid": "first"})

    async def _discovery(self, request: Request) -> Response:
        if self.down:
            return Response("down", 503)
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "userinfo_endpoint": f"{self.url}/userinfo",
            }
            | self.metadata
        )

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["client_id"], query["response_type"]) == (CLIENT, "code")
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self._codes[code] = query
        answer = {"error": self.error, "error_description": "You said no."} if self.error else {"code": code}
        to = f"{query['redirect_uri']}?{urlencode(answer | {'state': query['state']})}"
        if self.asks:
            return HTMLResponse(f'<!doctype html><title>Identity</title><a href="{html.escape(to)}">Allow</a>')
        return RedirectResponse(to, 303)

    async def _token(self, request: Request) -> Response:
        given = await request.form()
        query = self._codes.pop(str(given["code"]), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET.replace(':', '%3A').replace(' ', '+')}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}" and given.get("client_secret") != SECRET:
            return JSONResponse({"error": "invalid_client"}, 401)
        digest = hashlib.sha256(str(given["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if query is None or query["code_challenge"] != challenge or query["redirect_uri"] != given["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant", "error_description": "Not a code of yours."}, 400)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "nonce": query["nonce"], "iat": now, "exp": now + 300}
        claims |= {"sub": "1"} if self.short else self.told
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        return JSONResponse({"access_token": "access", "token_type": "Bearer", "id_token": self._signed(claims)})

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.alg == "RS256":
            return jwt.encode({"alg": "RS256", "kid": "first"}, claims, self.key)
        parts = ({"alg": self.alg, "kid": "first"}, claims)
        plain = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
        return ".".join([*plain, ""])

    async def _keys(self, request: Request) -> Response:
        return JSONResponse({"keys": [self._known.as_dict(private=False)]})

    async def _userinfo(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer access"
        return JSONResponse(self.told)


@contextmanager
def identifying(name: str = "127.0.0.1") -> Iterator[Identity]:
    """Run a provider, under that name of this machine, until the block ends."""
    listening = listen("127.0.0.1")
    provider = Identity(f"http://{name}:{listening.getsockname()[1]}")
    with in_thread(provider.app, listening, lifespan="off"):
        yield provider
