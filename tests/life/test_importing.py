"""A file of codes: what becomes of its lines, all at once or not at all; and out and in again."""

import csv
import io
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.places import code, school

from counterfoil import catalogue, errors, replacing
from counterfoil.catalogue import CodeTerms
from counterfoil.codes import check_code, fold
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.importing import own, plan, writing
from counterfoil.importing.plan import Fate, Format, Imported
from counterfoil.importing.wanted import Given
from counterfoil.model import BuyerIdentity, Code, RefundPolicy
from counterfoil.periods import Calendar
from counterfoil.pricing import AmountOff, FixedPrice, PercentOff
from counterfoil.procedure import NoStripe, drive
from counterfoil.statement import AllOrNone

Import = Callable[..., Imported]


@pytest.fixture
def bring(host: Psycopg) -> Import:
    """Imports a text for Northfold."""
    northfold = school(host)

    def bring(text: str, *, beside: dict[str, str] | None = None, **more: Any) -> Imported:
        procedure = plan.import_codes(data=text.encode(), given=Given(northfold, beside or {}, "minor"), **more)
        return drive(procedure, host, NoStripe())

    return bring


def codes(host: Psycopg) -> list[str]:
    return [one.code for one in host.run(catalogue.codes())]


def fates(found: Imported) -> list[tuple[int, str, str]]:
    return [(line.number, line.code, str(line.fate)) for line in found.lines]


class TestFates:
    def test_each_kind(self, bring: Import, host: Psycopg) -> None:
        """Of a file with one of each, nothing is added; with skip-bad, the good ones are."""
        host.run(catalogue.add_institution(name="S", time_zone="Europe/London", year_start="09-01", slug="southfold"))
        code(host, "THERE", of=host.run(catalogue.institution("northfold")))
        code(host, "THEIRS", of=host.run(catalogue.institution("southfold")))
        text = (
            "code,cap,percent,products\nNEW,5,50,all\nth-ere,5,50,all\nTHEIRS,5,50,all\nn e w,5,50,all\nX,,50,all\n"
            "Y,1,50,nothing\nZ,1\n"
        )
        found = bring(text)
        assert fates(found) == [
            (2, "NEW", "add"), (3, "th-ere", "exists"), (4, "THEIRS", "exists"), (5, "n e w", "bad"),
            (6, "X", "bad"), (7, "Y", "bad"), (8, "Z", "bad"),
        ]  # fmt: skip
        assert [line.why for line in found.lines] == [
            "50 % off; 5 places in each academic year; once per buyer", "there is THERE: it stays as it is",
            "there is THEIRS, of southfold: it stays as it is", "it reads the same as the code of line 2",
            "the cap is empty: write a number, 0 to let nobody in, or the word none", "there is no product nothing",
            "it has 2 cells, and the first line names 4 cells",
        ]  # fmt: skip
        assert (found.done, codes(host)) == (False, ["THEIRS", "THERE"])
        assert fates(bring(text, dry_run=True, skip_bad=True)) == fates(found)
        assert codes(host) == ["THEIRS", "THERE"]
        done = bring(text, skip_bad=True)
        assert (done.done, codes(host)) == (True, ["NEW", "THEIRS", "THERE"])

    def test_twice_is_once(self, bring: Import, host: Psycopg) -> None:
        text = "code,cap,percent\nA,0,50\nB,none,10\n"
        assert bring(text).count(Fate.ADD) == 2
        again = bring(text)
        assert (again.done, again.count(Fate.EXISTS), codes(host)) == (True, 2, ["B", "A"])
        assert host.run(catalogue.code("A")).cap == 0

    @pytest.mark.parametrize(
        ("header", "format"),
        [
            ("code,cap", Format.COUNTERFOIL), ("code,cap,percent", Format.COUNTERFOIL),
            ("id,code,max_redemptions", Format.STRIPE), ("Code,Coupon ID,Max Redemptions", Format.STRIPE),
            ("Code,Voucher Type,Value,Discount Type", Format.VOUCHERIFY),
        ],
    )  # fmt: skip
    def test_who_wrote_it_is_seen(self, bring: Import, header: str, format: Format) -> None:
        assert bring(f"{header}\n").format is format

    @pytest.mark.parametrize(
        ("text", "more", "word"),
        [
            ("code,cap,colour\nA,1,red\n", {}, "'colour' is not known"), ("", {}, "empty"),
            ("code,cap\nA,1\n", {"beside": {"cap": "2"}}, "has a column cap"),
            ("code,cap\nA,1\n", {"format": Format.VOUCHERIFY}, "has a column 'voucher type'"),
        ],
    )  # fmt: skip
    def test_what_is_not_understood(self, bring: Import, text: str, more: dict[str, Any], word: str) -> None:
        with pytest.raises(errors.FileUnreadable, match=word):
            bring(text, **more)

    def test_somebody_adds_one_meanwhile(self, bring: Import, host: Psycopg) -> None:
        """It is decided anew: that line's code is there by now."""
        northfold = host.run(catalogue.institution("northfold"))

        class Meanwhile:
            """A host before which somebody is quicker, once."""

            run = staticmethod(host.run)
            left = 1

            def run_all(self, together: AllOrNone[Any]) -> list[Any]:
                if self.left:
                    self.left = 0
                    code(host, "b", of=northfold)
                return host.run_all(together)

        text = b"code,cap,percent\nA,1,50\nB,1,50\n"
        found = drive(plan.import_codes(data=text, given=Given(northfold)), Meanwhile(), NoStripe())
        assert fates(found) == [(2, "A", "add"), (3, "B", "exists")]
        assert codes(host) == ["A", "b"]


