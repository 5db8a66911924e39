"""Links to an institution's own page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response
from pydantic import AfterValidator, BaseModel, StringConstraints

from counterfoil import catalogue, portal
from counterfoil.mail import check_address
from counterfoil.model import Institution
from counterfoil.service import letters
from counterfoil.service.fields import Body, Text, row_id
from counterfoil.service.problems import Problem
from counterfoil.service.resources import Moment
from counterfoil.service.routing import Resource, answer, reader, router
from counterfoil.service.state import State, state_of
from counterfoil.tokens import new_token

api = router("Institutions")

#: Why no link was made, in words.
WHY = {
    "too_many": f"{portal.MOST_PEOPLE} people belong to this page or are invited, which is the most: remove one first.",
    "too_often": "This address was written to too often within a day. Try again tomorrow.",
    "member": "This address belongs to this page already.",
}

Address = Annotated[str, StringConstraints(max_length=254), AfterValidator(check_address)]


class PortalLinkIn(Body):
    """Whom to invite. With *email* the link is mailed as well; without it, it is yours to hand on."""

    institution: Text
    email: Address | None = None
    name: Text | None = None


class PortalLinkOut(BaseModel):
    """A link, good once, for 7 days. *url* is in this answer and in no other."""

    id: str
    institution: str
    url: str | None
    email: str | None
    expires_at: Moment | None


@reader("portal-link")
async def shown(state: State, key: str) -> PortalLinkOut:
    """A link as a replay answers it: it was shown once, and is not shown again."""
    id, _, institution = key.partition("/")
    found = await state.run(catalogue.institution(institution))
    for member in await state.run(portal.people(institution=found.id)):
        if str(member.link) == id:
            return PortalLinkOut(
                id=id, institution=institution, url=None, email=member.email, expires_at=member.link_ends_at
            )
    return PortalLinkOut(id=id, institution=institution, url=None, email=None, expires_at=None)


@api.call(
    "POST",
    "/portal-links",
    "manage",
    status_code=201,
    response_model=PortalLinkOut,
    problems=("institution-unknown", "rate-limited"),
)
async def made(request: Request, body: PortalLinkIn) -> Response:
    """
    Invite somebody to an institution's own page.

    The link works once, for 7 days. Opening it shows a button, so that a mail scanner that looks at it does not use it.
    """
    state = state_of(request)
    institution = await state.run(catalogue.institution(body.institution))
    link, url = await invite(state, institution, email=body.email, name=body.name or "")
    out = PortalLinkOut(
        id=str(link.link), institution=institution.slug, url=url, email=body.email, expires_at=link.ends_at
    )
    return answer(request, Resource("portal-link", f"{link.link}/{institution.slug}", out, 201))


@api.call("DELETE", "/portal-links/{id}", "manage", status_code=204, response_class=Response)
async def revoked(request: Request, id: str) -> Response:
    """Let a link that was not used yet open nothing any more."""
    link = row_id(id)
    if link is None or not await state_of(request).run(portal.revoke_link(institution=None, link=link)):
        raise Problem("not-found", f"There is no portal link {id} that still works.")
    return Response(status_code=204)


async def invite(
    state: State,
    institution: Institution,
    *,
    email: str | None,
    name: str,
    by: str | None = None,
    by_colleague: bool = False,
) -> tuple[portal.Made, str]:
    """
    Invite somebody: the link, and its address.

    Raises:
        Problem: There are too many, or the address was invited too often.
    """
    token = new_token()
    public_url = state.settings.public_url
    mail = (
        letters.invitation(recipient=email, institution=institution.name, token=token, public_url=public_url, by=by)
        if email is not None
        else None
    )
    link = await state.run(
        portal.invite(
            institution=institution.id, token=token, email=email, name=name, mail=mail, by_colleague=by_colleague
        )
    )
    if link.outcome != "made":
        raise Problem("rate-limited", WHY[link.outcome])
    return link, letters.link_of(token, public_url)
