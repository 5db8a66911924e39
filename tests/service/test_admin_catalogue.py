"""Institutions and products, added and changed by forms."""

from __future__ import annotations

import httpx
import pytest
from tests.support.admin import error_of, fields, text_of
from tests.support.serving import Service

from counterfoil.simulator import Running

SCHOOL = {"name": "Moorland Académy", "time_zone": "Europe/Dublin", "day": "1", "month": "8", "slug": ""}
PRODUCT = {
    "name": "Mock tests",
    "description": "Ten.",
    "amount": "29.00",
    "currency": "gbp",
    "unlocks": "a\n\n b \na",
    "id": "",
}


class TestInstitutions:
    def test_added(self, staff: httpx.Client, service: Service) -> None:
        said = staff.post("/admin/new-institution", data=SCHOOL)
        assert said.status_code == 303
        made = service.get("/v1/institutions")["data"][0]
        assert said.headers["location"] == f"/admin/institutions/{made['slug']}?told=institution-added"
        assert (made["name"], made["time_zone"], made["year_start"]) == ("Moorland Académy", "Europe/Dublin", "08-01")
        assert "Give it a code" in staff.get(said.headers["location"]).text

    @pytest.mark.parametrize(
        ("field", "typed"),
        [
            ("name", {"name": " "}),
            ("name", {"name": "x" * 300}),
            ("time_zone", {"time_zone": "Europe/Nowhere"}),
            ("start", {"day": "29", "month": "2"}),
            ("start", {"day": "31", "month": "4"}),
            ("start", {"day": "x"}),
            ("start", {"month": "13"}),
            ("slug", {"slug": "No Spaces"}),
            ("slug", {"name": "學校"}),
        ],
    )
    def test_bad_input(self, staff: httpx.Client, service: Service, field: str, typed: dict[str, str]) -> None:
        """Said beside the field; what was typed stays."""
        said = staff.post("/admin/new-institution", data=SCHOOL | typed)
        assert said.status_code == 422
        assert error_of(said, field)
        again = fields(said)
        for name, value in (SCHOOL | typed).items():
            if name != "month":
                assert again[name] == value, name
        assert service.get("/v1/institutions")["data"] == []

    def test_an_address_that_is_taken(self, staff: httpx.Client, service: Service) -> None:
        assert staff.post("/admin/new-institution", data=SCHOOL | {"slug": "moor"}).status_code == 303
        said = staff.post("/admin/new-institution", data=SCHOOL | {"slug": "moor"})
        assert (said.status_code, "moor" in error_of(said, "slug")) == (409, True)

    def test_another_name_and_nothing_else(self, staff: httpx.Client, service: Service) -> None:
        """Its calendar cut periods that were counted: there is no field for it, and what is sent is not read."""
        service.code()
        path = "/admin/institutions/northfold/edit"
        offered = fields(staff.get(path))
        assert set(offered) == {"name", "was"}
        sent = offered | {"name": "Northfold High", "time_zone": "UTC", "year_start": "01-01", "slug": "other"}
        assert (
            staff.post(path, data=sent).headers["location"] == "/admin/institutions/northfold?told=institution-renamed"
        )
        now = service.get("/v1/institutions")["data"][0]
        assert (now["name"], now["slug"], now["time_zone"], now["year_start"]) == (
            "Northfold High", "northfold", "Europe/London", "09-01"
        )  # fmt: skip

    def test_two_names_at_once(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        path = "/admin/institutions/northfold/edit"
        mine = fields(staff.get(path))
        staff.post(path, data=mine | {"name": "Theirs"})
        said = staff.post(path, data=mine | {"name": "Mine"})
        assert (said.status_code, "Theirs" in error_of(said, "name"), fields(said)["name"]) == (409, True, "Mine")
        assert service.get("/v1/institutions")["data"][0]["name"] == "Theirs"
        assert staff.post(path, data=fields(said)).status_code == 303
        assert service.get("/v1/institutions")["data"][0]["name"] == "Mine"


class TestProducts:
    def test_added(self, staff: httpx.Client, service: Service) -> None:
        said = staff.post("/admin/new-product", data=PRODUCT)
        assert (said.status_code, said.headers["location"]) == (303, "/admin/products?told=product-added")
        made = service.get("/v1/products")["data"][0]
        assert (made["id"], made["amount"], made["currency"]) == ("mock-tests", 2900, "gbp")
        assert made["unlocks"] == ["a", "b"]
        assert "£29.00" in staff.get("/admin/products").text

    @pytest.mark.parametrize(
        ("field", "typed"),
        [
            ("name", {"name": ""}),
            ("amount", {"amount": "x"}),
            ("amount", {"amount": "1.234"}),
            ("amount", {"amount": "0.10"}),
            ("amount", {"amount": "29,00"}),
            ("currency", {"currency": "xxx"}),
            ("unlocks", {"unlocks": "x" * 300}),
            ("unlocks", {"unlocks": "\n".join(str(number) for number in range(101))}),
            ("product-id", {"id": "No Spaces"}),
            ("product-id", {"name": "學"}),
        ],
    )
    def test_bad_input(self, staff: httpx.Client, service: Service, field: str, typed: dict[str, str]) -> None:
        said = staff.post("/admin/new-product", data=PRODUCT | typed)
        assert said.status_code == 422
        assert error_of(said, field)
        assert fields(said)["name"] == (PRODUCT | typed)["name"]
        assert fields(said)["amount"] == (PRODUCT | typed)["amount"]
        assert service.get("/v1/products")["data"] == []

    def test_for_nothing(self, staff: httpx.Client, service: Service) -> None:
        assert staff.post("/admin/new-product", data=PRODUCT | {"amount": "0"}).status_code == 303

    def test_an_id_that_is_taken(self, staff: httpx.Client, service: Service) -> None:
        staff.post("/admin/new-product", data=PRODUCT)
        said = staff.post("/admin/new-product", data=PRODUCT)
        assert (said.status_code, "mock-tests" in error_of(said, "product-id")) == (409, True)

    def test_a_change_moves_no_open_checkout(self, staff: httpx.Client, service: Service, simulator: Running) -> None:
        service.code()
        sale = service.open("a@school.test")
        offered = fields(staff.get("/admin/products/hub"))
        sent = offered | {"amount": "40", "description": "", "unlocks": "else"}
        assert (
            staff.post("/admin/products/hub", data=sent).headers["location"] == "/admin/products?told=product-changed"
        )
        simulator.pay(sale["session_id"])
        sold = service.get(f"/v1/checkouts/{sale['id']}")
        assert (sold["amount"], sold["status"]) == (1000, "paid")
        unlocked = service.get("/v1/entitlements", buyer="a@school.test")["data"]
        assert [one["unlock"] for one in unlocked] == ["hub"]
        assert service.open("b@school.test")["amount"] == 2000

    def test_two_people_at_once(self, staff: httpx.Client, service: Service) -> None:
        service.code()
        mine = fields(staff.get("/admin/products/hub")) | {"description": "", "unlocks": "hub"}
        assert staff.post("/admin/products/hub", data=mine | {"amount": "30"}).status_code == 303
        said = staff.post("/admin/products/hub", data=mine | {"name": "Mine"})
        assert said.status_code == 409
        assert "By now it is “Practice hub” for £30.00" in text_of(said)
        assert fields(said)["name"] == "Mine"
        assert service.get("/v1/products")["data"][0]["amount"] == 3000
        assert (
            staff.post("/admin/products/hub", data=fields(said) | {"description": "", "unlocks": "hub"}).status_code
            == 303
        )
        now = service.get("/v1/products")["data"][0]
        assert (now["name"], now["amount"]) == ("Mine", 2000)

    def test_there_is_none(self, staff: httpx.Client, service: Service) -> None:
        assert staff.get("/admin/products/nothing").status_code == 404
        assert staff.post("/admin/products/nothing", data=PRODUCT).status_code == 404

    def test_page_by_page(self, staff: httpx.Client, service: Service) -> None:
        for number in range(26):
            staff.post("/admin/new-product", data=PRODUCT | {"name": f"Product {number:02}"})
        first = staff.get("/admin/products").text
        assert ("Product 25" in first, "Product 00" in first, 'rel="next"' in first) == (True, False, True)
