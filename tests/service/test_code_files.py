"""Many codes and files of codes, on the seller's pages; and the file by the API."""

import csv
import html
import io
import re

import httpx
import pytest
from tests.support.admin import SignIn, error_of, fields, text_of
from tests.support.serving import Service

from counterfoil.service.roles import Role

NEW = "/admin/institutions/northfold/new-codes"
IMPORT = "/admin/institutions/northfold/import"
#: A form that is right.
MANY = {
    "count": "3", "prefix": "NF", "pattern": "XXXX-XXXX", "cap": "1", "kind": "percent", "value": "20",
    "currency": "gbp", "per_buyer": "1", "starts_on": "", "ends_on": "", "refund_policy": "keep",
    "calendar": "academic_year", "counts_with": "",
}  # fmt: skip
GOOD = "code,cap,percent\nA-1,10,50\nB-2,none,25\n"


@pytest.fixture(autouse=True)
def _school(service: Service) -> None:
    service.code()


def bring(staff: httpx.Client, text: str | bytes, **more: str) -> httpx.Response:
    """Choose a file, and have it looked at."""
    data = text if isinstance(text, bytes) else text.encode()
    return staff.post(IMPORT, data=more, files={"file": ("codes.csv", data, "text/csv")})


def again(staff: httpx.Client, shown: httpx.Response, **more: str) -> httpx.Response:
    """Send the form that was shown with what became of it."""
    sent = fields(shown) | more
    return staff.post(IMPORT, data=sent, files={"none": ("", b"")})


class TestMany:
    def test_made(self, staff: httpx.Client, service: Service) -> None:
        """Shown with how hard they are to guess, and as a file that can be imported again."""
        assert fields(staff.get(NEW))["pattern"] == "XXXX-XXXX"
        said = staff.post(NEW, data=MANY)
        assert (said.status_code, said.headers["location"].startswith("/admin/batches/")) == (303, True)
        shown = text_of(staff.get(said.headers["location"]))
        assert "3 codes were made" in shown
        assert re.search(r"one try in 1,[34]\d\d,\d{3},\d{3}", shown)
        table = staff.get(f"{said.headers['location']}.csv")
        lines = list(csv.DictReader(io.StringIO(table.text)))
        assert 'filename="codes-northfold-' in table.headers["content-disposition"]
        assert [one["code"] in shown for one in lines] == [True] * 3
        assert service.open("a@school.test", lines[0]["code"])["amount"] == 1600

    @pytest.mark.parametrize(
        ("field", "typed", "word"),
        [
            ("count", {"count": "0"}, "whole number"), ("count", {"count": "5001"}, "whole number"),
            ("count", {"count": ""}, "whole number"), ("pattern", {"pattern": "AB"}, "no pattern"),
            ("pattern", {"pattern": "XXXX"}, "The pattern XXXX-XX would do"),
            ("prefix", {"prefix": "N" * 60}, "longer than 64"), ("value", {"value": "0"}, "percentage"),
            ("counts_with", {"counts_with": "NOBODYS"}, "NOBODYS"), ("cap", {"cap": ""}, "whole number"),
        ],
    )  # fmt: skip
    def test_wrong(self, staff: httpx.Client, service: Service, field: str, typed: dict[str, str], word: str) -> None:
        """Said beside the field; nothing is made, and all that was typed is there."""
        said = staff.post(NEW, data=MANY | typed)
        assert said.status_code == 422
        assert word in error_of(said, field)
        offered = fields(said)
        for name in ("count", "prefix", "pattern", "cap", "value", "counts_with"):
            assert offered[name] == (MANY | typed)[name]
        assert len(service.get("/v1/codes")["data"]) == 1

    @pytest.mark.parametrize("id", ["x", "00000000-0000-4000-8000-000000000000"])
    def test_none_of_this_address(self, staff: httpx.Client, id: str) -> None:
        assert staff.get(f"/admin/batches/{id}").status_code == 404
        assert staff.get(f"/admin/batches/{id}.csv").status_code == 404


