"""The seller's own pages."""

from counterfoil.service.pages.admin import (
    attention,
    caps,
    code_terms,
    codes,
    giving_back,
    home,
    institutions,
    products,
    reconcile,
    redemptions,
    sign_in,
)

#: The routers of all of them.
admin = (
    sign_in.entrance,
    sign_in.pages,
    home.pages,
    institutions.pages,
    codes.pages,
    caps.pages,
    code_terms.pages,
    redemptions.pages,
    giving_back.pages,
    products.pages,
    attention.pages,
    reconcile.pages,
)
