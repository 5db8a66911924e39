"""Why a buyer would be let in or refused."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from counterfoil import errors
from counterfoil.explanation import explain
from counterfoil.service.explaining import ExplanationOut
from counterfoil.service.fields import Buyer, Slug
from counterfoil.service.pages.reader import Reader
from counterfoil.service.problems import of
from counterfoil.service.routing import router
from counterfoil.service.state import state_of

api = router("Codes")


@api.call("GET", "/codes/{code}/explain", "read", problems=("code-unknown", "product-unknown"))
async def explained(
    request: Request,
    code: str,
    buyer: Annotated[Buyer | None, Query()] = None,
    product: Annotated[Slug | None, Query()] = None,
) -> ExplanationOut:
    """
    Why a buyer would be let in or refused now, with every number behind it. Holds nothing.

    Without *buyer* nobody's own limit is looked at; without *product*, it is the first that the code is good for.
    """
    state = state_of(request)
    found = await state.run(
        explain(
            code=code,
            buyer=buyer,
            product=product,
            holds_per_address=state.settings.holds_per_address,
            limits=state.settings.guessing,
        )
    )
    if found.code is None:
        problem = of(errors.CodeUnknown(code))
        problem.status = 404
        raise problem
    return ExplanationOut.of(found, Reader(now=found.moment))
