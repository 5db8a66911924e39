"""What is drawn is what was: of any occupancy, and of any story of one redemption."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterfoil.model import Redemption, RedemptionStatus
from counterfoil.occupancy import CapChange, LatePayment, Occupancy, Step, Stretch
from counterfoil.service.pages.pictures import length_of, occupancy_picture, timeline_picture
from counterfoil.service.pages.pictures.area import ROWS
from counterfoil.service.pages.pictures.axis import counts, moments, wide
from counterfoil.service.pages.reader import Reader

BEGIN = datetime(2027, 3, 27, 9, 30, tzinfo=UTC)
ID = UUID(int=1)
READER = Reader()
FEW = st.integers(0, 9)
#: From less than a second to a year: half of it in one step is as likely as all in many.
LENGTHS = st.one_of(
    st.timedeltas(timedelta(microseconds=1), timedelta(minutes=1)),
    st.timedeltas(timedelta(minutes=1), timedelta(days=1)),
    st.timedeltas(timedelta(days=1), timedelta(days=200)),
)


@st.composite
def occupancies(draw: st.DrawFn) -> Occupancy:
    """Any: one step or very many, a cap that was changed, or none."""
    lengths = draw(st.lists(LENGTHS, min_size=1, max_size=60))
    at, stretches = BEGIN, []
    for length in lengths:
        numbers = draw(st.tuples(FEW, FEW, FEW, FEW))
        stretches.append(Stretch(at, at + length, at, *numbers))
        at += length
    # Only between two steps: the statement cuts them there.
    before = draw(st.one_of(st.none(), st.integers(0, 200)))
    some = draw(st.lists(st.sampled_from(stretches), max_size=4, unique_by=lambda one: one.since))
    changes = []
    for when in sorted(one.since for one in some):
        after = draw(st.one_of(st.none(), st.integers(0, 40)))
        changes.append(CapChange(when, before, after, None))
        before = after
    lapses = tuple(sorted(draw(st.lists(st.sampled_from([one.since for one in stretches]), max_size=8))))
    late = tuple(LatePayment(one.since, ID, reinstated=False, over_cap=True) for one in stretches[:2])
    return Occupancy(
        "2026-27", "Europe/London", before, BEGIN, at, at, True, False, tuple(stretches), lapses, late, tuple(changes)
    )


def heights(path: str) -> list[float]:
    """All that a path goes up or down to."""
    return [float(one) for one in re.findall(r"(?:V|M[\d.]+ )([\d.]+)", path)]


def test_a_peak_of_the_last_instant_is_drawn() -> None:
    """A span of a little more than a column's least time for each column: the last column is not cut off."""
    end = BEGIN + timedelta(microseconds=132)
    stretches = (Stretch(BEGIN, end, BEGIN, 0, 0, 0, 0), Stretch(end, end + timedelta(microseconds=1), end, 0, 0, 1, 0))
    until = stretches[-1].until
    of = Occupancy("2026-27", "Europe/London", None, BEGIN, until, until, True, False, stretches, (), (), ())
    assert all(dict(drawing.areas)["held"] for drawing in occupancy_picture(of, READER).drawings)


@settings(deadline=None)
@given(occupancies())
def test_no_peak_is_left_out_and_none_is_made_up(of: Occupancy) -> None:
    picture = occupancy_picture(of, READER)
    highest = max(one.total for one in of.stretches)
    assert max(row.highest.total for row in picture.rows) == highest
    assert len(picture.rows) <= max(ROWS, len(of.stretches) if len(of.stretches) <= ROWS else 0)
    for drawing in picture.drawings:
        areas = dict(drawing.areas)
        unit = (drawing.bottom - drawing.up[-1].at) / int(drawing.up[-1].label)
        drawn = [height for name in ("completed", "pending", "held", "over") for height in heights(areas.get(name, ""))]
        if highest and not picture.over:
            assert (drawing.bottom - min(drawn)) / unit == pytest.approx(highest, abs=0.06 / unit)
        assert bool(areas.get("over")) == bool(picture.over) == bool(of.over())


