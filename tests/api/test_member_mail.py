"""What members decide about e-mail, and that an e-mail is sent once, by the worker that holds its lease."""

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiosmtplib
import psycopg
import pytest

from functions.core.database import make_pool
from functions.core.email import SmtpTls
from functions.worker import mailer as worker_mailer
from functions.worker.mailer import Mailer
from functions.worker.settings import WorkerSettings
from tests.support.mail import Mailbox
from tests.support.own_auth import MailServer, Smtp
from tests.support.people import Administrator, Member
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]
BOT = {"bot_name": "Scout", "mt5_server": "Demo-Server", "mt5_login": "1", "mt5_password": "geheim-1"}


def test_mail_about_bots_is_sent_until_the_member_switches_it_off(
    member: Member, super_admin: Administrator, mailbox: Mailbox, owner: Owner
) -> None:
    made = member.function("bot-subscription", {**BOT, "action": "subscribe"}).raise_for_status().json()

    def set_status(status: str) -> None:
        body = {"subscriptionId": made["subscription"]["id"], "status": status, "reason": "Look"}
        super_admin.function("admin-update-subscription", body).raise_for_status()

    set_status("suspended")
    email = mailbox.wait_for(member.email, "Scout is suspended")
    address = email["headers"]["list-unsubscribe"]
    assert address == f"<{member.stack.url}/settings>"
    assert "switch this mail off in your settings" in email["text"]

    off = member.rpc("set_mail_choice", {"p_topic": "bots", "p_wanted": False}).raise_for_status().json()
    assert [choice["wanted"] for choice in off if choice["topic"] == "bots"] == [False]
    set_status("active")
    member.deposit(50)
    notices = owner.execute(
        "select kind from public.notifications where user_id = %s and kind = 'bot_active'", [member.user_id]
    ).fetchall()
    written = owner.execute(
        "select 1 from private.outbox where recipient = %s and template = 'bot_active'", [member.email]
    ).fetchall()
    assert (len(notices), len(written)) == (1, 0)


def test_mail_about_money_has_no_switch(member: Member, finance: Administrator, mailbox: Mailbox) -> None:
    rejected = member.rpc("set_mail_choice", {"p_topic": "money", "p_wanted": False})
    assert (rejected.status_code, rejected.json()["code"]) == (400, "invalid_input")
    body = {"depositId": member.deposit(50)["id"], "action": "reject", "reason": "No transfer"}
    finance.function("admin-approve-deposit", body).raise_for_status()
    email = mailbox.wait_for(member.email, "deposit")
    assert "list-unsubscribe" not in email["headers"]
    assert "cannot be switched off" in email["html"]


def test_a_change_of_address_that_was_taken_back_cannot_be_confirmed(
    member: Member, mailbox: Mailbox
) -> None:
    nothing = member.rpc("cancel_email_change")
    assert (nothing.status_code, nothing.json()["code"]) == (404, "not_found")
    new = member.email.replace("@", "-new@")
    member.http.put("/auth/v1/user", json={"email": new}).raise_for_status()
    emails = [mailbox.wait_for(address, "address") for address in (member.email, new)]
    assert member.http.get("/auth/v1/user").json()["new_email"] == new
    for email in emails:
        assert f"New address: {new}" in email["text"], "a text part stands beside the HTML"
    assert member.email not in emails[1]["html"], "a stranger's address learns nothing else"
    assert member.rpc("cancel_email_change").raise_for_status().json() == {"success": True}
    assert not member.http.get("/auth/v1/user").json().get("new_email")
    for email in emails:
        member.http.get(mailbox.opened_by(email))
    assert member.http.get("/auth/v1/user").json()["email"] == member.email


def test_the_link_that_was_opened_first_is_named(member: Member, mailbox: Mailbox) -> None:
    assert member.rpc("get_email_change").raise_for_status().json() is None
    new = member.email.replace("@", "-new@")
    member.http.put("/auth/v1/user", json={"email": new}).raise_for_status()
    waiting = {"old_email": member.email, "new_email": new, "old_confirmed": False, "new_confirmed": False}
    assert member.rpc("get_email_change").json() == waiting
    member.http.get(mailbox.opened_by(mailbox.wait_for(new, "address")))
    assert member.rpc("get_email_change").json() == waiting | {"new_confirmed": True}
    assert member.http.get("/auth/v1/user").json()["email"] == member.email
    member.http.get(mailbox.opened_by(mailbox.wait_for(member.email, "address")))
    assert member.rpc("get_email_change").json() is None
    assert member.http.get("/auth/v1/user").json()["email"] == new


