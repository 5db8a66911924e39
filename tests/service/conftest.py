"""Browsers before the seller's own pages."""

from tests.support.admin import browser, browsers, signed

__all__ = ["browser", "browsers", "signed"]