class TestPools:
    def test_in_any_order(self, bring: Import, host: Psycopg) -> None:
        code(host, "THERE", of=host.run(catalogue.institution("northfold")))
        found = bring("code,cap,percent,counts_with\nC,1,50,B\nB,1,50,A\nA,1,50,\nD,1,50,th ere\n")
        assert (found.done, found.count(Fate.ADD)) == (True, 4)
        assert [host.run(catalogue.code(one)).counts_with for one in "ABCD"] == [None, "A", "A", "THERE"]

    @pytest.mark.parametrize(
        "lines", ["B,1,50,NOBODY\n", "B,1,50,A\nA,1,50,B\n", "B,1,50,B\n", "B,1,50,A\nA,,50,\n", "C,1,50,B\nB,1,50,X\n"]
    )
    def test_with_none_that_there_will_be(self, bring: Import, host: Psycopg, lines: str) -> None:
        """Nor with one that counts in a circle, or is bad itself."""
        found = bring(f"code,cap,percent,counts_with\n{lines}", skip_bad=True)
        assert (found.count(Fate.ADD), codes(host)) == (0, [])
        assert "to count with" in found.lines[0].why


def table(host: Psycopg) -> str:
    """The file that is written of all codes."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(own.COLUMNS)
    after: int | None = 0
    while after is not None:
        lines, after = host.run(writing.lines_after(after=after, most=3))
        writer.writerows(lines)
    return text.getvalue()


DAYS = st.none() | st.dates(date(1, 1, 1), date(9999, 12, 31))
#: Amounts that Stripe can charge in each of them.
AMOUNTS = st.integers(1, 999_999).map(lambda amount: 10 * amount)
CURRENCIES = st.sampled_from(["gbp", "jpy", "kwd"])
OTHERS = st.dictionaries(st.sampled_from(["eur", "usd", "bhd"]), AMOUNTS, max_size=3)
DISCOUNTS = st.one_of(
    st.builds(PercentOff, st.integers(1, 10_000).map(lambda hundredths: Decimal(hundredths) / 100), OTHERS),
    st.builds(AmountOff, AMOUNTS, CURRENCIES, OTHERS),
    st.builds(FixedPrice, st.just(0) | AMOUNTS, CURRENCIES, OTHERS),
)


def _stored(text: str) -> str | None:
    try:
        return check_code(text)
    except ValueError:
        return None


CODES = (
    st.one_of(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
        st.from_regex(r"[=+\-@'\";,]{0,3}[A-Z0-9]{1,4}", fullmatch=True),
    )
    .map(_stored)
    .filter(bool)
)


@st.composite
def terms(draw: st.DrawFn) -> CodeTerms:
    """Any terms."""
    days = sorted(day for day in (draw(DAYS), draw(DAYS)) if day)
    return CodeTerms(
        cap=draw(st.none() | st.integers(0, 1_000_000_000)),
        discount=draw(DISCOUNTS),
        per_buyer_limit=draw(st.none() | st.integers(1, 1_000_000)),
        starts_on=days[0] if len(days) == 2 else None,
        ends_on=days[-1] if days else None,
        products=draw(st.none() | st.lists(st.sampled_from(["hub", "day-pass"]), min_size=1, unique=True).map(tuple)),
        refund_policy=draw(st.sampled_from(list(RefundPolicy))),
        paused=draw(st.booleans()),
    )


def same(of: Code) -> Code:
    """What of a code is its file's: not which row it is, and not when it was made."""
    return replace(of, id=0, version=0, created_at=datetime(2026, 1, 1, tzinfo=UTC))


