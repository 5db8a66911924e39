"""
Codes that are good for so many discounted purchases a year, and never one more.

The nouns, the verbs and the refusals are values: nothing here opens a connection. `drive` (or `adrive`) runs what
`open_checkout`, `cancel` and `handle_event` want done, on a host of `counterfoil.hosts` and a driver of
`counterfoil.stripe`.
"""

from counterfoil import errors, verbs
from counterfoil.checkout import Opened, open_checkout, quote
from counterfoil.clocks import Clocks, ClocksOutOfOrder
from counterfoil.ending import cancel, refresh, release
from counterfoil.errors import (
    AllocationHeld,
    AllocationSpent,
    BadSignature,
    Busy,
    BuyerLimitReached,
    CodeUnknown,
    Refusal,
    StripeUnavailable,
)
from counterfoil.model import (
    BuyerIdentity,
    Checkout,
    CheckoutStatus,
    Code,
    Entitlement,
    Institution,
    Order,
    Product,
    Redemption,
    RedemptionStatus,
    RefundPolicy,
    ReleaseReason,
    Session,
    Shop,
    StripeEvent,
    Usage,
)
from counterfoil.pace import Pace
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, FixedPrice, PercentOff, Price
from counterfoil.procedure import Procedure, adrive, drive
from counterfoil.statement import Statement
from counterfoil.stripe.events import handle_event
from counterfoil.verbs import Settled, attach, renew, reserve, settle, usage

__all__ = [
    "AllocationHeld",
    "AllocationSpent",
    "AmountOff",
    "BadSignature",
    "Busy",
    "BuyerIdentity",
    "BuyerLimitReached",
    "Calendar",
    "Checkout",
    "CheckoutStatus",
    "Clocks",
    "ClocksOutOfOrder",
    "Code",
    "CodeUnknown",
    "Entitlement",
    "FixedPrice",
    "Institution",
    "Opened",
    "Order",
    "Pace",
    "PercentOff",
    "Price",
    "Procedure",
    "Product",
    "Redemption",
    "RedemptionStatus",
    "RefundPolicy",
    "Refusal",
    "ReleaseReason",
    "Session",
    "Settled",
    "Shop",
    "Statement",
    "StripeEvent",
    "StripeUnavailable",
    "Usage",
    "adrive",
    "attach",
    "cancel",
    "drive",
    "errors",
    "handle_event",
    "open_checkout",
    "quote",
    "refresh",
    "release",
    "renew",
    "reserve",
    "settle",
    "usage",
    "verbs",
]
