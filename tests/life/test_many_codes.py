"""Many codes at once: all or none, none twice, and none that could be guessed."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from tests.support.places import Verbs, code, school

from counterfoil import batches, catalogue, errors, patterns
from counterfoil.batches import Batch
from counterfoil.catalogue import CodeTerms
from counterfoil.codes import fold
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.model import Shop
from counterfoil.patterns import HARD_ENOUGH, Form
from counterfoil.periods import Calendar
from counterfoil.pricing import PercentOff
from counterfoil.procedure import NoStripe, drive

Make = Callable[..., Batch]
TERMS = CodeTerms(cap=1, discount=PercentOff(Decimal(20)), per_buyer_limit=2)


@pytest.fixture
def make(host: Psycopg) -> Make:
    """Makes codes of Northfold's."""
    northfold = school(host)

    def make(number: int = 5, prefix: str = "NORTH", pattern: str = "XXXX-XXXX", **more: Any) -> Batch:
        given = {"terms": TERMS, "calendar": Calendar.ALL, "institution": northfold, **more}
        procedure = batches.make_codes(number=number, form=Form(prefix, pattern), **given)
        return drive(procedure, host, NoStripe())

    return make


def test_each_works_and_has_the_terms(make: Make, host: Psycopg, shop: Shop) -> None:
    made = make()
    assert len({fold(one) for one in made.codes}) == 5
    for one in made.codes:
        known = host.run(catalogue.code(one))
        assert (catalogue.terms_of(known), known.calendar, known.institution) == (TERMS, Calendar.ALL, "northfold")
        assert Verbs(host, shop).reserve("a", one)
    assert host.run(batches.batch(made.id)) == made


def test_all_may_count_with_one(make: Make, host: Psycopg, shop: Shop) -> None:
    """A pool of codes, each for one buyer, over the places of one."""
    code(host, "POOL", cap=2, of=host.run(catalogue.institution("northfold")))
    made = make(3, counts_with="POOL")
    do = Verbs(host, shop)
    for buyer, one in zip("ab", made.codes, strict=False):
        do.reserve(buyer, one)
    with pytest.raises(errors.AllocationHeld):
        do.reserve("c", made.codes[2])


def test_none_to_count_with_makes_none(make: Make, host: Psycopg) -> None:
    with pytest.raises(errors.CodeUnknown):
        make(3, counts_with="NOBODYS")
    assert host.run(catalogue.codes()) == []


def test_one_that_is_taken_is_drawn_again(make: Make, host: Psycopg, connection: psycopg.Connection[object]) -> None:
    """The whole batch is, in a transaction of its own: nothing of the first is left."""
    taken = make(1).codes[0]
    tries: list[list[str]] = []

    def draw(form: Form, number: int) -> list[str]:
        tries.append([taken.lower().replace("-", " "), *form.draw(number - 1)] if not tries else form.draw(number))
        return list(reversed(tries[-1]))

    made = make(4, draw=draw)
    assert (len(tries), set(made.codes)) == (2, set(tries[1]))
    assert len(host.run(catalogue.codes())) == 5
    assert connection.execute("SELECT count(*) FROM counterfoil.code_batch").fetchone() == (2,)


def test_where_all_are_taken_it_is_busy(make: Make, host: Psycopg) -> None:
    taken = make(1).codes[0]
    with pytest.raises(errors.Busy):
        make(1, draw=lambda _form, _number: [taken])
    assert len(host.run(catalogue.codes())) == 1


@pytest.mark.parametrize(
    ("number", "pattern", "would_do"),
    [
        (1, "X", "XXXX-X"), (1, "XXXX", "XXXX-X"), (2, "XXXX-X", "XXXX-XX"), (17, "XXXX-XX", "XXXX-XXX"),
        (5000, "XXXX-XXXX", "XXXX-XXXX-X"),
    ],
)  # fmt: skip
def test_what_could_be_guessed_is_refused(make: Make, host: Psycopg, number: int, pattern: str, would_do: str) -> None:
    """With the odds, and with a pattern that does."""
    with pytest.raises(errors.CodesTooDense) as refused:
        make(number, pattern=pattern)
    said = refused.value.fields
    assert said == {
        "codes": number, "existing": 0, "one_in": Form("NORTH", pattern).space // number, "pattern": would_do
    }  # fmt: skip
    assert str(refused.value).endswith(f"The pattern {would_do} would do.")
    assert host.run(catalogue.codes()) == []
    assert Form("NORTH", would_do).one_in(number) >= HARD_ENOUGH


def test_those_that_there_are_count_too(make: Make, host: Psycopg, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this form; those of another, and one that was replaced, do not."""
    form = Form("NORTH", "XXXX-XX")
    most = form.space // HARD_ENOUGH
    make(most - 1, pattern="XXXX-XX")
    make(1, prefix="SOUTH", pattern="XXXX-XX")
    make(1, pattern="XXXX-XXXX")
    made = make(1, pattern="XXXX-XX")
    assert made.one_in == form.space // most >= HARD_ENOUGH
    with pytest.raises(errors.CodesTooDense) as refused:
        make(1, pattern="XXXX-XX")
    assert refused.value.fields["existing"] == most


def test_it_is_written_down(make: Make, connection: psycopg.Connection[object]) -> None:
    made = make(3)
    rows = connection.execute(
        "SELECT action, subject, after ->> 'batch' FROM counterfoil.audit WHERE action LIKE 'code%' ORDER BY id"
    ).fetchall()
    assert rows[0] == ("codes.made", "northfold", str(made.id))
    assert [subject for action, subject, _ in rows if action == "code.added"] == list(made.codes)


def test_as_many_as_there_may_be(make: Make) -> None:
    made = make(batches.MOST, pattern="XXXX-XXXX-XXXX")
    assert len(set(made.codes)) == batches.MOST
    assert made.one_in > patterns.HARD_ENOUGH
