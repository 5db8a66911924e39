"""
A member's own address: believed only when whoever reads its mail has said so too.

Like the verbs, each function makes one statement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta

from counterfoil.mail import Draft, address_key
from counterfoil.portal import MOST_MAILS, Visit
from counterfoil.statement import Sql, Statement
from counterfoil.tokens import digest

#: How long the link is good that proves an address.
PROOF = timedelta(minutes=15)
#: Of them: how often one address is written to within a day.
MOST_PROOFS = 5


@dataclass(frozen=True)
class Claim:
    """
    A link that proves an address, as whoever opens it sees it.

    Attributes:
        state: What it is good for now: good, used, over, revoked.
        member: What the member is called; may be empty.
    """

    state: str
    email: str
    member: str
    institution: str


def claim(*, visit: Visit, email: str, token: str, mail: Draft) -> Statement[str]:
    """
    A member says that *email* is theirs: *mail* goes there, with a link that is good for `PROOF`. Until it is used the
    address before stays. Outcome: mailed, yours, taken, too_often, gone.
    """
    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.portal_claim_address(member => :member::bigint, email => :email::text, "
            "email_key => :email_key::text, token_hash => :token_hash::bytea, good_for => :good_for::interval, "
            "mail => :mail::jsonb, most => :most::integer, most_anywhere => :most_anywhere::integer)"
        ),
        {
            "member": visit.member,
            "email": email,
            "email_key": address_key(email),
            "token_hash": digest(token),
            "good_for": PROOF,
            "mail": json.dumps(mail.as_json()),
            "most": MOST_PROOFS,
            "most_anywhere": MOST_MAILS,
        },
        lambda rows: str(rows[0]["outcome"]),
    )


def claimed(*, token: str) -> Statement[Claim | None]:
    """What a link would prove, None if nobody made it. Looking changes nothing: scanners of mail look."""
    return Statement(
        Sql(
            "SELECT counterfoil.portal_address_state(p.token_hash) AS state, p.email, m.name AS member, "
            "i.name AS institution FROM counterfoil.portal_address AS p "
            "JOIN counterfoil.portal_member AS m ON m.id = p.member_id "
            "JOIN counterfoil.institution AS i ON i.id = m.institution_id WHERE p.token_hash = :token_hash::bytea"
        ),
        {"token_hash": digest(token)},
        lambda rows: Claim(**rows[0]) if rows else None,
    )


def prove(*, token: str, farewell: Draft) -> Statement[str]:
    """
    The address is the member's from now on, once; the one before is told so by *farewell*, whoever its draft is for.
    Outcome: proved, taken, or the link's state.
    """
    return Statement(
        Sql(
            "SELECT outcome FROM counterfoil.portal_prove_address(token_hash => :token_hash::bytea, "
            "farewell => :farewell::jsonb)"
        ),
        {"token_hash": digest(token), "farewell": json.dumps(farewell.as_json())},
        lambda rows: str(rows[0]["outcome"]),
    )
