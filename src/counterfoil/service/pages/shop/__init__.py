"""The reference shop: what is on sale, a checkout as it stands, and what was bought."""

from counterfoil.service.pages.shop import checkouts, products, purchases

#: The routers of all of it.
shop = (products.pages, checkouts.pages, purchases.pages)
