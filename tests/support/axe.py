"""axe, as the walks ask it: put into a page once, and asked for what it finds and no more."""

from __future__ import annotations

import json

from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page

#: The only ones of its rules that another scheme of colours can change: what is there, and what it is called, stays.
OF_COLOURS = ("color-contrast", "link-in-text-block")


def found(page: Page, rules: tuple[str, ...] = ()) -> str:
    """
    What axe finds on the page that is open, told in lines; empty if it finds nothing.

    Args:
        page: What to look at, as it is shown now.
        rules: Only these; without any, all of them, also those that are advice and no norm.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = json.dumps({"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {}))
    results = AxeResults(page.evaluate(f"axe.run({options}).then(({{violations}}) => ({{violations}}))"))
    return results.generate_report() if results.violations_count else ""