@settings(deadline=None)
@given(occupancies())
def test_all_is_within_its_box_and_no_words_overlap(of: Occupancy) -> None:
    for drawing in occupancy_picture(of, READER).drawings:
        for _, path in (*drawing.areas, ("cap", drawing.cap)):
            assert all(drawing.top - 0.1 <= y <= drawing.bottom + 0.1 for y in heights(path))
            across = [float(one) for one in re.findall(r"[HM]([\d.]+)", path)]
            assert all(drawing.left - 0.1 <= x <= drawing.right + 0.1 for x in across)
        apart(
            [
                (tick.at - wide(tick.label) * {"middle": 0.5, "end": 1.0, "start": 0.0}[tick.anchor], tick.label)
                for tick in drawing.across
            ],
            drawing.width,
        )
        apart([(tick.at, tick.label) for tick in drawing.cap_labels], drawing.width)
        for _, _, marks in drawing.lanes:
            apart([(mark.at, "oo") for mark in marks], drawing.width + 20)


def apart(words: list[tuple[float, str]], width: float) -> None:
    """Words of one line, each by where it begins."""
    for (start, text), (after, _) in pairwise(sorted(words)):
        assert start + wide(text) <= after
    assert all(start >= 0 and start + wide(text) <= width + 0.1 for start, text in words)


@settings(deadline=None)
@given(occupancies())
def test_each_time_over_the_cap_has_its_reason(of: Occupancy) -> None:
    """Runs of stretches are one, as long as all of them, and say what happened in them."""
    picture = occupancy_picture(of, READER)
    over = of.over()
    assert sum((one.until - one.since for one in picture.over), timedelta()) == sum(
        (one.until - one.since for one in over), timedelta()
    )
    for one in picture.over:
        inside = [each for each in over if one.since <= each.since < one.until]
        assert one.most.total - one.cap == max(
            each.total - cap for each in inside if (cap := of.cap_at(each.since)) is not None
        )
        if one.lowered:
            assert one.since <= one.lowered.at <= one.until


@pytest.mark.parametrize("top", [1, 2, 5, 6, 9, 10, 49, 50, 51, 999, 10_000_000])
def test_counts_are_few_and_even(top: int) -> None:
    found = counts(top)
    assert found[0] == 0
    assert top / 3 < found[-1] <= top
    assert 2 <= len(found) <= 6
    assert len({after - before for before, after in pairwise(found)}) == 1


@settings(deadline=None)
@given(LENGTHS, st.integers(2, 14), st.sampled_from(["Europe/London", "Asia/Kolkata", "America/St_Johns"]))
def test_moments_are_in_order_and_no_more_than_wanted(length: timedelta, most: int, zone: str) -> None:
    found = [at for at, _ in moments(BEGIN, BEGIN + length, zone, most, READER)]
    assert found == sorted(set(found))
    assert 2 <= len(found) <= most + 2
    assert all(BEGIN <= at <= BEGIN + length for at in found)


def test_noon_is_noon_on_the_day_the_clocks_change() -> None:
    """28 March 2027, London."""
    since = datetime(2027, 3, 27, 13, tzinfo=UTC)
    said = [label for _, label in moments(since, since + timedelta(days=2), "Europe/London", 6, READER)]
    assert said == ["28 Mar", "12:00", "29 Mar", "12:00"]


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(seconds=20), "20 s"), (timedelta(minutes=31, seconds=-2), "31 min"),
        (timedelta(minutes=40), "40 min"),
        (timedelta(hours=23), "23 h"), (timedelta(days=12, hours=3), "12 days"),
    ],
)  # fmt: skip
def test_how_long_is_said_in_one_unit(length: timedelta, said: str) -> None:
    assert length_of(length) == said


def claim(read_after: timedelta, status: RedemptionStatus, **more: Any) -> Redemption:
    """A redemption of 40 minutes, with a page of 31."""
    known: dict[str, Any] = {
        "id": ID, "code": "NORTH", "counts_with": 1, "period": "2026-27", "status": status, "buyer": "a",
        "reserved_at": BEGIN, "expires_at": BEGIN + timedelta(minutes=40), "attempt": 1, "session_id": "cs_1",
        "session_url": None, "session_expires_at": BEGIN + timedelta(minutes=31), "former_sessions": (),
        "completed_at": None, "released_at": None, "release_reason": None, "refunded_at": None, "over_cap": False,
        "read_at": BEGIN + read_after, "pending_at": None, "attached_at": BEGIN,
    }  # fmt: skip
    return Redemption(**(known | more))


