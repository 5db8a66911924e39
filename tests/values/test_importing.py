"""Each kind of line that a file of codes may have, and what it asks for."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from counterfoil.importing import cells, own, stripe, voucherify
from counterfoil.importing.cells import Table, Unreadable, defused, fused, read
from counterfoil.importing.wanted import Given, Wanted
from counterfoil.model import Institution
from counterfoil.pricing import AmountOff, FixedPrice, PercentOff

NEW_YORK = Institution(1, "northfold", "Northfold", "America/New_York", "09-01", datetime(2026, 1, 1, tzinfo=UTC))
GIVEN = Given(NEW_YORK)
TEXT = "code,cap\nA,1\n"


def rows(text: str) -> list[dict[str, str]]:
    return [dict(row.cells) for row in read(text.encode()).rows]


def one(header: str, line: str, of: type | object = own, given: Given = GIVEN) -> Wanted:
    """What a single line asks for."""
    table = read(f"{header}\n{line}\n".encode())
    assert table.rows[0].wrong is None
    wanted: Wanted = of.read(table.rows[0].cells, given)  # type: ignore[attr-defined, union-attr]
    return wanted


class TestTheFile:
    @pytest.mark.parametrize(
        "data",
        [
            TEXT.encode(), b"\xef\xbb\xbf" + TEXT.encode(), b"\xff\xfe" + TEXT.encode("utf-16-le"),
            b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT.replace(",", ";").encode(), TEXT.replace(",", "\t").encode(),
            b"\xff\xfe" + TEXT.replace(",", "\t").encode("utf-16-le"), TEXT.replace("\n", "\r\n").encode(),
            TEXT.replace("\n", "\r").encode(), b"sep=;\r\n" + TEXT.replace(",", ";").encode(), TEXT.strip().encode(),
            b"\n\n" + TEXT.encode(), b"\r\n" + TEXT.replace(",", ";").encode(),
            b'"Code", CAP ,\n A , 1 ,\n,,\n', b"code,cap,,\nA,1,,\n,,,\n",
        ],
    )  # fmt: skip
    def test_whoever_wrote_it(self, data: bytes) -> None:
        table = read(data)
        assert table.columns == ("code", "cap")
        assert [dict(row.cells) for row in table.rows] == [{"code": "A", "cap": "1"}]

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("code\nA\n\nB\n", [2, 4]), ('code,cap\n"A\nB",1\nC,2\n', [2, 4]), ("sep=,\ncode,cap\nA,1\n", [3]),
            ('code,cap\r\n"A\r\n\r\nB",1\r\nC,2', [2, 5]), ("\n\ncode\nA\n", [4]),
        ],
    )  # fmt: skip
    def test_the_number_of_a_line_is_the_editors(self, text: str, numbers: list[int]) -> None:
        assert [row.number for row in read(text.encode()).rows] == numbers

    @pytest.mark.parametrize(
        ("data", "word"),
        [
            (b"", "empty"), (b"\n\n", "empty"), (b"\xef\xbb\xbf", "empty"), (b"cap\n1\n", "none of them is code"),
            (b"code,Code\nA,B\n", "twice"), (b"code,cap\nA,\xff\n", "line 2 is not in UTF-8"),
            (b"\xff\xfeabc", "UTF-16"), (b"code\nA\0\n", "zero bytes"), (b'code,cap\n"A,1\n', "line 2"),
            (b'code,cap\n"A"x,1\n', "line 2"), (b"code\n" + b"A" * 200_000, "line 2"),
            (b"code\n" + b"A\n" * 5001, "5,001 lines"), (b"x" * (1024 * 1024 + 1), "larger"),
            (TEXT.encode("utf-16-le"), "zero bytes"), ("code\nÄ\n".encode("latin-1"), "CSV UTF-8"),
        ],
        ids=range(15),
    )  # fmt: skip
    def test_what_is_no_table(self, data: bytes, word: str) -> None:
        with pytest.raises(Unreadable, match=word):
            read(data)

    @pytest.mark.parametrize(
        ("line", "wrong"),
        [("A", "it has 1 cell, and the first line names 2 cells"), ("A,1,2", "it has 3 cells"), ("A,1,,", None)],
    )
    def test_a_line_of_another_length(self, line: str, wrong: str | None) -> None:
        found = read(f"code,cap\n{line}\n".encode()).rows[0].wrong
        assert (found or "").startswith(wrong or "")
        assert (found is None) == (wrong is None)

    def test_the_names_of_columns(self) -> None:
        for name in ("max_redemptions", "Max Redemptions", " MAX  redemptions ", "max.redemptions"):
            assert cells.plain_name(name) == "max redemptions"
        assert cells.plain_name("Expires At (UTC)") == "expires at"

    @drawn(st.text())
    def test_an_apostrophe_goes_as_it_came(self, text: str) -> None:
        assert fused(defused(text)) == text
        assert not defused(text).startswith(cells.FORMULA)

    @drawn(st.binary(max_size=300))
    def test_no_bytes_are_an_accident(self, data: bytes) -> None:
        try:
            assert isinstance(read(b"code,cap\n" + data), Table)
        except Unreadable as why:
            assert str(why)


class TestOurOwn:
    @pytest.mark.parametrize(
        ("cap", "is_"), [("0", 0), ("1", 1), ("1000000000", 1_000_000_000), ("none", None), ("NONE", None), ("007", 7)]
    )
    def test_the_cap(self, cap: str, is_: int | None) -> None:
        assert one("code,cap,percent", f"A,{cap},50").terms.cap == is_

    @pytest.mark.parametrize(
        "cap",
        ["", " ", "-1", "-0", "1.0", "1e3", '"1,000"', "1000000001", "unlimited", "∞", "null", "no", "x", "٣", "1_000"],
    )
    def test_what_is_no_cap_is_never_no_limit(self, cap: str) -> None:
        with pytest.raises(ValueError, match="cap"):
            one("code,cap,percent", f"A,{cap},50")

    def test_the_discounts(self) -> None:
        header = "code,cap,percent,amount_off,price,currency"
        assert one(header, "A,1,12.5,,,").terms.discount == PercentOff(Decimal("12.5"))
        assert one(header, "A,1,50%,,,").terms.discount == PercentOff(Decimal(50))
        assert one(header, "A,1,,500,,GBP").terms.discount == AmountOff(500, "gbp")
        assert one(header, "A,1,,,0,gbp").terms.discount == FixedPrice(0, "gbp")

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            (",1,50,,,", "letter or a digit"), ("--,1,50,,,", "letter or a digit"), ("A" * 65 + ",1,50,,,", "64"),
            ('"A\nB",1,50,,,', "control"), ("A,1,,,,", "no discount"), ("A,1,50,500,,gbp", "percent and amount_off"),
            ("A,1,50,,,gbp", "has no currency"), ("A,1,0,,,", "over 0"), ("A,1,100.01,,,", "at most 100"),
            ("A,1,12.555,,,", "two decimals"), ("A,1,half,,,", "percentage"), ("A,1,,500,,", "needs its currency"),
            ("A,1,,500,,xxx", "no currency"), ("A,1,,0,,gbp", "amount"), ("A,1,,5.00,,gbp", "whole number"),
            ("A,1,,100000000,,gbp", "whole number"), ("A,1,,,-1,gbp", "whole number"),
        ],
    )  # fmt: skip
    def test_broken(self, line: str, word: str) -> None:
        with pytest.raises(ValueError, match=word):
            one("code,cap,percent,amount_off,price,currency", line)

    @pytest.mark.parametrize(
        ("column", "cell", "word"),
        [
            ("per_buyer_limit", "", "limit per buyer"), ("per_buyer_limit", "0", "limit per buyer"),
            ("starts_on", "01/09/2027", "like 2027-08-31"), ("ends_on", "2027-02-30", "no day"),
            ("products", "", "products is empty"), ("products", "Hub!", "no id"), ("refund_policy", "", "none of keep"),
            ("calendar", "moon", "none of academic_year"), ("paused", "maybe", "yes or no"),
            ("paused", "", "yes or no"),
            ("counts_with", "--", "letter or a digit"), ("institution", "southfold", "and not of northfold"),
        ],
    )  # fmt: skip
    def test_broken_terms(self, column: str, cell: str, word: str) -> None:
        with pytest.raises(ValueError, match=word):
            one(f"code,cap,percent,{column}", f"A,1,50,{cell}")

    def test_the_last_day_before_the_first(self) -> None:
        with pytest.raises(ValueError, match="before its first"):
            one("code,cap,percent,starts_on,ends_on", "A,1,50,2027-02-01,2027-01-31")

    def test_what_is_not_in_the_file(self) -> None:
        """Is said beside it, or is as for a code that is added by hand; but never a cap."""
        asked = one("code", "A", given=Given(NEW_YORK, {"cap": "5", "percent": "10"}))
        assert (asked.terms.cap, asked.terms.per_buyer_limit, asked.terms.products) == (5, 1, None)
        with pytest.raises(ValueError, match="no cap is said"):
            one("code", "A", given=Given(NEW_YORK, {"percent": "10"}))

    def test_a_cell_wins_over_what_is_said_beside(self) -> None:
        """An empty one too: it may have been forgotten."""
        beside = Given(NEW_YORK, {"cap": "1", "amount_off": "5", "currency": "gbp"})
        assert one("code,percent", "A,10", given=beside).terms.discount == PercentOff(Decimal(10))
        with pytest.raises(ValueError, match="no discount"):
            one("code,percent", "A,", given=beside)


class TestStripes:
    HEADER = "id,code,percent_off,amount_off,currency,active,max_redemptions,times_redeemed,expires_at,customer"

    @pytest.mark.parametrize(
        ("limit", "used", "cap"),
        [
            ("50", "0", 50),
            ("50", "", 50),
            ("50", "20", 30),
            ("50", "50", 0),
            ("50", "51", 0),
            ("0", "0", 0),
            ("", "7", None),
        ],
    )
    def test_what_is_left(self, limit: str, used: str, cap: int | None) -> None:
        """Exhausted is 0, which lets nobody in; only a limit that is missing is none, and is said."""
        asked = one(self.HEADER, f"promo_1,A,20,,,true,{limit},{used},,", stripe)
        assert asked.terms.cap == cap
        assert ("the file has no limit for it" in asked.notes) == (cap is None)
        assert str(asked.calendar) == "all"

    def test_no_column_for_the_limit_is_not_no_limit(self) -> None:
        with pytest.raises(ValueError, match="no column for the limit"):
            one("code,percent_off,times_redeemed", "A,20,3", stripe)

    @pytest.mark.parametrize(
        ("said", "ends", "told"),
        [
            ("2027-04-01 04:00", "2027-03-31", False), ("2027-04-01T04:00:00Z", "2027-03-31", False),
            ("2027-04-01T00:00:00-04:00", "2027-03-31", False), ("2027-04-01T12:30:00Z", "2027-04-01", True),
            ("1806638400", "2027-04-01", False), ("2027-04-01T03:59:59.5Z", "2027-03-31", False),
        ],
    )  # fmt: skip
    def test_the_end_is_a_whole_day_of_the_institution(self, said: str, ends: str, told: bool) -> None:
        asked = one(self.HEADER, f"p,A,20,,,true,5,0,{said},", stripe)
        assert (asked.terms.ends_on, bool(asked.notes)) == (date.fromisoformat(ends), told)

    def test_amounts_are_in_what_is_said(self) -> None:
        line = "p,A,,500,gbp,true,5,0,,"
        with pytest.raises(ValueError, match="minor or in major"):
            one(self.HEADER, line, stripe)
        for amounts, minor in (("minor", 500), ("major", 50000)):
            asked = one(self.HEADER, line, stripe, Given(NEW_YORK, {}, amounts))
            assert asked.terms.discount == AmountOff(minor, "gbp")
        asked = one(self.HEADER, "p,A,,5.5,gbp,true,5,0,,", stripe, Given(NEW_YORK, {}, "major"))
        assert asked.terms.discount == AmountOff(550, "gbp")
        asked = one(self.HEADER, "p,A,,500,jpy,true,5,0,,", stripe, Given(NEW_YORK, {}, "major"))
        assert asked.terms.discount == AmountOff(500, "jpy")

    def test_of_its_coupon_only_the_name(self) -> None:
        beside = Given(NEW_YORK, {"percent": "15"})
        asked = one("code,coupon,max_redemptions", "A,SPRING,5", stripe, beside)
        assert asked.terms.discount == PercentOff(Decimal(15))
        with pytest.raises(ValueError, match="what its coupon takes off"):
            one("code,coupon,max_redemptions", "A,SPRING,5", stripe)

    def test_one_that_is_not_active_is_paused(self) -> None:
        for active, paused in (("true", False), ("FALSE", True), ("", False)):
            assert one(self.HEADER, f"p,A,20,,,{active},5,0,,", stripe).terms.paused is paused

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ("p,,20,,,true,5,0,,", "letter or a digit"), ("p,A,20,,,true,5,0,,cus_1", "one customer"),
            ("p,A,20,5,gbp,true,5,0,,", "both or neither"), ("p,A,,,,true,5,0,,", "both or neither"),
            ("p,A,0,,,true,5,0,,", "over 0"), ("p,A,20,,,sometimes,5,0,,", "yes or no"),
            ("p,A,20,,,true,many,0,,", "limit"), ("p,A,20,,,true,-1,0,,", "limit"), ("p,A,20,,,true,5,x,,", "uses"),
            ("p,A,20,,,true,5,0,soon,", "no moment"), ("p,A,20,,,true,5,0,0001-01-01,", "no moment"),
        ],
    )  # fmt: skip
    def test_broken(self, line: str, word: str) -> None:
        with pytest.raises(ValueError, match=word):
            one(self.HEADER, line, stripe)

    @pytest.mark.parametrize(
        ("column", "cell"), [("restrictions.first_time_transaction", "true"), ("restrictions.minimum_amount", "500")]
    )
    def test_restrictions_that_cannot_be_kept(self, column: str, cell: str) -> None:
        with pytest.raises(ValueError, match="cannot be kept here"):
            one(f"code,percent_off,max_redemptions,{column}", f"A,20,5,{cell}", stripe)


class TestVoucherifys:
    HEADER = (
        "Code,Voucher Type,Value,Discount Type,Active,Start Date,Expiration Date,Redeemed Quantity,Redemption Limit"
    )

    @pytest.mark.parametrize(
        ("limit", "used", "cap"), [("10", "", 10), ("10", "4", 6), ("10", "10", 0), ("0", "0", 0), ("", "4", None)]
    )
    def test_what_is_left(self, limit: str, used: str, cap: int | None) -> None:
        asked = one(self.HEADER, f"A,DISCOUNT_VOUCHER,20,PERCENT,TRUE,,,{used},{limit}", voucherify)
        assert asked.terms.cap == cap
        assert ("the file has no limit for it" in asked.notes) == (cap is None)

    def test_the_discounts(self) -> None:
        beside = Given(NEW_YORK, {"currency": "eur"}, "minor")
        for kind, discount in (("AMOUNT", AmountOff(500, "eur")), ("FIXED", FixedPrice(500, "eur"))):
            line = f"A,DISCOUNT_VOUCHER,500,{kind},,,,,5"
            assert one(self.HEADER, line, voucherify, beside).terms.discount == discount

    def test_the_days(self) -> None:
        line = "A,DISCOUNT_VOUCHER,20,PERCENT,,2027-01-01T12:00:00.000Z,2027-02-01T05:00:00.000Z,,5"
        asked = one(self.HEADER, line, voucherify)
        assert (asked.terms.starts_on, asked.terms.ends_on) == (date(2027, 1, 1), date(2027, 1, 31))
        assert asked.notes == ("good from the start of 2027-01-01: the file says 07:00",)

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ("A,GIFT_VOUCHER,20,PERCENT,,,,,5", "GIFT_VOUCHER"), ("A,,20,PERCENT,,,,,5", "no type"),
            ("A,DISCOUNT_VOUCHER,,PERCENT,,,,,5", "no value"), ("A,DISCOUNT_VOUCHER,1,UNIT,,,,,5", "UNIT"),
            ("A,DISCOUNT_VOUCHER,500,AMOUNT,,,,,5", "currency"),
            ("A,DISCOUNT_VOUCHER,200,PERCENT,,,,,5", "at most 100"),
            ("A,DISCOUNT_VOUCHER,20,PERCENT,,,,,unlimited", "limit"),
            ("A,DISCOUNT_VOUCHER,20,PERCENT,,2027-02-01T12:00Z,2027-01-01T12:00Z,,5", "before its first"),
        ],
    )  # fmt: skip
    def test_broken(self, line: str, word: str) -> None:
        with pytest.raises(ValueError, match=word):
            one(self.HEADER, line, voucherify)

    @pytest.mark.parametrize(
        ("column", "cell"), [("Discount effect", "APPLY_TO_ITEMS"), ("Validation rule ID", "val_1"), ("Formula", "x")]
    )
    def test_what_cannot_be_kept(self, column: str, cell: str) -> None:
        with pytest.raises(ValueError, match=r"cannot be kept|lowers the price"):
            one(f"{self.HEADER},{column}", f"A,DISCOUNT_VOUCHER,20,PERCENT,,,,,5,{cell}", voucherify)


def test_a_table_that_was_opened_in_a_spreadsheet() -> None:
    """Written anew with semicolons and quotes around everything: the same."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL)
    writer.writerows([["Code", "Cap", "Percent"], ["'=A", "1", "50"]])
    assert rows(text.getvalue()) == [{"code": "=A", "cap": "1", "percent": "50"}]
