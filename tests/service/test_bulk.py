"""Many codes at once, by the API."""

from typing import Any

import pytest
from tests.support.serving import Service

GOOD = {"institution": "northfold", "count": 3, "cap": 1, "discount": {"percent": 25}}


@pytest.fixture
def school(service: Service) -> Service:
    service.code()
    return service


def test_made_and_read_again(school: Service) -> None:
    made = school.post("/v1/codes/bulk", GOOD | {"prefix": "N", "pattern": "XXXX-XXXX"}, status=201)
    assert (made["count"], made["institution"], made["one_in"] > 1_000_000) == (3, "northfold", True)
    assert len(set(made["codes"])) == 3
    for code in made["codes"]:
        assert school.get(f"/v1/codes/{code}")["discount"] == {"percent": 25}
    assert school.open("a@school.test", made["codes"][0])["amount"] == 1500
    assert school.get(f"/v1/codes/batches/{made['id']}") == made


def test_once_for_one_idempotency_key(school: Service) -> None:
    sent = {"Idempotency-Key": "k"}
    first = school.post("/v1/codes/bulk", GOOD, status=201, **sent)
    again = school.client.post("/v1/codes/bulk", json=GOOD, headers=sent)
    assert (again.status_code, again.json(), again.headers["Idempotent-Replayed"]) == (201, first, "true")
    assert len(school.get("/v1/codes")["data"]) == 4


def test_what_could_be_guessed_is_refused_with_what_would_do(school: Service) -> None:
    said = school.post("/v1/codes/bulk", GOOD | {"pattern": "XXXX"}, status=422)
    assert (said["code"], said["codes"], said["existing"], said["pattern"]) == ("codes-too-dense", 3, 0, "XXXX-XX")
    made = school.post("/v1/codes/bulk", GOOD | {"pattern": said["pattern"]}, status=201)
    assert made["count"] == 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"count": 0}, "invalid-request"), ({"count": 5001}, "invalid-request"), ({"count": True}, "invalid-request"),
        ({"count": "3"}, "invalid-request"), ({"pattern": ""}, "invalid-request"),
        ({"pattern": "ABC"}, "invalid-request"),
        ({"pattern": "X" * 25}, "invalid-request"), ({"prefix": "a\x00b"}, "invalid-request"),
        ({"prefix": "N" * 60}, "invalid-request"), ({"code": "A"}, "invalid-request"),
        ({"institution": "nobody"}, "institution-unknown"), ({"products": ["nothing"]}, "product-unknown"),
        ({"counts_with": "NOBODYS"}, "code-unknown"), ({"discount": {}}, "invalid-request"),
        ({"starts_on": "2027-02-01", "ends_on": "2027-01-01"}, "invalid-request"),
    ],
)  # fmt: skip
def test_wrong(school: Service, change: dict[str, Any], code: str) -> None:
    assert school.post("/v1/codes/bulk", GOOD | change, status=422)["code"] == code
    assert len(school.get("/v1/codes")["data"]) == 1


@pytest.mark.parametrize("id", ["x", "00000000-0000-4000-8000-000000000000"])
def test_no_batch(school: Service, id: str) -> None:
    assert school.get(f"/v1/codes/batches/{id}", status=404)["code"] == "not-found"