def step(minutes: float, kind: str, **more: Any) -> Step:
    """A moment, so long after the beginning."""
    known: dict[str, Any] = {"lapsed_at": None, "over_cap": False, "session_id": None, "attached_at": None}
    return Step(at=BEGIN + timedelta(minutes=minutes), kind=kind, **(known | more))


def after(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def test_thirty_one_within_forty() -> None:
    """On one axis: the page's outline is as much shorter than the hold's as the time is."""
    picture = timeline_picture(
        claim(timedelta(minutes=10), RedemptionStatus.RESERVED), [step(0, "reserved")], "Europe/London", READER
    )
    assert picture.spare == timedelta(minutes=9)
    for drawing in picture.drawings:
        hold, page = (bar for bar in drawing.bars if bar.kind == "whole")
        assert page.width / hold.width == pytest.approx(31 / 40)
        assert page.x == hold.x
        assert [bar.width / hold.width for bar in drawing.bars if bar.kind == "held"] == [pytest.approx(10 / 40)]
        assert not drawing.breaks


def test_a_lapsed_hold_is_told_apart() -> None:
    """Until it is taken back; and paid late it is a place again, with nothing in between."""
    steps = [step(0, "reserved"), step(70, "released", lapsed_at=after(40)), step(95, "completed_late", over_cap=True)]
    told = timeline_picture(
        claim(timedelta(days=9), RedemptionStatus.COMPLETED, released_at=after(70), completed_at=after(95)),
        steps,
        "Europe/London",
        READER,
    )
    assert [(part.kind, part.since, part.until) for part in told.place] == [
        ("held", after(0), after(40)), ("lapsed", after(40), after(70)), ("completed", after(95), after(9 * 24 * 60)),
    ]  # fmt: skip
    assert [len(drawing.breaks) for drawing in told.drawings] == [1, 1]
    assert "paid late, over the cap" in [one.word for one in told.moments]


def test_a_former_page_that_was_paid() -> None:
    """Its own time is drawn as its own, and that of the page which came after it too."""
    steps = [
        step(0, "reserved"),
        step(20, "renewed", session_id="cs_1", attached_at=after(1)),
        step(25, "completed"),
    ]
    told = timeline_picture(
        claim(
            timedelta(minutes=30), RedemptionStatus.COMPLETED, attempt=2, former_sessions=("cs_2",),
            completed_at=after(25), attached_at=after(21), expires_at=after(60),
        ),
        steps, "Europe/London", READER,
    )  # fmt: skip
    assert [(part.since, part.until) for part in told.pages] == [(after(1), after(25)), (after(21), after(25))]
    rows = {bar.y for bar in told.drawings[0].bars if bar.kind == "page"}
    assert len(rows) == 2


def test_what_was_not_kept_is_not_drawn() -> None:
    """Of before there were steps: a page that counts has no beginning, and it is said."""
    told = timeline_picture(
        claim(timedelta(days=1), RedemptionStatus.COMPLETED, attached_at=None, completed_at=after(5)),
        [step(0, "reserved"), step(5, "completed")],
        "Europe/London",
        READER,
    )
    assert (told.pages, told.page, told.unknown) == ((), None, 1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["renewed", "pending", "completed", "released"]), LENGTHS), max_size=7))
def test_no_words_of_a_timeline_overlap(story: list[tuple[str, timedelta]]) -> None:
    at, steps = BEGIN, [step(0, "reserved")]
    for kind, length in story:
        at += length
        steps.append(Step(at, kind, None, False, None, None))
    told = timeline_picture(
        claim(at - BEGIN + timedelta(minutes=1), RedemptionStatus.RESERVED, expires_at=at + timedelta(minutes=40)),
        steps,
        "Europe/London",
        READER,
    )
    for drawing in told.drawings:
        rows: dict[float, list[tuple[float, str]]] = {}
        for one in drawing.labels:
            start = one.text.at - (wide(one.text.label) if one.text.anchor == "end" else 0)
            rows.setdefault(one.y, []).append((max(start, 0), one.text.label))
        for words in rows.values():
            apart(words, drawing.width + 10)
        assert all(bar.x >= 0 and bar.x + bar.width <= drawing.width for bar in drawing.bars)
        # The last comes first; and what was later is never drawn before what was earlier.
        assert [one.line for one in drawing.labels] == sorted((one.line for one in drawing.labels), reverse=True)
