"""One call of the API: its parameters, and what all lists have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

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


def known(store: Mapping[str, Document], kind: str, id: str, param: str) -> Document:
    """
    The object of an id.

    Raises:
        ApiError: There is none.
    """
    if id not in store:
        raise missing(kind, id, param)
    return store[id]


def listing(
    call: Call, found: Iterable[Document], url: str, *filters: str, show: Callable[[Document], Document] = objects.shown
) -> Document:
    """
    One page of what was found, newest first, of those that have the values the call names for *filters*, and were
    created when it says. Whatever parameter is left by now is unknown.

    Raises:
        ApiError: The limit is out of bounds, a cursor is of nothing, or a parameter is unknown.
    """
    wanted = {name: call.given.pop(name) for name in filters if name in call.given}
    created = _created(call)
    fitting = (
        one for one in found if created(one["created"]) and all(one[name] == value for name, value in wanted.items())
    )
    return page(call, fitting, url, show)


def _created(call: Call) -> Callable[[int], bool]:
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


def page(
    call: Call, found: Iterable[Document], url: str, show: Callable[[Document], Document] = objects.shown
) -> Document:
    """
    One page of what was found, in its order; only what is on it is shown.

    Raises:
        ApiError: The limit is out of bounds, a cursor is of nothing, or a parameter is unknown.
    """
    limit = call.given.pop("limit", "10")
    if not limit.isdigit() or not 1 <= int(limit) <= 100:
        raise ApiError(400, "This value must be greater than or equal to 1 and at most 100.", param="limit")
    most = int(limit)
    after, before = call.given.pop("starting_after", None), call.given.pop("ending_before", None)
    call.nothing_else()
    data = list(found)
    ids = [document["id"] for document in data]
    for cursor in (after, before):
        if cursor is not None and cursor not in ids:
            raise missing("object", cursor, "starting_after" if cursor == after else "ending_before")
    if after is not None:
        data = data[ids.index(after) + 1 :]
    elif before is not None:
        data = data[: ids.index(before)]
    backwards = after is None and before is not None
    on_it = data[-most:] if backwards else data[:most]
    return {"object": "list", "data": [show(one) for one in on_it], "has_more": len(data) > most, "url": url}
