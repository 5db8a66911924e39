"""Each command: what it answers, and its exit code: 0 fine, 1 what was asked about is not, 2 wrong use."""

import csv
import io
from collections.abc import Callable

import pytest
import stripe as stripe_sdk
from tests.support.commands import SETTINGS, Said, command
from tests.support.serving import Service

from counterfoil import verbs
from counterfoil.cli import COMMANDS
from counterfoil.hosts.psycopg import Psycopg
from counterfoil.settlement import EVENTS
from counterfoil.simulator import Fault, Running

Run = Callable[..., Said]

GROUPS = {
    "institution": ("add", "list", "show", "change"),
    "code": ("add", "list", "show", "pause", "resume", "replace", "bulk", "export", "import"),
    "cap": ("set", "move"),
    "period": ("add", "list", "remove", "calendar"),
    "buyer": ("show",),
    "key": ("create", "list", "revoke"),
    "account": ("add", "list", "disable", "enable", "password"),
    "attention": ("resolve",),
    "webhook": ("create",),
    "mail": ("test",),
    "simulator": ("advance",),
}
ALL = [(name,) for name in COMMANDS] + [(group, one) for group, several in GROUPS.items() for one in several]


@pytest.fixture
def school(run: Run) -> Run:
    """A school with a code for two."""
    assert run("institution", "add", "Northfold", "--zone", "Europe/London").code == 0
    assert run("code", "add", "NORTH-26", "--institution", "northfold", "--cap", "2", "--percent", "50").code == 0
    return run


