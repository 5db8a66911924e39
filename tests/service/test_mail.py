"""Mails: sent as they should be, at least once, again when it failed, given up where it is vain; links forgotten."""

from collections.abc import Iterator
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool
from tests.conftest import Clock
from tests.support.places import school
from tests.support.postal import Post, post_office
from tests.support.races import until
from tests.support.serving import ADMIN_KEY, Service, serving

from counterfoil import attention, mail, portal
from counterfoil.hosts.psycopg import AsyncPsycopg, Psycopg
from counterfoil.listening import listen
from counterfoil.mail import WAITS, Draft
from counterfoil.service.mailing import Mailer
from counterfoil.service.settings import load
from counterfoil.service.smtp import Smtp
from counterfoil.simulator import Running
from counterfoil.tokens import new_token

SENDER = "Northgate Practice <places@shop.example>"


@pytest.fixture
def post() -> Iterator[Post]:
    with post_office() as post:
        yield post


def settings(database: str, url: str | None) -> Any:
    return load(
        COUNTERFOIL_DATABASE_URL=database, COUNTERFOIL_SECRET_KEY="x" * 32, STRIPE_SECRET_KEY="sk_test_x",
        STRIPE_WEBHOOK_SECRET="whsec_x", COUNTERFOIL_SMTP_URL=url, COUNTERFOIL_MAIL_FROM=SENDER,
    )  # fmt: skip


async def look(database: str, url: str | None) -> list[str]:
    """One process looks once; how its attempts ended."""
    saw: list[str] = []
    pool: Any = AsyncConnectionPool(database, min_size=1, max_size=2, open=False, kwargs={"autocommit": True})
    async with pool:
        await Mailer(AsyncPsycopg(pool), settings(database, url), saw.append).look()
    return saw


def write(host: Psycopg, recipient: str = "office@northfold.example", link: str = "https://x.test/secret") -> None:
    """An invitation in the outbox."""
    draft = Draft("invitation", recipient, "Grüße", "Open\n\n{link}\n", link)
    made = host.run(portal.invite(institution=the_school(host), token=new_token(), email=recipient, mail=draft))
    assert made.outcome == "made"


def the_school(host: Psycopg) -> int:
    rows = host._source.execute("SELECT id FROM counterfoil.institution").fetchall()
    return rows[0][0] if rows else school(host).id


def the_only(host: Psycopg) -> mail.Mail:
    [one] = host.run(mail.mails())
    return one


async def test_it_is_plain_text_with_the_headers_of_a_program(
    host: Psycopg, database: str, post: Post, clock: Clock
) -> None:
    write(host)
    assert await look(database, post.url) == ["sent"]
    [sent] = post.mails
    assert sent.get_content_type() == "text/plain"
    assert sent["From"] == SENDER
    assert sent["To"] == "office@northfold.example"
    assert sent["Subject"] == "Grüße"
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent["Message-ID"].endswith("@shop.example>")
    assert parsedate_to_datetime(sent["Date"]).tzinfo is not None
    assert sent.get_content().replace("\r\n", "\n") == "Open\n\nhttps://x.test/secret\n"


async def test_a_link_is_forgotten_once_it_was_sent(
    host: Psycopg, database: str, post: Post, connection: psycopg.Connection[Any], clock: Clock
) -> None:
    write(host)
    assert the_only(host).link == "https://x.test/secret"
    await look(database, post.url)
    assert (the_only(host).status, the_only(host).link) == ("sent", None)
    row = connection.execute("SELECT m::text FROM counterfoil.mail AS m").fetchone()
    assert row is not None
    assert "secret" not in row[0]
    assert await look(database, post.url) == []


async def test_without_a_server_it_waits(host: Psycopg, database: str, clock: Clock) -> None:
    write(host)
    assert await look(database, None) == []
    assert (the_only(host).status, the_only(host).attempts) == ("waiting", 0)


async def test_a_server_that_is_down_is_tried_again_and_then_given_up(
    host: Psycopg, database: str, clock: Clock, connection: psycopg.Connection[Any]
) -> None:
    """And the seller hears of it."""
    write(host)
    connection.execute("UPDATE counterfoil.mail SET good_until = NULL")
    nobody = "smtp://127.0.0.1:9"
    for wait in WAITS:
        assert await look(database, nobody) == ["failed"]
        assert await look(database, nobody) == []
        clock.advance(seconds=wait.total_seconds() + 1)
    assert await look(database, nobody) == ["given_up"]
    assert (the_only(host).status, the_only(host).link) == ("given up", None)
    [matter] = host.run(attention.matters(kind="mail-failing"))
    assert "office@northfold.example" in matter.sentence
    assert "(no " not in matter.sentence + matter.mend


