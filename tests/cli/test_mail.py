"""`counterfoil mail test` and `counterfoil portal-link`: what they send, print, and say when they cannot."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from tests.support.commands import Said
from tests.support.postal import Post, post_office
from tests.support.serving import Service

from counterfoil import mail
from counterfoil.hosts.psycopg import Psycopg

Run = Callable[..., Said]
FROM = "Northgate Practice <places@shop.example>"


@pytest.fixture
def post() -> Iterator[Post]:
    with post_office() as post:
        yield post


class TestMail:
    def test_one_mail_is_sent(self, run: Run, post: Post) -> None:
        said = run("mail", "test", "me@shop.example", COUNTERFOIL_SMTP_URL=post.url, COUNTERFOIL_MAIL_FROM=FROM)
        assert (said.code, said.out) == (0, "the server took a mail for me@shop.example\n")
        [sent] = post.mails
        assert (sent["To"], "Grüße" in sent.get_content()) == ("me@shop.example", True)

    def test_no_server_is_named(self, run: Run) -> None:
        said = run("mail", "test", "me@shop.example")
        assert said.code == 2
        assert "COUNTERFOIL_SMTP_URL is not set" in said.err

    def test_no_server_is_there(self, run: Run) -> None:
        more = {"COUNTERFOIL_SMTP_URL": "smtp://me:hidden@127.0.0.1:9", "COUNTERFOIL_MAIL_FROM": FROM}
        said = run("mail", "test", "me@shop.example", **more)
        assert (said.code, len(said.err.splitlines())) == (1, 1)
        assert "check COUNTERFOIL_SMTP_URL" in said.err
        assert "hidden" not in said.err

    def test_the_address_is_refused(self, run: Run, post: Post) -> None:
        post.says = lambda _: "550 no such user"
        said = run("mail", "test", "me@shop.example", COUNTERFOIL_SMTP_URL=post.url, COUNTERFOIL_MAIL_FROM=FROM)
        assert said.code == 1
        assert "550" in said.err

    def test_what_is_no_address(self, run: Run) -> None:
        assert run("mail", "test", "nobody").code == 2


class TestPortalLink:
    def test_it_opens_the_page(self, run: Run, service: Service) -> None:
        service.code()
        said = run("portal-link", "northfold", COUNTERFOIL_PUBLIC_URL=service.url)
        assert said.code == 0
        with httpx.Client(trust_env=False) as browser:
            assert browser.post(said.out.strip()).status_code == 303
            assert "NORTH-26" in browser.get(f"{service.url}/portal").text

    def test_it_is_mailed(self, run: Run, service: Service, host: Psycopg) -> None:
        service.code()
        said = run("portal-link", "northfold", "--email", "ada@northfold.example", "--json")
        [written] = host.run(mail.mails())
        assert (written.recipient, written.link) == ("ada@northfold.example", said.data["url"])
        assert said.data["institution"] == "northfold"

    def test_there_is_no_such_institution(self, run: Run, database: str) -> None:
        said = run("portal-link", "nowhere")
        assert (said.code, said.out, len(said.err.splitlines())) == (1, "", 1)