def test_a_new_password_is_mailed_once(member: Member, mailbox: Mailbox) -> None:
    body = {"password": "new-lantern-92", "current_password": member.password}
    member.http.put("/auth/v1/user", json=body).raise_for_status()
    mail = mailbox.wait_for(member.email, "password was changed")
    assert "cannot be approved for 24 hours" in mail["text"]
    # What the auth service would send itself leaves with the change, before the worker's.
    assert [one["subject"] for one in mailbox.to(member.email)] == [mail["subject"]]


class Conversation(Smtp):
    """Lets the test act between DATA and its 250."""

    def _say(self, line: str) -> None:
        if line == "250 taken":
            self.server.before_its_response()  # type: ignore[attr-defined]
        super()._say(line)


class Server(MailServer):
    """A mail server that keeps what it took."""

    def __init__(self) -> None:
        super().__init__(Conversation)
        self.before_its_response: Callable[[], object] = lambda: None


@pytest.fixture
def server() -> Iterator[Server]:
    """Its own, so that a test sees each copy."""
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@asynccontextmanager
async def mailer_of(stack: Stack, port: int, tls: SmtpTls = "none") -> AsyncIterator[Mailer]:
    """Return a worker's mailer, with a database that waits a tenth of a second for a lock."""
    settings = WorkerSettings(
        audit_heads_path=Path("unused"),
        database_url=f"{stack.values['DATABASE_ADMIN_URL']}?options=-c%20lock_timeout%3D100",
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_tls=tls,
        mail_from="Test <test@example.com>",
        site_url=stack.url,
        storage_internal_url=stack.url,
        supabase_service_role_key="",
    )
    async with make_pool(settings.database_url, 2, "test") as pool:
        yield Mailer(pool, settings)


def leased(owner: Owner) -> dict[str, Any]:
    """Return an e-mail that is leased, so that the stack's own worker skips it."""
    row = owner.execute(
        "insert into private.outbox (template, recipient, data, leased_until) values ('test_mail', %s,"
        ' \'{"title": "Once", "body": "Once"}\', clock_timestamp() + interval \'1 minute\') returning *',
        [f"once-{time.time_ns()}@example.com"],
    ).fetchone()
    assert row
    return row


async def test_an_email_that_another_worker_leased_is_left_to_it(
    stack: Stack, owner: Owner, server: Server
) -> None:
    row = leased(owner)
    owner.execute(
        "update private.outbox set leased_until = leased_until + interval '1 minute' where id = %s",
        [row["id"]],
    )
    async with mailer_of(stack, server.server_address[1]) as mailer:
        assert await mailer.send(row) is False
        assert server.messages == []
        taken = owner.execute("select * from private.outbox where id = %s", [row["id"]]).fetchone()
        assert taken
        assert await mailer.send(taken) is True
        assert await mailer.send(taken) is False
    assert len(server.messages) == 1


async def test_a_database_that_is_away_after_the_servers_response_costs_no_second_copy(
    stack: Stack, owner: Owner, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, pauses = leased(owner), []
    async with mailer_of(stack, server.server_address[1]) as mailer:
        with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as busy:
            server.before_its_response = lambda: busy.execute(
                "select 1 from private.outbox where id = %s for update", [row["id"]]
            )

            async def back_at_last(seconds: float) -> None:
                pauses.append(seconds)
                if len(pauses) == 2:
                    busy.rollback()

            monkeypatch.setattr(worker_mailer, "asyncio", SimpleNamespace(sleep=back_at_last))
            assert await mailer.send(row) is True
    assert len(pauses) == 2
    stored = owner.execute("select sent_at from private.outbox where id = %s", [row["id"]]).fetchone()
    assert stored
    assert stored["sent_at"] is not None
    assert len(server.messages) == 1


@pytest.mark.parametrize(("port", "implicit"), [(465, True), (587, False), (25, False)])
async def test_mail_is_encrypted_as_its_port_is_used(
    stack: Stack, owner: Owner, monkeypatch: pytest.MonkeyPatch, port: int, implicit: bool
) -> None:
    asked: list[Any] = []

    async def take(_: object, **options: Any) -> None:
        asked.append((options["port"], options["use_tls"], options["start_tls"]))

    monkeypatch.setattr(aiosmtplib, "send", take)
    async with mailer_of(stack, port, "") as mailer:
        assert await mailer.send(leased(owner)) is True
    assert asked == [(port, implicit, not implicit)]
