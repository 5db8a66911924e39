"""Browsers before the seller's own pages."""

from tests.support.admin import browser, browsers, signed, staff

__all__ = ["browser", "browsers", "signed", "staff"]