async def test_an_address_that_is_refused_is_not_tried_again(
    host: Psycopg, database: str, post: Post, clock: Clock
) -> None:
    post.says = lambda address: "550 no such user" if address.startswith("gone") else None
    write(host, "gone@northfold.example")
    write(host, "here@northfold.example")
    assert sorted(await look(database, post.url)) == ["given_up", "sent"]
    assert [one["To"] for one in post.mails] == ["here@northfold.example"]


async def test_an_address_that_is_put_off_is_tried_again(
    host: Psycopg, database: str, post: Post, clock: Clock
) -> None:
    post.says = lambda _: "451 later"
    write(host)
    assert await look(database, post.url) == ["failed"]
    post.says = lambda _: None
    clock.advance(seconds=11)
    assert await look(database, post.url) == ["sent"]


async def test_a_mail_whose_link_is_over_is_not_sent(host: Psycopg, database: str, post: Post, clock: Clock) -> None:
    write(host)
    clock.advance(days=8)
    assert await look(database, post.url) == []
    assert (the_only(host).status, the_only(host).link, post.mails) == ("given up", None, [])


def test_what_one_process_is_at_another_leaves(host: Psycopg, database: str, clock: Clock) -> None:
    """Until its lease is over: a process that died has not lost it."""
    write(host)
    with psycopg.connect(database, autocommit=True) as other:
        assert len(host.run(mail.claim(most=5))) == 1
        assert Psycopg(other).run(mail.claim(most=5)) == []
        clock.advance(minutes=6)
        assert len(Psycopg(other).run(mail.claim(most=5))) == 1


def test_a_failure_of_an_older_attempt_is_not_heard(host: Psycopg, clock: Clock) -> None:
    write(host)
    [first] = host.run(mail.claim(most=1))
    clock.advance(minutes=6)
    [second] = host.run(mail.claim(most=1))
    assert host.run(mail.close(mail=first, error="late")) is False
    host.run(mail.close(mail=second, error=None))
    assert the_only(host).status == "sent"


@pytest.mark.parametrize(
    "wrong", ["", "a", "a@b", "a b@c.test", "a@c.test\nBcc: x@y.test", "ä@c.test", "@c.test", "a@.test"]
)
def test_what_is_no_address(wrong: str) -> None:
    with pytest.raises(ValueError, match="address"):
        mail.check_address(wrong)


def test_a_subject_cannot_carry_a_header() -> None:
    with pytest.raises(ValueError):
        Smtp("smtp://127.0.0.1", SENDER).message("a@b.test", "x\nBcc: y@z.test", "")


def test_the_outbox_shows_links_only_where_nothing_sends_them(
    service: Service, host: Psycopg, simulator: Running, database: str, post: Post
) -> None:
    write(host)
    more = {"COUNTERFOIL_SMTP_URL": post.url, "COUNTERFOIL_MAIL_FROM": SENDER}
    with serving(database, simulator, **more) as sending:
        for one, shown in ((service, True), (sending, False)):
            with httpx.Client(base_url=one.url, headers={"Accept": "text/html"}, trust_env=False) as browser:
                assert browser.get("/admin/outbox").status_code == 303
                browser.post("/admin/sign-in", data={"key": ADMIN_KEY})
                said = browser.get("/admin/outbox").text
            assert "office@northfold.example" in said
            assert ("https://x.test/secret" in said) is shown


def test_a_service_sends_by_itself(database: str, simulator: Running, host: Psycopg, post: Post) -> None:
    more = {"COUNTERFOIL_SMTP_URL": post.url, "COUNTERFOIL_MAIL_FROM": SENDER, "COUNTERFOIL_MAIL_INTERVAL": "1s"}
    with serving(database, simulator, **more) as service:
        write(host)
        until(lambda: len(post.mails) == 1)
        until(lambda: 'counterfoil_mails_total{result="sent"} 1.0' in service.client.get("/metrics").text)


def test_the_lease_is_longer_than_what_is_taken_on_can_last() -> None:
    from counterfoil.service import mailing, smtp

    # Connecting, greeting, STARTTLS, signing in, sender, recipient, text, and leaving.
    assert timedelta(seconds=mailing.AT_ONCE * smtp.TIMEOUT * 5) < mail.LEASE
    assert timedelta(seconds=mailing.AT_ONCE * mailing._LONGEST) < mail.LEASE


async def test_a_mail_has_a_longest_time(
    host: Psycopg, database: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However its server keeps it waiting, inside the times of the single steps; it is tried again."""
    monkeypatch.setattr("counterfoil.service.mailing._LONGEST", 0.2)
    write(host)
    with listen("127.0.0.1") as silent:
        assert await look(database, f"smtp://127.0.0.1:{silent.getsockname()[1]}") == ["failed"]
    one = the_only(host)
    assert (one.status, one.last_error) == ("waiting", "TimeoutError: ")
