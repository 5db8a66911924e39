"""What our mails say. Plain words, no pictures, nothing to track; `LINK` stands where the link goes."""

from __future__ import annotations

from collections.abc import Iterator

from counterfoil.clocks import format_duration
from counterfoil.mail import LINK, Draft
from counterfoil.notices import Notice
from counterfoil.portal import Visit
from counterfoil.service.settings import Settings


def link_of(token: str, public_url: str) -> str:
    """The address that a token is redeemed at."""
    return f"{public_url.rstrip('/')}/portal/links/{token}"


def invitation(*, recipient: str, institution: str, token: str, public_url: str, by: str | None = None) -> Draft:
    """The first mail that somebody gets."""
    who = f"{by} invites you" if by else "You are invited"
    return Draft(
        "invitation",
        recipient,
        f"The page of {institution}: your code and its places",
        f"""Hello,

{who} to the page of {institution}. It shows your code, how many of its
places are used, and for how long it is good.

Open it here, within 7 days. The link works once, and no password is needed:

{LINK}

If you did not expect this, ignore it: nothing happens.
""",
        link_of(token, public_url),
    )


def sign_in(*, recipient: str, institution: str, token: str, public_url: str) -> Draft:
    """The mail that signs somebody in again."""
    return Draft(
        "sign_in",
        recipient,
        f"Sign in to the page of {institution}",
        f"""Hello,

open the page of {institution} here, within 15 minutes. The link works once:

{LINK}

If it was not you who asked for this, ignore it: nothing happens.
""",
        link_of(token, public_url),
    )


def proof(*, recipient: str, institution: str, name: str, token: str, public_url: str) -> Draft:
    """The mail that asks whether an address is whose it is said to be."""
    return Draft(
        "address",
        recipient,
        f"Is this your address? The page of {institution}",
        f"""Hello,

{name or "Somebody"} says on the page of {institution} that this is their address. If it was
you, say so here, within 15 minutes. The link works once:

{LINK}

If it was not you, ignore it: your address is used for nothing.
""",
        f"{public_url.rstrip('/')}/portal/addresses/{token}",
    )


def farewell(*, institution: str, address: str, public_url: str) -> Draft:
    """The mail to the address that a member had before. Whom it goes to is read when it is written."""
    return Draft(
        "address_changed",
        "",
        f"Your address on the page of {institution} was changed",
        f"""Hello,

on the page of {institution} your address is {address} from now on.
This one does not sign you in any more.

If it was not you, tell a colleague on that page or whoever gave you the code, at
once: they can take the address out.
{public_url.rstrip("/")}/portal
""",
    )


def of_notice(notice: Notice, settings: Settings) -> Iterator[Draft]:
    """The mails of a notice: to the institution's people, and to the seller if they want notices of its kind."""
    base = settings.public_url.rstrip("/")
    for recipient in notice.recipients:
        yield Draft(
            "notice",
            recipient,
            notice.headline,
            f"""Hello,

{notice.sentence}

As it is now, and where to ask for more places:
{base}/portal

You get this because you are one of the people of {notice.institution_name} on
that page. There you can switch these mails off.
""",
        )
    if settings.seller_mail and notice.kind in settings.seller_notices:
        yield Draft(
            "notice",
            settings.seller_mail,
            f"{notice.institution_name}: {notice.headline}",
            f"{notice.institution_name}: {notice.sentence}\n\n{base}/admin\n",
        )


def places_wanted(*, settings: Settings, visit: Visit, code: str, more: int, reason: str) -> Draft | None:
    """The mail that tells the seller that an institution asks for more places, if they have an address."""
    if not settings.seller_mail:
        return None
    who = " ".join(part for part in (visit.name, f"<{visit.email}>" if visit.email else "") if part)
    return Draft(
        "places_wanted",
        settings.seller_mail,
        f"{visit.institution.name} asks for {more} more places of {code}",
        f"""{visit.institution.name} asks for {more} more places of {code}.

{reason or "No reason was given."}

Asked by: {who or "somebody who gave no name"}

{settings.public_url.rstrip("/")}/admin/attention
""",
    )


def guessing(settings: Settings) -> Draft | None:
    """The mail that tells the seller that somebody may be guessing codes, if they have an address."""
    if not settings.seller_mail:
        return None
    pause = settings.guessing_pause
    return Draft(
        "guessing",
        settings.seller_mail,
        "Somebody may be guessing codes",
        f"""{settings.wrong_codes_alert} wrong codes or more were typed on the shop's pages within a few minutes.

{f"No code is taken there for {format_duration(pause)}; the full price is." if pause else "Nothing was stopped."}
How many, from where, and what to do:
{settings.public_url.rstrip("/")}/admin/attention

There is no other mail about it within a day.
""",
    )


def trial(recipient: str) -> Draft:
    """The mail of `counterfoil mail test`."""
    return Draft(
        "test", recipient, "A test of Counterfoil's mail", "Hello,\n\nthis mail arrived: sending works. Grüße, ✓\n"
    )
