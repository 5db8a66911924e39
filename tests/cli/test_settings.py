"""An impossible setting ends the program at start: exit 2, the variable, its value, the inequality, the mend."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.commands import SETTINGS, Said

Run = Callable[..., Said]


@pytest.mark.parametrize("name", ["serve", "doctor"])
class TestImpossible:
    @pytest.mark.parametrize("missing", list(SETTINGS))
    def test_missing(self, run: Run, name: str, missing: str) -> None:
        given = {variable: value for variable, value in SETTINGS.items() if variable != missing}
        said = run(name, **given)
        assert said.code == 2
        assert f"counterfoil: {missing} is not set" in said.err
        assert len(said.err.splitlines()) == 1

    @pytest.mark.parametrize(
        ("variable", "value", "parts"),
        [
            ("COUNTERFOIL_SESSION_TTL", "40m", ("40m", "COUNTERFOIL_RESERVATION_TTL")),
            ("COUNTERFOIL_SESSION_TTL", "2370", ("39m 30s", "COUNTERFOIL_RESERVATION_TTL")),
            ("COUNTERFOIL_RESERVATION_TTL", "31m", ("31m", "COUNTERFOIL_SESSION_TTL")),
            ("COUNTERFOIL_SESSION_TTL", "30m", ("30m", "COUNTERFOIL_STRIPE_FLOOR")),
            ("COUNTERFOIL_SESSION_TTL", "25h", ("1d 1h 30s < 1d", "1d 1h 1m <= 40m")),
            ("COUNTERFOIL_STRIPE_TIMEOUT", "60s", ("=1m,", "COUNTERFOIL_SESSION_TTL")),
            ("COUNTERFOIL_STRIPE_ATTEMPTS", "9", ("=9,", "COUNTERFOIL_SESSION_TTL")),
            ("COUNTERFOIL_ALLOWED_SKEW", "5m", ("5m", "COUNTERFOIL_SESSION_TTL")),
            ("COUNTERFOIL_STRIPE_FLOOR", "5m", ("5m", "30m")),
            ("COUNTERFOIL_SESSION_TTL", "soon", ("soon",)),
            ("COUNTERFOIL_SESSION_TTL", "-5m", ("-5m",)),
            ("COUNTERFOIL_SESSION_TTL", "31.5m", ("31.5m",)),
            ("COUNTERFOIL_LOCK_TIMEOUT", "0", ("0",)),
            ("COUNTERFOIL_STRIPE_ATTEMPTS", "0", ("0",)),
            ("COUNTERFOIL_STRIPE_ATTEMPTS", "two", ("two",)),
            ("COUNTERFOIL_PUBLIC_URL", "shop.test", ("shop.test",)),
            ("COUNTERFOIL_PUBLIC_URL", "https://shop.test/?a=b", ("https://shop.test/?a=b",)),
            ("COUNTERFOIL_STOREFRONT", "maybe", ("maybe",)),
            ("COUNTERFOIL_LOG", "loud", ("loud",)),
            ("COUNTERFOIL_TRUSTED_PROXIES", "everywhere", ("everywhere",)),
            ("COUNTERFOIL_DATABASE_POOL", "0", ("0",)),
            ("COUNTERFOIL_PAYMENT_METHODS", "card, Bacs Debit", ("=Bacs Debit", "bacs_debit")),
            ("COUNTERFOIL_PAYMENT_METHODS", ",", ("at least 1",)),
            ("STRIPE_API_BASE", "http://api.elsewhere.test", ("http://api.elsewhere.test", "https")),
            ("STRIPE_API_BASE", "nonsense", ("nonsense",)),
            ("COUNTERFOIL_DATABASE_URL", "nonsense", ("postgresql://",)),
            ("COUNTERFOIL_MAIL_FROM", "nobody", ("=nobody", "places@shop.example")),
            ("COUNTERFOIL_SELLER_MAIL", "nobody", ("=nobody", "name@school.example")),
            ("COUNTERFOIL_SELLER_NOTICES", "threshold,loud", ("=loud", "year_end")),
            ("COUNTERFOIL_SMTP_URL", "smtp://mail.example", ("COUNTERFOIL_MAIL_FROM is not set",)),
        ],
    )  # fmt: skip
    def test_the_line_says_all(self, run: Run, name: str, variable: str, value: str, parts: tuple[str, ...]) -> None:
        said = run(name, **SETTINGS | {variable: value})
        assert (said.code, said.out) == (2, "")
        assert variable in said.err
        for part in parts:
            assert part in said.err, said.err

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("COUNTERFOIL_SECRET_KEY", "short"), ("COUNTERFOIL_ADMIN_KEY", "short-too"),
            ("STRIPE_SECRET_KEY", "pk_test_this_is_public"), ("COUNTERFOIL_SMTP_URL", "http://me:hidden@mail.example"),
        ],
    )  # fmt: skip
    def test_secrets_are_not_repeated(self, run: Run, name: str, variable: str, value: str) -> None:
        said = run(name, **SETTINGS | {variable: value})
        assert said.code == 2
        assert variable in said.err
        assert value not in said.err

    def test_a_live_key_goes_to_stripe_alone(self, run: Run, name: str) -> None:
        said = run(name, **SETTINGS | {"STRIPE_SECRET_KEY": "sk_live_x", "STRIPE_API_BASE": "https://proxy.test"})
        assert said.code == 2
        assert "live key" in said.err
        assert "sk_live_x" not in said.err

    def test_all_that_is_wrong_is_said_at_once(self, run: Run, name: str) -> None:
        said = run(name)
        assert said.code == 2
        assert len(said.err.splitlines()) == len(SETTINGS)


def test_a_file_of_settings(run: Run, tmp_path: Path, database: str) -> None:
    """`.env` in the current folder; the environment beats it."""
    (tmp_path / ".env").write_text(f"COUNTERFOIL_DATABASE_URL={database}\n")
    assert run("institution", "list", "--json", COUNTERFOIL_DATABASE_URL="").data == []
    (tmp_path / ".env").write_text("COUNTERFOIL_DATABASE_URL=postgresql://nobody@127.0.0.1:9/none\n")
    assert run("institution", "list", COUNTERFOIL_DATABASE_URL="").code == 1
    assert run("institution", "list", "--json").data == []
