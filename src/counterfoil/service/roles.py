"""What an account may do on the seller's pages."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Look; change what is sold and to whom; everything, and who may do what."""

    READ_ONLY = "read-only"
    STAFF = "staff"
    OWNER = "owner"

    def reaches(self, least: Role) -> bool:
        """Whether this role may do what *least* may."""
        return _RANK[self] >= _RANK[least]


_RANK = {role: rank for rank, role in enumerate(Role)}
