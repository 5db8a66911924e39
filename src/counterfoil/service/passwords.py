"""Passwords: what one must be, how it is stored (Argon2), and telling whether it is right."""

from __future__ import annotations

import asyncio
import secrets
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

LEAST = 12
MOST = 1000

_hasher = PasswordHasher()

#: What is compared with where there is no account: nobody's password, hashed as all are, so that it takes as long.
NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$5KZSrqE86UjtvbYq2J/V4w$b7GKk3Rtp1XZAhUXTbWWrOfvdQS8hKxMzBUSzBbvex8"


def check(password: str, *, email: str) -> str:
    """
    A password as it is hashed: length is all that is asked for, and that it is not the address.

    Raises:
        ValueError: It will not do; the message says what would.
    """
    plain = plainly(password)
    if len(plain) < LEAST:
        raise ValueError(f"A password has {LEAST} characters or more: a few words in a row are easy to remember.")
    if len(plain) > MOST:
        raise ValueError(f"A password has at most {MOST} characters.")
    if plain.strip().casefold() == email.casefold():
        raise ValueError("The password must not be the address.")
    return plain


def plainly(password: str) -> str:
    """The same password, whatever keyboard composed its letters."""
    return unicodedata.normalize("NFC", password)


def hashed(password: str) -> str:
    """What is stored. Takes a tenth of a second and 64 MB, on purpose."""
    return _hasher.hash(plainly(password).encode("utf-8", "surrogatepass"))


def verified(stored: str, password: str) -> bool:
    """Whether a password is the one that is stored. Takes as long either way."""
    try:
        return _hasher.verify(stored, plainly(password).encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(stored: str) -> bool:
    """Whether it was stored with less work than is asked for now."""
    return _hasher.check_needs_rehash(stored)


def first_password() -> str:
    """One that is made for somebody, and told to them once: 100 bits, in groups that can be read out."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(5)) for _ in range(4))


class Passwords:
    """Hashing beside the event loop: two at a time, so that a rush of sign-ins takes no more memory than that."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(2)

    async def are(self, stored: str | None, password: str) -> bool:
        """Whether a password is the stored one; never, and as slowly, where nothing is stored."""
        async with self._turns:
            right = await asyncio.to_thread(verified, stored or NOBODYS, password)
        return right and stored is not None

    async def hashed(self, password: str) -> str:
        """What is stored of a password."""
        async with self._turns:
            return await asyncio.to_thread(hashed, password)
