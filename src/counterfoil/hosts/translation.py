"""What an error of the database's means to the caller of a verb: by SQLSTATE, the same for every driver."""

from __future__ import annotations

from counterfoil.errors import AlreadyExists, Busy, Refusal, SessionOutlivesHold


def refusal(sqlstate: str | None, constraint: str | None) -> Refusal | None:
    """The refusal that a database error is, or None if it is none of ours."""
    match sqlstate, constraint:
        case (("55P03" | "40P01" | "40001"), _):
            # Lock not won in time; deadlock; a concurrent change: nothing was done, and trying again is right.
            return Busy()
        case "23514", "session_dies_before_its_hold":
            return SessionOutlivesHold()
        case "23505", "an_institution_has_its_own_slug":
            return AlreadyExists("There is an institution with this slug. Choose another name or slug.")
        case "23505", "a_code_is_given_once":
            return AlreadyExists("There is a code that reads the same. Choose another.")
        case "23505", "an_address_has_one_account":
            return AlreadyExists("There is an account with this address.")
        case "23505", "product_pkey":
            return AlreadyExists("There is a product with this id. Choose another.")
    return None