def one_line(said: Said, code: int, *parts: str) -> None:
    """An error: one line on stderr, with these parts; nothing on stdout."""
    assert (said.code, said.out) == (code, ""), said
    lines = [line for line in said.err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, said.err
    for part in parts:
        assert part in lines[0], lines[0]


class TestHelp:
    @pytest.mark.parametrize("path", ALL, ids=" ".join)
    def test_each_has_an_example(self, run: Run, path: tuple[str, ...]) -> None:
        for flag in ("--help", "-h"):
            said = run(*path, flag)
            assert said.code == 0
            assert f"Example: counterfoil {path[0]}" in said.out

    def test_the_list(self, run: Run) -> None:
        said = run("--help")
        assert said.code == 0
        for name in COMMANDS:
            assert f"  {name} " in said.out

    def test_python_m_is_the_same(self) -> None:
        said = command("--version")
        assert (said.code, said.err) == (0, "")
        assert said.out.startswith("counterfoil, version ")

    @pytest.mark.parametrize("wrong", [("nonsense",), ("usage", "--nonsense"), ("code",), ("cap", "set"), ("key", "x")])
    def test_wrong_use(self, run: Run, wrong: tuple[str, ...]) -> None:
        said = run(*wrong)
        assert (said.code, said.out) == (2, "")
        assert said.err


class TestReaching:
    def test_no_database_is_named(self, run: Run) -> None:
        one_line(run("usage", COUNTERFOIL_DATABASE_URL=""), 2, "COUNTERFOIL_DATABASE_URL is not set", "--embedded")

    @pytest.mark.parametrize("name", ["usage", "migrate", "serve"])
    def test_no_database_is_there(self, run: Run, name: str) -> None:
        said = run(name, COUNTERFOIL_DATABASE_URL="postgresql://u@127.0.0.1:9/none", **SETTINGS)
        assert said.code == 1
        assert "COUNTERFOIL_DATABASE_URL" in said.err

    def test_what_is_no_url(self, run: Run) -> None:
        said = run("usage", COUNTERFOIL_DATABASE_URL="nonsense")
        assert said.code in (1, 2)
        assert "COUNTERFOIL_DATABASE_URL" in said.err

    def test_no_schema(self, run: Run, scratch_database: str) -> None:
        one_line(run("usage", COUNTERFOIL_DATABASE_URL=scratch_database), 1, "counterfoil migrate")


class TestInstitutions:
    def test_added_listed_shown(self, run: Run) -> None:
        made = run(
            "institution", "add", "Lycée du Parc", "--zone", "Europe/Paris", "--year-start", "08-25", "--json"
        ).data
        assert (made["slug"], made["time_zone"], made["year_start"]) == ("lycee-du-parc", "Europe/Paris", "08-25")
        assert run("institution", "list", "--json").data == [made]
        assert run("institution", "show", "lycee-du-parc", "--json").data == made
        assert "Lycée du Parc" in run("institution", "list").out
        one_line(run("institution", "add", "Lycee du Parc", "--zone", "Europe/Paris"), 1, "slug")
        one_line(run("institution", "show", "nobody"), 1, "nobody")

    @pytest.mark.parametrize(
        "arguments",
        [
            ("N",), ("N", "--zone", "London"), ("N", "--zone", "Europe/London", "--year-start", "9-1"),
            ("!!!", "--zone", "Europe/London"), ("N", "--zone", "Europe/London", "--slug", "A b"),
            ("", "--zone", "Europe/London"),
        ],
    )  # fmt: skip
    def test_wrong(self, run: Run, arguments: tuple[str, ...]) -> None:
        said = run("institution", "add", *arguments)
        assert (said.code, said.out) == (2, "")
        assert run("institution", "list", "--json").data == []


class TestCodes:
    def test_added_listed_shown(self, school: Run) -> None:
        made = school(
            "code", "add", "SUMMER", "--institution", "northfold", "--cap", "none", "--price", "1500",
            "--currency", "gbp", "--calendar", "month", "--per-buyer", "none", "--starts-on", "2026-06-01",
            "--ends-on", "2026-08-31", "--refunds", "return", "--counts-with", "north26", "--json",
        ).data  # fmt: skip
        assert (made["cap"], made["discount"]) == (None, {"price": 1500, "currency": "gbp"})
        assert (made["starts_on"], made["ends_on"], made["refund_policy"]) == ("2026-06-01", "2026-08-31", "return")
        assert (made["per_buyer_limit"], made["counts_with"]) == (None, "NORTH-26")
        assert [one["code"] for one in school("code", "list", "--json").data] == ["SUMMER", "NORTH-26"]
        assert len(school("code", "list", "--institution", "northfold", "--json").data) == 2
        assert school("code", "show", "s u m m e r", "--json").data == made
        one_line(school("code", "show", "nothing"), 1, "nothing")
        one_line(
            school("code", "add", "north 26", "--institution", "northfold", "--cap", "1", "--percent", "5"), 1, "same"
        )

    def test_paused_and_resumed(self, school: Run) -> None:
        assert school("code", "pause", "north-26").code == 0
        assert school("code", "show", "NORTH-26", "--json").data["paused"] is True
        assert school("code", "resume", "north-26").code == 0
        assert school("code", "show", "NORTH-26", "--json").data["paused"] is False
        one_line(school("code", "pause", "nothing"), 1, "nothing")

    @pytest.mark.parametrize(
        "arguments",
        [
            (), ("--percent", "50", "--price", "5", "--currency", "gbp"), ("--percent", "0"), ("--percent", "101"),
            ("--percent", "x"), ("--percent", "nan"), ("--percent", "Infinity"), ("--percent", "33.333"),
            ("--percent", "50", "--currency", "gbp"), ("--price", "5"), ("--amount-off", "5"),
            ("--amount-off", "-5", "--currency", "gbp"), ("--price", "5", "--currency", "POUNDS"),
            ("--percent", "50", "--cap", "-1"), ("--percent", "50", "--cap", "1.5"), ("--percent", "50", "--cap", ""),
            ("--percent", "50", "--cap", "1000000001"), ("--percent", "50", "--per-buyer", "0"),
            ("--percent", "50", "--starts-on", "soon"), ("--percent", "50", "--calendar", "weekly"),
            ("--percent", "50", "--starts-on", "2027-01-01", "--ends-on", "2026-01-01"),
        ],
    )  # fmt: skip
    def test_wrong(self, school: Run, arguments: tuple[str, ...]) -> None:
        given = arguments if "--cap" in arguments else (*arguments, "--cap", "5")
        said = school("code", "add", "OTHER", "--institution", "northfold", *given)
        assert (said.code, said.out) == (2, ""), said
        assert len(school("code", "list", "--json").data) == 1

    def test_what_is_not_there(self, school: Run) -> None:
        given = ("--cap", "1", "--percent", "5")
        one_line(school("code", "add", "X1", "--institution", "nobody", *given), 1, "nobody")
        one_line(
            school("code", "add", "X1", "--institution", "northfold", "--product", "nothing", *given), 1, "nothing"
        )


class TestCaps:
    def test_set_and_used(self, school: Run) -> None:
        period = school("code", "show", "NORTH-26", "--json").data["period"]
        usage = school("cap", "set", "north26", period, "5", "--note", "asked for", "--json").data
        assert (usage["cap"], usage["remaining"], usage["note"]) == (5, 5, "asked for")
        assert school("cap", "set", "north26", "2031-32", "none", "--json").data["cap"] is None
        rows = school("usage", "--json").data
        assert [(one["code"], one["period"], one["cap"]) for one in rows] == [("NORTH-26", period, 5)]
        assert school("usage", "north26", "--period", "2031-32", "--json").data["cap"] is None
        table = list(csv.DictReader(io.StringIO(school("usage", "--csv").out)))
        assert (table[0]["code"], table[0]["cap"], table[0]["held"]) == ("NORTH-26", "5", "0")
        assert "NORTH-26" in school("usage").out

    @pytest.mark.parametrize("period", ["2026", "2026-28", "now"])
    def test_no_period(self, school: Run, period: str) -> None:
        one_line(school("cap", "set", "north26", period, "5"), 1, period)
        one_line(school("usage", "north26", "--period", period), 1, period)

    def test_below_what_is_used(self, school: Run, service: Service) -> None:
        service.post("/v1/products", {"id": "hub", "name": "Hub", "amount": 2000, "currency": "gbp"}, status=201)
        opened = service.open("a@school.test")
        period = opened["redemption"]["period"]
        one_line(school("cap", "set", "NORTH-26", period, "0"), 1, "--confirm")
        assert school("cap", "set", "NORTH-26", period, "0", "--confirm", "--json").data["held"] == 1

    def test_moved(self, school: Run) -> None:
        period = school("code", "show", "NORTH-26", "--json").data["period"]
        both = school("cap", "move", "north26", period, "2", "--to-period", "2031-32", "--note", "n", "--json").data
        assert [(one["period"], one["cap"], one["note"]) for one in both] == [(period, 0, "n"), ("2031-32", 4, "n")]
        one_line(school("cap", "move", "north26", period, "1", "--to-period", "2031-32"), 1, "0 places", "free")
        one_line(school("cap", "move", "north26", period, "1"), 1, "the same places")
        one_line(school("cap", "move", "north26", period, "0", "--to-period", "2031-32"), 2, "1<=x")


class TestPeriods:
    def test_with_names(self, school: Run) -> None:
        one_line(school("period", "add", "north26", "2027", "2027-01-11", "2027-04-02"), 2, "another calendar")
        one_line(school("period", "add", "north26", "Spring", "2027-04-03", "2027-04-02"), 2, "before the first")
        assert school("period", "add", "north26", "Spring", "2027-01-11", "2027-04-02").code == 0
        one_line(school("period", "add", "north26", "Other", "2027-04-02", "2027-04-09"), 1, "Spring has some")
        assert school("period", "calendar", "north26", "custom", "--json").data["calendar"] == "custom"
        assert [one["period"] for one in school("period", "list", "north26", "--json").data] == ["Spring"]
        assert school("cap", "set", "north26", "Spring", "9", "--json").data["cap"] == 9
        one_line(school("period", "remove", "north26", "Spring"), 1, "allocation")
        one_line(school("period", "remove", "north26", "Summer"), 1, "Summer")
        assert school("period", "add", "north26", "Summer", "2027-07-01", "2027-07-09").code == 0
        assert school("period", "remove", "north26", "Summer").code == 0

    def test_an_institution_with_another_year(self, school: Run) -> None:
        """Whose period is another one from then on is said."""
        period = school("code", "show", "NORTH-26", "--json").data["period"]
        said = school("institution", "change", "northfold", "--year-start", "12-31", "--json")
        now = school("code", "show", "NORTH-26", "--json").data["period"]
        assert said.data["year_start"] == "12-31"
        assert (f"no longer in {period}" in said.err) == (now != period)
        one_line(school("institution", "change", "northfold"), 2, "nothing to change")
        one_line(school("institution", "change", "nobody", "--name", "x"), 1, "nobody")


class TestRelease:
    def test_by_hand(self, school: Run, service: Service, simulator: Running) -> None:
        stripe = SETTINGS | {"STRIPE_API_BASE": simulator.base_url}
        service.post("/v1/products", {"id": "hub", "name": "Hub", "amount": 2000, "currency": "gbp"}, status=201)
        opened = service.open("a@school.test")
        done = school("release", opened["redemption"]["id"], "--json", **stripe).data
        assert (done["status"], done["release_reason"]) == ("released", "by_hand")
        assert simulator.session(opened["session_id"])["status"] == "expired"
        paid = service.open("b@school.test")
        simulator.pay(paid["session_id"])
        sold = school("release", paid["redemption"]["id"], "--json", **stripe)
        assert (sold.code, sold.data["status"]) == (1, "completed")
        assert "a sale cannot be un-sold" in sold.err
        one_line(school("release", "00000000-0000-4000-8000-000000000000", **stripe), 1, "no redemption")
        assert school("release", "x", **stripe).code == 2
        unset = school("release", paid["redemption"]["id"])
        assert (unset.code, "STRIPE_SECRET_KEY is not set" in unset.err) == (2, True)


class TestReturning:
    def test_what_cost_nothing_and_what_was_paid(
        self, school: Run, service: Service, database: str, simulator: Running
    ) -> None:
        stripe = SETTINGS | {"STRIPE_API_BASE": simulator.base_url}
        service.post("/v1/products", {"id": "hub", "name": "Hub", "amount": 2000, "currency": "gbp"}, status=201)
        service.code("GIFT", cap=1, discount={"percent": 100})
        held = service.open("a@school.test", "GIFT")
        not_yet = school("return", held["redemption"]["id"], "--json", **stripe)
        assert (not_yet.code, not_yet.data["status"]) == (1, "reserved")
        assert "counterfoil release" in not_yet.err
        simulator.pay(held["session_id"])
        for _ in range(2):
            done = school("return", held["redemption"]["id"], "--json", **stripe)
            assert (done.code, done.data["status"]) == (0, "refunded")
        paid = service.open("b@school.test")
        simulator.pay(paid["session_id"])
        sold = school("return", paid["redemption"]["id"], "--json", **stripe)
        assert (sold.code, sold.data["status"]) == (1, "completed")
        assert (
            "it was paid for: refund it at Stripe; the code's refund policy says what becomes of its place" in sold.err
        )
        one_line(school("return", "00000000-0000-4000-8000-000000000000", **stripe), 1, "no redemption")
        assert school("return", "x", **stripe).code == 2


class TestAttention:
    def test_nothing(self, run: Run) -> None:
        said = run("attention")
        assert (said.code, said.out) == (0, "nothing\n")
        assert run("attention", "--json").data == []

    def test_open_and_resolved(self, run: Run, host: Psycopg) -> None:
        host.run(verbs.raise_attention(kind="dispute", subject="pi_1", detail={"checkout": "c", "disputes": {}}))
        host.run(verbs.raise_attention(kind="new", subject="of a later version", detail={}))
        said = run("attention")
        assert said.code == 1
        assert "disputes payment pi_1" in said.out
        assert "new: of a later version." in said.out
        listed = run("attention", "--json")
        assert (listed.code, [one["kind"] for one in listed.data]) == (1, ["new", "dispute"])
        assert [one["kind"] for one in run("attention", "--kind", "new", "--json").data] == ["new"]
        for one in listed.data:
            assert run("attention", "resolve", one["id"], "--json").data["resolved_at"]
        assert run("attention").code == 0
        every = run("attention", "--all", "--json")
        assert (every.code, len(every.data)) == (0, 2)
        assert "resolved" in run("attention", "--all").out
        one_line(run("attention", "resolve", "999999"), 1, "no matter")
        assert run("attention", "resolve", "x").code == 2


class TestTheEndpointAtStripe:
    def test_made_and_heard(self, run: Run, simulator: Running, service: Service) -> None:
        """Without a secret, a database or a key of ours: it is what comes first."""
        stripe = {"STRIPE_SECRET_KEY": "sk_test_tests", "STRIPE_API_BASE": simulator.base_url}
        made = run("webhook", "create", COUNTERFOIL_PUBLIC_URL="https://shop.test/", **stripe)
        assert made.code == 0
        assert made.out.strip().startswith("whsec_")
        assert len(made.out.split()) == 1
        assert "sends to https://shop.test/webhooks/stripe" in made.err
        again = run("webhook", "create", "--url", "https://shop.test/webhooks/stripe", "--json", **stripe)
        assert again.data["enabled_events"] == list(EVENTS)
        assert again.data["api_version"] == stripe_sdk.api_version
        assert again.data["secret"].startswith("whsec_")
        assert "already by we_" in again.err

    def test_refused(self, run: Run, simulator: Running) -> None:
        stripe = {"STRIPE_SECRET_KEY": "sk_test_tests", "STRIPE_API_BASE": simulator.base_url}
        simulator.fail_next(Fault("refuse", "POST", "/v1/webhook_endpoints", status=500, times=2))
        one_line(run("webhook", "create", **stripe), 1, "Stripe did not make it")
        assert run("webhook", "create", "--url", "shop.test", **stripe).code == 2
        one_line(run("webhook", "create"), 2, "STRIPE_SECRET_KEY is not set")


class TestKeys:
    def test_created_listed_revoked(self, run: Run, service: Service) -> None:
        made = run("key", "create", "--name", "the shop", "--scope", "read", "--json").data
        assert made["secret"].startswith("cf_")
        bearer = {"Authorization": f"Bearer {made['secret']}"}
        assert service.client.get("/v1/codes", headers=bearer).status_code == 200
        listed = run("key", "list", "--json").data
        assert [(one["id"], one["name"], one["scope"]) for one in listed] == [(made["id"], "the shop", "read")]
        assert made["secret"] not in str(listed) + run("key", "list").out
        assert run("key", "revoke", made["id"]).code == 0
        assert service.client.get("/v1/codes", headers=bearer).status_code == 401
        one_line(run("key", "revoke", made["id"]), 1, "no key")
        one_line(run("key", "revoke", "999999"), 1, "no key")

    def test_the_secret_alone_is_on_stdout(self, run: Run) -> None:
        """So that it can be piped into a vault."""
        said = run("key", "create", "--name", "n", "--scope", "manage")
        assert said.out.strip().startswith("cf_")
        assert len(said.out.split()) == 1
        assert "not shown again" in said.err

    @pytest.mark.parametrize("arguments", [(), ("--name", "n"), ("--name", "n", "--scope", "all"), ("--scope", "read")])
    def test_wrong(self, run: Run, arguments: tuple[str, ...]) -> None:
        assert run("key", "create", *arguments).code == 2
        assert run("key", "list", "--json").data == []


class TestAPerson:
    """What is held about a buyer, and forgetting them."""

    @pytest.fixture
    def bought(self, service: Service, simulator: Running) -> Service:
        service.code()
        simulator.pay(service.open("ann@school.test")["session_id"])
        return service

    def test_what_is_held(self, bought: Service, run: Run) -> None:
        said = run("buyer", "show", "Ann@School.test", "--json")
        assert (said.code, said.data["addresses"], len(said.data["checkouts"])) == (0, ["ann@school.test"], 1)
        assert said.data == bought.get("/v1/buyers/ann@school.test") | {"buyer": "Ann@School.test"}
        assert "checkouts: 1" in run("buyer", "show", "ann@school.test").out
        assert "nothing is held about bob" in run("buyer", "show", "bob").out

    def test_forgetting(self, bought: Service, run: Run, simulator: Running) -> None:
        settings = SETTINGS | {"STRIPE_API_BASE": simulator.base_url}
        said = run("forget", "ann@school.test", **settings)
        assert (said.code, "1 redemptions, 1 checkouts" in said.out or "1 checkouts, 1 redemptions" in said.out) == (
            0,
            True,
        )
        assert "Stripe keeps pi_" in said.out
        assert bought.get("/v1/redemptions")["data"][0]["buyer"] == "(forgotten)"
        again = run("forget", "ann@school.test", "--json", **settings)
        assert (again.code, set(again.data["erased"].values())) == (0, {0})

    def test_who_is_still_buying(self, bought: Service, run: Run, simulator: Running) -> None:
        settings = SETTINGS | {"STRIPE_API_BASE": simulator.base_url}
        bought.open("bob")
        refused = run("forget", "bob", **settings)
        assert (refused.code, "--end-open" in refused.err) == (1, True)
        assert run("forget", "bob", "--end-open", **settings).code == 0
        assert bought.get("/v1/checkouts", buyer="bob")["data"] == []


def test_a_code_that_counts_by_mailboxes(school: Run) -> None:
    """The rule is given once; whoever counts with it has it, and no other."""
    more = ("--institution", "northfold", "--cap", "2", "--percent", "50")
    assert (
        school("code", "add", "STRICT", *more, "--buyer-identity", "mailbox", "--json").data["buyer_identity"]
        == "mailbox"
    )
    assert (
        school("code", "add", "BESIDE", *more, "--counts-with", "STRICT", "--json").data["buyer_identity"] == "mailbox"
    )
    refused = school("code", "add", "OTHER", *more, "--counts-with", "STRICT", "--buyer-identity", "address")
    assert (refused.code, "STRICT tells buyers apart by mailbox" in refused.err) == (1, True)
    assert school("code", "add", "OTHER", *more, "--buyer-identity", "name").code == 2
    assert school("code", "show", "NORTH-26", "--json").data["buyer_identity"] == "address"
