"""One call of the API: its parameters, and what all lists have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starlette.requests import Request

from counterfoil.simulator import forms, objects
from counterfoil.simulator.account import Account
from counterfoil.simulator.objects import Document
from counterfoil.simulator.refusals import ApiError, missing, unknown_parameter

Handler = Callable[[Account, "Call"], Document]
#: Method, path with ``{id}`` where an id stands, and what answers.
Routes = list[tuple[str, str, Handler]]


class Call:
    """One call of the API: its parameters, and what it was made with."""

    def __init__(self, request: Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.url.path
        encoded = body.decode() if self.method == "POST" else request.url.query
        self.given = forms.decode(encoded)
        self.key = request.headers.get("idempotency-key") if self.method == "POST" else None
        self.request_id = objects.new_id("req", 14)
        self.version = request.headers.get("stripe-version", objects.API_VERSION)
        self.fingerprint = f"{self.method} {self.path} {encoded}"
        self.authorization = request.headers.get("authorization", "")
        self.id = ""

    def expand(self) -> list[str]:
        """What is to be expanded; taken out of the parameters."""
        return list(self.given.pop("expand", []))

    def nothing_else(self) -> None:
        """Refuse what is left of the parameters."""
        for name in self.given:
            raise unknown_parameter(name)


def created_in(call: Call) -> Callable[[int], bool]:
    """The filter ``created``: a moment, or its bounds; taken out of the parameters."""
    wanted = call.given.pop("created", None)
    if wanted is None:
        return lambda _: True
    if not isinstance(wanted, dict):
        return lambda stamp: stamp == int(wanted)
    tests = {
        "gt": lambda stamp, bound: stamp > bound,
        "gte": lambda stamp, bound: stamp >= bound,
        "lt": lambda stamp, bound: stamp < bound,
        "lte": lambda stamp, bound: stamp <= bound,
    }
    return lambda stamp: all(tests[name](stamp, int(bound)) for name, bound in wanted.items())


def page(call: Call, found: Iterable[Document], url: str) -> Document:
    """
    One page of what was found, newest first. Whatever parameter is left by now is unknown.

    Raises:
        ApiError: The limit is out of bounds, a cursor is of nothing, or a parameter is unknown.
    """
    limit = call.given.pop("limit", "10")
    if not limit.isdigit() or not 1 <= int(limit) <= 100:
        raise ApiError(400, "This value must be greater than or equal to 1 and at most 100.", param="limit")
    after, before = call.given.pop("starting_after", None), call.given.pop("ending_before", None)
    call.nothing_else()
    data = [objects.shown(one) for one in found]
    ids = [document["id"] for document in data]
    for cursor in (after, before):
        if cursor is not None and cursor not in ids:
            raise missing("object", cursor, "starting_after" if cursor == after else "ending_before")
    if after is not None:
        data = data[ids.index(after) + 1 :]
        return {"object": "list", "data": data[: int(limit)], "has_more": len(data) > int(limit), "url": url}
    if before is not None:
        data = data[: ids.index(before)]
        return {"object": "list", "data": data[-int(limit) :], "has_more": len(data) > int(limit), "url": url}
    return {"object": "list", "data": data[: int(limit)], "has_more": len(data) > int(limit), "url": url}
