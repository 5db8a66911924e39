"""Two institutions, and browsers that belong to one of them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.serving import Service


@pytest.fixture
def schools(service: Service) -> Service:
    """Two of them, each with a code."""
    service.code(cap=40)
    service.post("/v1/institutions", {"name": "Southfold", "time_zone": "Pacific/Auckland"}, status=201)
    service.code("SOUTH-26", institution="southfold", cap=5)
    return service


@pytest.fixture
def visitors(service: Service) -> Iterator[Any]:
    """Makes browsers that have nothing but their cookies."""
    opened: list[httpx.Client] = []

    def new() -> httpx.Client:
        opened.append(httpx.Client(base_url=service.url, headers={"Accept": "text/html"}, timeout=30, trust_env=False))
        return opened[-1]

    yield new
    for one in opened:
        one.close()


def link(service: Service, institution: str = "northfold", **more: Any) -> Any:
    """An invitation, by the API."""
    return service.post("/v1/portal-links", {"institution": institution, **more}, status=201)


def enter(browser: httpx.Client, url: str) -> httpx.Client:
    """Press the button of a link."""
    said = browser.post(url)
    assert (said.status_code, said.headers["location"]) == (303, "/portal")
    return browser


@pytest.fixture
def north(schools: Service, visitors: Any) -> httpx.Client:
    """A browser of Northfold's."""
    return enter(visitors(), link(schools, email="ada@northfold.example", name="Ada")["url"])


@pytest.fixture
def south(schools: Service, visitors: Any) -> httpx.Client:
    """A browser of Southfold's."""
    return enter(visitors(), link(schools, "southfold", email="moa@southfold.example", name="Moa")["url"])


def is_in(browser: httpx.Client) -> bool:
    """Whether it is signed in."""
    return "Sign out" in browser.get("/portal").text
