"""The seller's own pages."""

from counterfoil.service.pages.admin import attention, members, outbox, reconcile, sign_in

#: The routers of all of them.
admin = (sign_in.entrance, sign_in.pages, attention.pages, reconcile.pages, outbox.pages, members.pages)
