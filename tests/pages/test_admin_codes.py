"""Many codes, files of codes, and a code that leaked: in a real browser, with script and without."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.pages.conftest import Visitor
from tests.pages.test_admin_numbers import signed_in
from tests.support.serving import Service

from counterfoil.demo.sample import ROOMY
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.service.roles import Role

SCHOOL = "/admin/institutions/harrow-hill"


@pytest.fixture(params=["with script", "without"])
def staff(request: pytest.FixtureRequest, shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody of the staff, with script on or off."""
    on = request.param == "with script"
    yield from signed_in(chrome, shop_front, host, Role.STAFF, java_script_enabled=on)


@pytest.fixture
def scripted(shop_front: Service, chrome: Browser, host: Psycopg) -> Iterator[Visitor]:
    """Somebody of the staff, with script."""
    yield from signed_in(chrome, shop_front, host, Role.STAFF)


def test_the_pages(scripted: Visitor, tmp_path: Path) -> None:
    """As everybody sees them: forms, what is wrong in them, and what came of them."""
    page = scripted.go(f"/admin/codes/{ROOMY}/replace")
    scripted.heading(f"Replace {ROOMY}")
    scripted.walk("admin-replace")
    page = scripted.go(f"{SCHOOL}/new-codes")
    scripted.heading("Make many codes")
    scripted.walk()
    page.get_by_label("How many").fill("25")
    page.get_by_label("What all of them begin with").fill("HARROW")
    page.get_by_label("How much").fill("30")
    page.get_by_role("button", name="Make them").click()
    scripted.heading("25 codes were made")
    scripted.walk("admin-batch")
    page = scripted.go(f"{SCHOOL}/import")
    scripted.heading("Import codes")
    scripted.walk()
    file = tmp_path / "codes.csv"
    file.write_text(f"code,cap,percent\nAUTUMN-1,40,50\nAUTUMN-2,none,25\n{ROOMY},5,10\nAUTUMN-3,,50\nautumn 1,5,50\n")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Look at it").click()
    scripted.heading("What becomes of the file")
    # Its address, asked for anew, is the form: so not once more without script.
    scripted.walk("admin-import", again=False)


def test_a_leaked_code_is_replaced(staff: Visitor) -> None:
    page = staff.go(f"/admin/codes/{ROOMY}")
    page.get_by_role("link", name="Replace", exact=True).click()
    page.get_by_label("The new code").fill(ROOMY.lower())
    page.get_by_role("button", name="Replace it").click()
    staff.says("There is a code that reads the same")
    page.get_by_label("The new code").fill("SAFER-CODE")
    page.get_by_role("button", name="Replace it").click()
    staff.says("The code was replaced.")
    staff.heading("SAFER-CODE")
    page = staff.go(f"/admin/codes/{ROOMY}")
    staff.says("It was replaced by SAFER-CODE")
    assert page.get_by_role("button", name=re.compile("Resume|Pause")).count() == 0


def test_a_file_is_looked_at_and_then_added(staff: Visitor, tmp_path: Path) -> None:
    page = staff.go(SCHOOL)
    page.get_by_role("link", name="Import codes").click()
    file = tmp_path / "codes.csv"
    file.write_text('code,cap\nAUTUMN-1,40\n"AUTUMN ""2""",0\nAUTUMN-3,\n')
    page.get_by_label("File").set_input_files(file)
    page.get_by_label("Per cent off").fill("20")
    page.get_by_role("button", name="Look at it").click()
    staff.says("2 codes are new, 0 are there already, 1 line is bad.")
    page.get_by_role("button", name="Add 2 codes").click()
    staff.says("Nothing was added: there are bad lines.")
    page.get_by_label("Leave the bad lines out, and add the others").check()
    page.get_by_role("button", name="Add 2 codes").click()
    staff.says("The codes of the file were added")
    staff.says('AUTUMN "2"')


def test_many_are_made_and_downloaded(staff: Visitor) -> None:
    page = staff.go(f"{SCHOOL}/new-codes")
    page.get_by_label("How many").fill("3")
    page.get_by_label("Pattern").fill("XXXX")
    page.get_by_label("How much").fill("20")
    page.get_by_role("button", name="Make them").click()
    staff.says("The pattern XXXX-XX would do.")
    page.get_by_label("Pattern").fill("XXXX-XX")
    page.get_by_role("button", name="Make them").click()
    staff.heading("3 codes were made")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download them (CSV)").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("institution,code,cap,percent")
    assert all(line.startswith("harrow-hill,") for line in lines[1:])
    assert len(lines) == 4
