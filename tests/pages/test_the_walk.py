"""What the walk finds: a page with one fault each, and the same page without."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser
from tests.pages.conftest import Visitor

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A page</title>
<style>
  body { background: #fff; color: #000 } a { color: #00c }
  @media (prefers-color-scheme: dark) { body { background: #000; color: #fff } a { color: #9bf } }
  STYLE
</style></head>
<body><main><h1>A page</h1><p>With a <a href="/">link</a> on it.</p>BODY</main></body>
</html>"""

NIGHT = "@media (prefers-color-scheme: dark)"
NARROW = "@media (max-width: 600px)"

#: Opens a page with this in it.
Showing = Callable[..., None]


@pytest.fixture
def lone(chrome: Browser) -> Iterator[Visitor]:
    """A visitor to whom nothing happens but what a test shows."""
    one = Visitor(chrome, "http://127.0.0.1:9")
    yield one
    with suppress(AssertionError):
        one.close()


@pytest.fixture
def showing(lone: Visitor) -> Showing:
    """A page of the test's own; *policy* is what it allows itself."""

    def shown(body: str = "", style: str = "", policy: str = "") -> None:
        page = PAGE.replace("STYLE", style).replace("BODY", body)
        headers = {"Content-Type": "text/html"} | ({"Content-Security-Policy": policy} if policy else {})
        lone.page.route("**/page", lambda route: route.fulfill(body=page, headers=headers))
        lone.go("/page")

    return shown


def test_nothing_where_nothing_is(lone: Visitor, showing: Showing) -> None:
    showing()
    lone.walk(again=False)
    lone.close()


@pytest.mark.parametrize(
    ("body", "style", "said"),
    [
        ("", "p { color: #bbb; background: #fff }", "at 1200, light\n.*color-contrast"),
        ("", f"{NIGHT} {{ p {{ color: #444; background: #111 }} }}", "at 1200, dark\n.*color-contrast"),
        ("", f"{NIGHT} {{ {NARROW} {{ p {{ color: #444; background: #111 }} }} }}", "at 390, dark\n.*color-contrast"),
        ("", f"{NIGHT} {{ a {{ color: #ddf; text-decoration: none }} }}", "at 1200, dark\n.*link-in-text-block"),
        ('<input name="a">', "", "at 1200, light\n.*label"),
        ('<input name="a" hidden>', f"{NARROW} {{ [hidden] {{ display: block }} }}", "at 390, light\n.*label"),
        ("<h4>Too deep</h4>", "", "at 1200, light\n.*heading-order"),
        (f"<p>{'w' * 90}</p>", "", "at 390, light: [0-9]+ wide"),
    ],
    ids=[
        "pale by day", "pale by night", "pale by night on a phone", "a link like its text by night",
        "a field without a name", "a field without a name on a phone", "advice", "wider than a phone",
    ],
)  # fmt: skip
def test_what_is_seen(lone: Visitor, showing: Showing, body: str, style: str, said: str) -> None:
    showing(body, style)
    with pytest.raises(AssertionError, match=f"(?s){said}"):
        lone.walk(again=False)


@pytest.mark.parametrize(
    ("body", "policy", "said"),
    [
        ("<script>console.error('oh')</script>", "", "console: oh"),
        ("<script>nowhere()</script>", "", "script: nowhere is not defined"),
        ('<p style="color: #000">', "default-src 'self'; style-src 'self'", "console: .*Content Security Policy"),
        ('<img alt="" src="http://elsewhere.test/a.png">', "", "a request left the machine: http://elsewhere.test"),
    ],
    ids=["a word in the console", "a script that fails", "what the policy refuses", "a request to elsewhere"],
)
def test_what_goes_wrong_unseen(lone: Visitor, showing: Showing, body: str, policy: str, said: str) -> None:
    showing(body, policy=policy)
    lone.walk(again=False)
    with pytest.raises(AssertionError, match=said):
        lone.close()


def test_another_page_without_script(visitor: Visitor) -> None:
    visitor.go("/")
    visitor.page.evaluate("document.querySelector('h1').textContent = 'Only with script'")
    with pytest.raises(AssertionError, match="without script"):
        visitor.walk()
