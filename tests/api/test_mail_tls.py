"""Mail goes out encrypted, to the server that is meant, or not at all: real servers and certificates."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import aiosmtplib
import pytest

from functions.auth.mailer import Mailer as AuthMailer
from functions.core.email import DELIVERY_ERRORS, SmtpServer, SmtpTls
from functions.core.errors import ApiError
from tests.api.test_auth_bounds import auth_settings
from tests.api.test_member_mail import Owner, leased, mailer_of
from tests.support.own_auth import MailServer
from tests.support.stack import Stack
from tests.support.tls_mail import Authority, TlsMailServer, serving

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority that the tests' system trusts."""
    return Authority.make(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def _trusting(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)


def message() -> EmailMessage:
    """Return an email."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@example.com", "secret@example.com", "Reset"
    made.set_content("https://example.org/verify?token=secret")
    return made


def deliver(server: MailServer, tls: SmtpTls, user: str = "") -> None:
    """Hand an email to the server, as both mailers do."""
    port = server.server_address[1]
    asyncio.run(SmtpServer(HERE, port, user, "secret" if user else "", 5, tls).send(message()))


@pytest.mark.parametrize("tls", ["", "starttls"])
def test_by_default_starttls_comes_before_everything(authority: Authority, tls: SmtpTls) -> None:
    server = TlsMailServer(authority.context(HERE))
    with serving(server):
        deliver(server, tls)
    assert [word.split()[0] for word in server.in_clear] == ["EHLO", "STARTTLS"]
    assert "RCPT TO:<secret@example.com>" in server.messages[0]


def test_implicit_tls_is_there_from_the_first_byte(authority: Authority) -> None:
    server = TlsMailServer(authority.context(HERE), implicit=True)
    with serving(server):
        deliver(server, "implicit")
    assert "RCPT TO:<secret@example.com>" in server.messages[0]


def test_without_tls_only_when_it_is_said(authority: Authority) -> None:
    server = TlsMailServer(authority.context(HERE), offers=False)
    with serving(server):
        deliver(server, "none")
    assert "RCPT TO:<secret@example.com>" in server.messages[0]


@pytest.mark.parametrize("user", ["", "mailer"])
def test_a_server_whose_starttls_was_taken_away_gets_nothing(authority: Authority, user: str) -> None:
    server = TlsMailServer(authority.context(HERE), offers=False)
    with serving(server), pytest.raises(aiosmtplib.SMTPException, match="STARTTLS extension not supported"):
        deliver(server, "", user)
    said = "".join(server.messages)
    assert "secret" not in said
    assert "AUTH" not in said


@contextlib.contextmanager
def wrong(authority: Authority, folder: Path, certificate: str, implicit: bool) -> Iterator[TlsMailServer]:
    """Serve with a certificate for another name, or of an authority that nobody trusts."""
    if certificate == "of another name":
        context = authority.context("mail.example.org")
    else:
        context = Authority.make(folder).context(HERE)
    server = TlsMailServer(context, implicit=implicit)
    with serving(server):
        yield server


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
@pytest.mark.parametrize("certificate", ["of another name", "of another authority"])
def test_a_wrong_certificate_is_rejected(
    authority: Authority, tmp_path: Path, certificate: str, tls: SmtpTls
) -> None:
    with wrong(authority, tmp_path, certificate, tls == "implicit") as server:
        with pytest.raises(DELIVERY_ERRORS, match="certificate verify failed"):
            deliver(server, tls)
        assert server.messages == []
        assert "secret" not in "".join(server.in_clear)


async def test_the_workers_mail_stays_queued_with_the_reason(
    stack: Stack, owner: Owner, authority: Authority, tmp_path: Path
) -> None:
    row = leased(owner)
    hidden = TlsMailServer(authority.context(HERE), offers=False)
    with serving(hidden):
        async with mailer_of(stack, hidden.server_address[1], "") as mailer:
            assert await mailer.send(row) is False
    stored = owner.execute("select * from private.outbox where id = %s", [row["id"]]).fetchone()
    assert stored
    assert (stored["sent_at"], stored["failed_at"]) == (None, None), "it is tried again"
    assert "STARTTLS extension not supported by server" in stored["last_error"]
    assert "once-" not in "".join(hidden.messages)
    again = leased(owner)
    with wrong(authority, tmp_path, "of another authority", implicit=False) as server:
        async with mailer_of(stack, server.server_address[1], "") as mailer:
            assert await mailer.send(again) is False
    stored = owner.execute("select * from private.outbox where id = %s", [again["id"]]).fetchone()
    assert stored
    assert "certificate verify failed" in stored["last_error"]


async def test_sign_in_mail_is_not_sent_either_and_the_log_says_why(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = TlsMailServer(authority.context(HERE), offers=False)
    with serving(hidden), caplog.at_level(logging.ERROR):
        sender = AuthMailer(auth_settings(GOTRUE_SMTP_HOST=HERE, GOTRUE_SMTP_PORT=hidden.server_address[1]))
        with pytest.raises(ApiError, match="Error sending recovery email"):
            await sender.send("recovery", "secret@example.com", {})
    assert "secret" not in "".join(hidden.messages)
    (record,) = [line for line in caplog.records if line.message == "a mail could not be sent"]
    assert "STARTTLS extension not supported" in record.fields["reason"]  # type: ignore[attr-defined]
    assert "secret" not in str(record.fields)  # type: ignore[attr-defined]
