"""Which addresses are one mailbox, and which are not."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from counterfoil.buyers import buyer_key
from counterfoil.mailboxes import PROVIDERS, mailbox_key

#: Each line: addresses of one mailbox, and the form in which it is compared.
SAME = {
    "ann@school.test": "ann@school.test Ann@School.TEST ann+news@school.test ann+@school.test ann+a+b@school.test "
    "ann@school.test. ANN+X@SCHOOL.test",
    "ann.lee@school.test": "ann.lee@school.test Ann.Lee+1@school.test",
    "annlee@gmail.com": "annlee@gmail.com ann.lee@gmail.com a.n.n.l.e.e@gmail.com ANN.LEE@GMAIL.COM "
    "ann.lee+code@gmail.com annlee@googlemail.com Ann.Lee+2@GoogleMail.com ann.lee@ｇｍａｉｌ.com ann.lee@gmail。com",
    "ann@icloud.com": "ann@icloud.com ann@me.com ann@mac.com Ann+x@Me.com",
    "ann.b@yandex.com": "ann.b@yandex.ru ann.b@ya.ru ann.b+x@yandex.kz",
    "ann@fastmail.com": "ann@fastmail.com ann+x@fastmail.com shop@ann.fastmail.com other@Ann.Fastmail.com",
    "ann@fastmail.fm": "ann@fastmail.fm shop@ann.fastmail.fm",
    "ann@xn--bcher-kva.example": "ann@bücher.example ann@BÜCHER.example ann@xn--bcher-kva.example "
    "Ann+x@XN--BCHER-KVA.example ann@bu\u0308cher.example",
    "ann@strasse.test": "ann@straße.test ann@strasse.test ann@STRASSE.test ann@xn--strae-oqa.test",
    "zoë@xn--e1afmkfd.test": "zoë@пример.test ZOË@ПРИМЕР.test zoe\u0308@xn--e1afmkfd.test",
    '"a+b"@school.test': '"a+b"@school.test "A+B"@School.test',
    "+only@school.test": "+only@school.test",
    ".@gmail.com": ".@gmail.com .+x@gmail.com",
    "ann@xn--a.test": "ann@xn--a.test",
}

#: Each line: addresses of as many mailboxes.
DIFFERENT = [
    "ann@school.test anne@school.test ann@college.test ann@sub.school.test",
    "ann.lee@school.test annlee@school.test",
    "ann-x@school.test ann@school.test ann_x@school.test",
    "ann.lee@outlook.com annlee@outlook.com ann.lee@hotmail.com",
    "ann@gmail.com ann@icloud.com ann@yandex.com ann@fastmail.com ann@fastmail.fm",
    "ann@gmail.com.test ann@mail.gmail.com annlee@gmail.com",
    "a.n@icloud.com an@icloud.com",
    "User-7 user-7 user-7+x user7 User.7",
    "x@ann.fastmail.com x@bob.fastmail.com x@deep.ann.fastmail.com",
    "+a@school.test +b@school.test",
    "ann@bücher.example ann@bucher.example",
]


@pytest.mark.parametrize(("one", "key"), [(one, key) for key, addresses in SAME.items() for one in addresses.split()])
def test_addresses_of_one_mailbox(one: str, key: str) -> None:
    assert mailbox_key(one) == key


@pytest.mark.parametrize("line", DIFFERENT)
def test_addresses_of_different_mailboxes(line: str) -> None:
    keys = [mailbox_key(one) for one in line.split()]
    assert len(set(keys)) == len(keys), keys


def test_a_reference_of_the_callers_own_is_compared_as_given() -> None:
    assert mailbox_key(" User+7 ") == "User+7"


_WORD = st.sampled_from(
    ["ann", "Ann.Lee", "+", "+x", ".", "..", "ß", "İ", '"', "xn--", "é", "e\u0301", "@", " ", "\u3000"]
)
_LOCAL = st.one_of(st.lists(_WORD, min_size=1, max_size=5).map("".join), st.text(max_size=12))
_DOMAIN = st.one_of(
    st.sampled_from([domain for provider in PROVIDERS for domain in provider.domains]),
    st.lists(
        st.sampled_from(
            ["gmail", "ann", "FASTMAIL", "com", "bücher", "xn--bcher-kva", "xn--a", "ß", "xn--strae-oqa", "", "。"]
        ),
        min_size=1,
        max_size=5,
    ).map(".".join),
    st.text(max_size=20),
)
ADDRESS = st.one_of(
    st.builds(lambda local, domain: f"{local}@{domain}", _LOCAL, _DOMAIN),
    st.text(st.characters(exclude_categories=("Cs",))),
)


@settings(max_examples=1500)
@given(ADDRESS)
@example("x@xn--xn---epa.test")
@example("x@xn--gmail-.com")
def test_folding_twice_is_folding_once(text: str) -> None:
    try:
        key = mailbox_key(text)
        again = mailbox_key(key)
    except ValueError:
        return
    assert again == key


@settings(max_examples=1000)
@given(ADDRESS)
def test_who_is_the_same_by_address_is_the_same_by_mailbox(text: str) -> None:
    try:
        key = buyer_key(text)
    except ValueError:
        return
    assert mailbox_key(key) == mailbox_key(text)
    if "@" in text and text.isascii():
        assert mailbox_key(text.swapcase()) == mailbox_key(text)


def test_each_provider_says_where_it_says_so() -> None:
    domains = [domain for provider in PROVIDERS for domain in provider.domains]
    assert len(set(domains)) == len(domains)
    assert all(one.startswith("https://") for provider in PROVIDERS for one in provider.source.split(", "))
