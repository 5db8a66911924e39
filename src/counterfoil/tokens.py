"""Secrets that open something: made here, handed out once, and kept as a digest."""

from __future__ import annotations

import hashlib
import secrets


def new_token() -> str:
    """A fresh secret: 256 random bits as 43 characters, so a plain digest of it is enough to store."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """What is stored of a secret: its SHA-256. Whatever somebody sends has one."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
