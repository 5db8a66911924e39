"""Browsers before the seller's own pages, and before an institution's."""

from tests.support.admin import browser, browsers, signed, staff
from tests.support.institutions import north, schools, south, visitors

__all__ = ["browser", "browsers", "north", "schools", "signed", "south", "staff", "visitors"]