class TestAFile:
    def test_looked_at_and_then_added(self, staff: httpx.Client, service: Service) -> None:
        shown = bring(staff, GOOD)
        assert shown.status_code == 200
        assert "2 codes are new, 0 are there already, 0 lines are bad. Nothing was added yet." in text_of(shown)
        assert "50 % off; 10 places in each academic year; once per buyer" in text_of(shown)
        assert len(service.get("/v1/codes")["data"]) == 1
        said = again(staff, shown)
        assert (said.status_code, said.headers["location"]) == (
            303, "/admin/institutions/northfold?told=codes-imported"
        )  # fmt: skip
        assert "were added" in staff.get(said.headers["location"]).text
        assert service.get("/v1/codes/B2")["cap"] is None
        assert "there already" in text_of(bring(staff, GOOD))

    def test_bad_lines_stop_it_unless_they_are_left_out(self, staff: httpx.Client, service: Service) -> None:
        shown = bring(staff, GOOD + "C-3,,50\n")
        assert "1 line is bad" in text_of(shown)
        assert text_of(shown).index("the cap is empty") < text_of(shown).index("10 places")
        refused = again(staff, shown)
        assert (refused.status_code, "Nothing was added: there are bad lines." in text_of(refused)) == (409, True)
        assert len(service.get("/v1/codes")["data"]) == 1
        assert again(staff, refused, skip="yes").status_code == 303
        assert len(service.get("/v1/codes")["data"]) == 3

    def test_what_is_said_beside_it_goes_along(self, staff: httpx.Client, service: Service) -> None:
        header = "code,currency,amount_off,max_redemptions,times_redeemed"
        shown = bring(staff, f"{header}\nS1,gbp,500,5,5\n", amounts="minor", per_buyer_limit="2", calendar="month")
        assert "5.00 GBP off; 0 places in each month; 2 times per buyer; 5 of 5 were used before" in text_of(shown)
        assert again(staff, shown).status_code == 303
        made = service.get("/v1/codes/S1")
        assert (made["cap"], made["per_buyer_limit"], made["calendar"]) == (0, 2, "month")

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            (b"", "Choose a file"), (b"nothing\n", "names the columns"), (b"code\n\xff\n", "UTF-8"),
            (b"code,colour\nA,1\n", "'colour' is not known"), (b"code\n" + b"A" * 1_100_000, "larger than"),
        ],
        ids="nothing none latin unknown large".split(),
    )  # fmt: skip
    def test_what_is_no_table(self, staff: httpx.Client, text: bytes, word: str) -> None:
        said = bring(staff, text, cap="7", percent="12")
        assert said.status_code == 422
        assert word in error_of(said, "file")
        assert (fields(said)["cap"], fields(said)["percent"]) == ("7", "12")

    def test_nothing_was_chosen(self, staff: httpx.Client) -> None:
        assert "Choose a file" in error_of(staff.post(IMPORT, data={"cap": "7"}), "file")

    def test_too_large_for_the_door(self, staff: httpx.Client) -> None:
        assert bring(staff, b"x" * (4 * 1024 * 1024)).status_code == 413

    def test_a_large_one(self, staff: httpx.Client, service: Service) -> None:
        """More than other forms may send, and quotes and marks as they came."""
        text = "code,cap,percent\n" + "".join(f'"<b>&""{number:06}",1,50\n' for number in range(3000))
        shown = bring(staff, text.encode("utf-16"))
        assert "3,000 codes are new" in text_of(shown)
        assert "Of 3,000 lines these are 200" in text_of(shown)
        assert "<b>&" not in shown.text
        sent = {name: html.unescape(value) for name, value in fields(shown).items()}
        assert staff.post(IMPORT, data=sent, files={"none": ("", b"")}).status_code == 303
        assert service.get("/v1/codes/b002999")["code"] == '<b>&"002999'

    @pytest.mark.parametrize("typed", [{"format": "excel"}, {"amounts": "some"}])
    def test_no_choice_of_ours(self, staff: httpx.Client, typed: dict[str, str]) -> None:
        assert bring(staff, GOOD, **typed).status_code == 422

    def test_of_no_institution(self, staff: httpx.Client) -> None:
        for path in ("import", "new-codes"):
            assert staff.get(f"/admin/institutions/nobody/{path}").status_code == 404
            assert staff.post(f"/admin/institutions/nobody/{path}", data=MANY).status_code == 404
        assert staff.get("/admin/codes.csv?institution=nobody").status_code == 404

    def test_who_may_only_look(self, signed: SignIn, service: Service) -> None:
        looking = signed(Role.READ_ONLY)
        assert looking.post(NEW, data=MANY).status_code == 403
        assert bring(looking, GOOD).status_code == 403
        page = looking.get("/admin/institutions/northfold").text
        assert ("/import" in page, "/new-codes" in page, "/admin/codes.csv" in page) == (False, False, True)
        assert looking.get("/admin/codes.csv").status_code == 200
        assert len(service.get("/v1/codes")["data"]) == 1


def test_the_same_file_by_the_api(staff: httpx.Client, service: Service) -> None:
    service.post("/v1/institutions", {"name": "South", "time_zone": "Europe/London"}, status=201)
    service.code("S-1", institution="south", cap=None)
    service.post("/v1/codes/NORTH-26/replace", {"code": "=SAFE"}, status=201)
    for get, path in ((staff.get, "/admin/codes.csv"), (service.client.get, "/v1/codes.csv")):
        lines = list(csv.DictReader(io.StringIO(get(path).text)))
        assert [(one["institution"], one["code"], one["cap"]) for one in lines] == [
            ("south", "S-1", "none"), ("northfold", "'=SAFE", "2")
        ]  # fmt: skip
        assert len(get(f"{path}?institution=south").text.splitlines()) == 2
    assert service.get("/v1/codes.csv", institution="nobody", status=422)["code"] == "institution-unknown"
