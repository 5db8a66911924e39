"""
Which addresses reach one mailbox: for codes whose limit is to be kept per mailbox (``buyer_identity: mailbox``).

What a provider does with an address is stated only where the provider says so itself: `PROVIDERS` is the whole table.
No address is looked up anywhere, and nothing is said about whether mail would arrive.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from counterfoil.buyers import buyer_key


@dataclass(frozen=True)
class Provider:
    """
    What a provider says of its addresses.

    Attributes:
        name: Who it is.
        domains: Those that lead to one mailbox; the first stands for all of them.
        ignores_dots: Dots before the ``@`` make no difference.
        subdomains: ``anything@ann.domain`` is ``ann@domain``.
        source: Where the provider says so.
    """

    name: str
    domains: tuple[str, ...]
    source: str
    ignores_dots: bool = False
    subdomains: bool = False


PROVIDERS = (
    Provider(
        "Gmail",
        ("gmail.com", "googlemail.com"),
        "https://support.google.com/mail/answer/7436150, https://support.google.com/mail/answer/10313",
        ignores_dots=True,
    ),
    Provider("iCloud Mail", ("icloud.com", "me.com", "mac.com"), "https://support.apple.com/118230"),
    Provider(
        "Yandex Mail",
        ("yandex.com", "yandex.ru", "ya.ru", "yandex.by", "yandex.kz"),
        "https://yandex.com/support/id/authorization/email.html",
    ),
    Provider(
        "Fastmail", ("fastmail.com",), "https://www.fastmail.help/hc/en-us/articles/360060591053", subdomains=True
    ),
    Provider("Fastmail", ("fastmail.fm",), "https://www.fastmail.help/hc/en-us/articles/360060591053", subdomains=True),
)

_BY_DOMAIN = {domain: provider for provider in PROVIDERS for domain in provider.domains}


def mailbox_key(text: str) -> str:
    """
    The form in which mailboxes are compared. What has no ``@`` is the caller's own reference, and compared as given.

    Of an address: case and what follows a ``+`` make no difference (RFC 5233), a domain is the same in letters and in
    its ASCII form (``bücher.example``, ``xn--bcher-kva.example``), and what `PROVIDERS` say of theirs counts. Addresses
    that `buyer_key` takes for one are one here, too.
    """
    plain = buyer_key(text)
    local, at, named = plain.rpartition("@")
    domain = _domain(named)
    if not at or not local or not domain:
        return plain
    provider = _BY_DOMAIN.get(domain)
    if provider is None:
        user, _, parent = domain.partition(".")
        owner = _BY_DOMAIN.get(parent)
        if owner and owner.subdomains and user:
            local, provider = user, owner
    if provider:
        domain = provider.domains[0]
    if not local.startswith('"'):
        local = local.partition("+")[0] or local
        if provider and provider.ignores_dots:
            local = local.replace(".", "").strip() or local
    return f"{local}@{_ascii(domain)}"


def _domain(text: str) -> str:
    """A domain in letters, folded until nothing changes: what an ASCII form stands for may be in need of it again."""
    while True:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        folded = ".".join(_in_letters(label) for label in folded.replace("。", ".").strip().strip(".").split("."))
        if folded == text:
            return folded
        text = folded


def _in_letters(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        letters = label[4:].encode("ascii").decode("punycode")
        return letters if not letters.isascii() and _ascii(letters) == label else label
    except ValueError:
        # No ASCII form of anything: it stands for itself.
        return label


def _ascii(domain: str) -> str:
    return ".".join(
        label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in domain.split(".")
    )