class TestOutAndIn:
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                CODES, terms(), st.sampled_from(list(Calendar)), st.none() | st.integers(0, 3),
                st.sampled_from(list(BuyerIdentity)),
            ),
            min_size=1, max_size=5, unique_by=lambda one: fold(str(one[0])),
        )
    )  # fmt: skip
    def test_into_an_empty_database_gives_the_same_codes(
        self, bring: Import, host: Psycopg, connection: psycopg.Connection[Any], drawn: Any
    ) -> None:
        """Any code with any terms, and pools of them; and what is written of those is the same file again."""
        connection.execute("DELETE FROM counterfoil.code")
        northfold = host.run(catalogue.institution("northfold"))
        for id in ("hub", "day-pass"):
            connection.execute(
                "INSERT INTO counterfoil.product (id, name, amount, currency) VALUES (%s, %s, 1, 'gbp') "
                "ON CONFLICT DO NOTHING",
                (id, id),
            )
        made: list[str] = []
        for name, these, calendar, pool, identity in drawn:
            counts_with = made[pool] if pool is not None and pool < len(made) else None
            host.run(
                catalogue.add_code(
                    institution=northfold,
                    code=name,
                    terms=these,
                    calendar=calendar,
                    counts_with=counts_with,
                    buyer_identity=identity,
                )
            )
            made.append(name)
        before, text = [same(one) for one in host.run(catalogue.codes())], table(host)
        connection.execute("DELETE FROM counterfoil.code")
        found = bring(text)
        assert (found.done, found.count(Fate.ADD)) == (True, len(before)), found
        after = [same(one) for one in host.run(catalogue.codes())]
        assert sorted(after, key=lambda one: one.code) == sorted(before, key=lambda one: one.code)
        assert sorted(table(host).splitlines()) == sorted(text.splitlines())

    def test_whatever_a_code_grants_is_in_the_file(self) -> None:
        """A term that is added to codes, and not to their file, is one that a move would lose."""
        granted = {field.name for one in (CodeTerms, PercentOff, AmountOff, FixedPrice) for field in fields(one)}
        assert granted - {"discount"} <= set(own.COLUMNS)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("A,1,,,505,kwd,", "kwd in multiples of 10"), ("A,1,50,gbp=0,,,", "from 1 to 99999999, not 0"),
            ("A,1,50,gbp,,,", "the at_most in gbp ''"), ("A,1,,gbp=500,100,gbp,", "at_most bounds a percentage"),
            ("A,1,50,,,,eur=5", "a percentage has no currency"), ("A,1,,,100,gbp,gbp=5", "given twice"),
            ("A,1,,,100,gbp,eur=5 eur=6", "'eur=6'"),
        ],
    )  # fmt: skip
    def test_an_amount_that_makes_no_sense(self, bring: Import, line: str, why: str) -> None:
        [found] = bring(f"code,cap,percent,at_most,amount_off,currency,currencies\n{line}\n", dry_run=True).lines
        assert (found.fate, why in found.why) == (Fate.BAD, True), found

    def test_a_code_that_was_replaced_is_not_in_it(self, bring: Import, host: Psycopg) -> None:
        """The one in force is, as what the others count with."""
        bring("code,cap,percent,counts_with\nA,7,50,\nB,1,50,A\n")
        host.run(replacing.replace_code(old="A", new="C"))
        lines = list(csv.DictReader(io.StringIO(table(host))))
        assert [(one["code"], one["cap"], one["counts_with"]) for one in lines] == [("B", "1", "C"), ("C", "7", "")]

    def test_no_cell_is_a_formula(self, bring: Import, host: Psycopg) -> None:
        bring('code,cap,percent\n"=HYPERLINK(1)",1,50\n+1,1,50\n-2,1,50\n@X,1,50\n')
        for line in csv.reader(io.StringIO(table(host))):
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in line)


def test_paused_is_kept(bring: Import, host: Psycopg) -> None:
    bring("code,cap,percent,paused\nA,1,50,yes\nB,1,50,no\n")
    assert [host.run(catalogue.code(one)).paused for one in "AB"] == [True, False]
