"""The seller's own pages."""

from counterfoil.service.pages.admin import (
    accounts_page,
    attention,
    audit_log,
    keys,
    live,
    me,
    members,
    outbox,
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
    accounts_page.pages,
    me.pages,
    live.pages,
    members.pages,
    outbox.pages,
)
