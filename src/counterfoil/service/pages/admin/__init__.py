"""The seller's own pages."""

from counterfoil.service.pages.admin import (
    attention,
    audit_log,
    keys,
    live,
    me,
    people,
    reconcile,
    settings_page,
    sign_in,
    webhooks,
)

#: The routers of all of them.
admin = (
    sign_in.entrance,
    sign_in.pages,
    attention.pages,
    reconcile.pages,
    keys.pages,
    webhooks.pages,
    audit_log.pages,
    settings_page.pages,
    people.pages,
    me.pages,
    live.pages,
)
