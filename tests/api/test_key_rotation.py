"""The key of the encrypted secrets changes: nothing is lost, and the old key decrypts nothing."""

import base64
import os
import secrets
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pyotp
import pytest

from functions.edge.support import key_rotation
from functions.edge.support.crypto import Ciphertext, DecryptionError, Encryptor
from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Member, People
from tests.support.principals import claims_of
from tests.support.stack import Stack

MT5 = "mt5-Geheim-4410"


Owner = psycopg.Connection[dict[str, Any]]


def rotate(stack: Stack, keys: Path) -> dict[str, str]:
    environment = {**os.environ, "DATABASE_URL": stack.database_url, "SECRETS_KEY_PATH": str(keys)}
    command = [sys.executable, "-m", "functions.edge.support.key_rotation"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return dict(line.split("=") for line in done.stdout.splitlines())


def sign_in(edge: OwnEdge, email: str, **more: Any) -> str:
    body = {"action": "login", "email": email, "password": PASSWORD, **more}
    return str(edge.call("admin-auth", body).raise_for_status().json()["access_token"])


def decrypted(owner: Owner, member: Member, encryptor: Encryptor) -> dict[str, str]:
    """Return a member's passwords by subscription, as far as a key decrypts them."""
    rows = owner.execute(
        "select b.subscription_id::text as id, b.key_id, b.secret from private.bot_secrets as b"
        " inner join public.bot_subscriptions as s on s.id = b.subscription_id where s.user_id = %s",
        [member.user_id],
    ).fetchall()
    passwords = {}
    for row in rows:
        ciphertext = Ciphertext(row["key_id"], bytes(row["secret"]))
        with suppress(DecryptionError):
            passwords[row["id"]] = encryptor.decrypt(ciphertext, "bot_secrets", row["id"], member.user_id)
    assert rows
    return passwords


def test_a_new_key_for_old_secrets(stack: Stack, people: People, member: Member, tmp_path: Path) -> None:
    edge = OwnEdge(stack, tmp_path)
    email = people.account("finance_admin")
    bot = {
        "bot_name": "Scout",
        "action": "subscribe",
        "mt5_server": "Demo-Server",
        "mt5_login": "1",
        "mt5_password": MT5,
    }
    with edge.serving():
        subscribed = edge.call("bot-subscription", bot, member.token).raise_for_status().json()
        asked = {"subscriptionId": subscribed["subscription"]["id"]}
        token = sign_in(edge, email)
        enrolled = edge.call("admin-auth", {"action": "totp_enroll"}, token).json()
        totp = pyotp.TOTP(enrolled["secret"])
        confirm = {"action": "totp_verify", "code": totp.now()}
        edge.call("admin-auth", confirm, token).raise_for_status()

    old = dict(edge.secret_keys)
    new = {"new": base64.b64encode(secrets.token_bytes(32)).decode()}
    report = rotate(stack, edge.change_secret_keys("new", {**old, **new}))
    assert int(report["REENCRYPTED"]) >= 2
    odd = "select from private.administrator_discrepancies inner join private.admin_users using (id)"
    assert people.owner.execute(f"{odd} where email = %s", [email]).fetchall() == [], "the entry has it"
    assert rotate(stack, edge.change_secret_keys("new", {**old, **new}))["REENCRYPTED"] == "0"

    edge.change_secret_keys("new", new)
    with edge.serving():
        assert edge.call("admin-reveal-mt5-password", asked, token).json() == {"password": MT5}
        people.owner.execute("update private.admin_users set totp_last_step = null where email = %s", [email])
        assert sign_in(edge, email, totp=totp.now())
    edge.http.close()
    assert (
        decrypted(people.owner, member, Encryptor.read(edge.change_secret_keys(edge.secret_key, old))) == {}
    )


@pytest.mark.threat("T107")
def test_a_ciphertext_decrypts_under_its_own_key_and_row_alone() -> None:
    """Even where two ids name one key."""
    key = secrets.token_bytes(32)
    encryptor = Encryptor("one", {"one": key, "two": key})
    made = encryptor.encrypt(MT5, "bot_secrets", "row", "member")
    assert encryptor.decrypt(made, "bot_secrets", "row", "member") == MT5
    for ciphertext, *row in (
        (Ciphertext("two", made.data), "bot_secrets", "row", "member"),
        (Ciphertext("three", made.data), "bot_secrets", "row", "member"),
        (made, "bot_secrets", "row", "another"),
        (made, "bot_secrets", "another", "member"),
        (made, "admin_users", "row", "member"),
    ):
        with pytest.raises(DecryptionError):
            encryptor.decrypt(ciphertext, *row)


@pytest.mark.threat("T106")
def test_one_password_twice_gives_two_ciphertexts() -> None:
    encryptor = Encryptor("one", {"one": secrets.token_bytes(32)})
    first, second = (encryptor.encrypt(MT5, "bot_secrets", "row", "member").data for _ in range(2))
    assert len(first) == 12 + len(MT5) + 16
    assert first[:12] != second[:12]


class Meanwhile(Encryptor):
    """Somebody else writes between the reading of a row and its replacement."""

    def __init__(self, owner: Owner, keys: dict[str, bytes]) -> None:
        super().__init__("new", keys)
        self._owner = owner

    def encrypt(self, secret: str, *row: str) -> Ciphertext:
        """Encrypt, after the member subscribed with another password."""
        self._owner.execute(
            "update private.bot_secrets set secret = %s where subscription_id = %s", [b"changed", row[1]]
        )
        return super().encrypt(secret, *row)


@pytest.mark.threat("T109")
def test_a_row_that_changes_meanwhile_stays_as_it_is(owner: Owner, member: Member) -> None:
    keys = {name: secrets.token_bytes(32) for name in (f"own-{secrets.token_hex(4)}", "new")}
    (subscription,) = plant(owner, member, Encryptor(next(iter(keys)), keys), 1)
    rotated, _ = key_rotation.rotate(owner, Meanwhile(owner, keys))
    row = owner.execute(
        "select key_id, secret from private.bot_secrets where subscription_id = %s", [subscription]
    ).fetchone()
    assert rotated == 0
    assert row == {"key_id": next(iter(keys)), "secret": b"changed"}


def plant(owner: Owner, member: Member, encryptor: Encryptor, count: int) -> dict[str, str]:
    """Encrypted passwords by subscription; ended ones, of which a member may have any number."""
    passwords = {str(uuid.uuid4()): f"geheim-{number}" for number in range(count)}
    subscriptions, secret_rows = [], []
    for subscription, password in passwords.items():
        ciphertext = encryptor.encrypt(password, "bot_secrets", subscription, member.user_id)
        subscriptions.append((subscription, member.user_id))
        secret_rows.append((subscription, ciphertext.key_id, ciphertext.data))
    with owner.cursor() as cursor:
        cursor.executemany(
            "insert into public.bot_subscriptions (id, user_id, bot_name, status, mt5_server, mt5_login)"
            " values (%s, %s, 'Scout', 'cancelled', 'Demo-Server', '1')",
            subscriptions,
        )
        cursor.executemany(
            "insert into private.bot_secrets (subscription_id, key_id, secret) values (%s, %s, %s)",
            secret_rows,
        )
    return passwords


class Readers:
    """Administrators who view passwords one after the other, as far as their rate limit allows."""

    def __init__(self, edge: OwnEdge, owner: Owner, tokens: list[str], passwords: dict[str, str]) -> None:
        self.wrong: list[str] = []
        self.looks = 0
        self._edge, self._owner, self._passwords = edge, owner, passwords
        self._ids = [claims_of(token)["sub"] for token in tokens]
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._look, args=(token,)) for token in tokens]

    def _look(self, token: str) -> None:
        rows = list(self._passwords.items())
        while not self._ended.is_set():
            # Twenty looks a minute are another test's.
            self._owner.execute(
                "delete from private.rate_limits where bucket = 'reveal_mt5' and key = any(%s)", [self._ids]
            )
            for _ in range(10):
                subscription, password = secrets.choice(rows)
                response = self._edge.call(
                    "admin-reveal-mt5-password", {"subscriptionId": subscription}, token
                )
                self.looks += 1
                if response.status_code != 429 and response.json() != {"password": password}:
                    self.wrong.append(response.text)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """They look meanwhile."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join(30)


@pytest.mark.long
@pytest.mark.threat("T109")
def test_a_thousand_passwords_in_use_change_their_key(
    stack: Stack, people: People, owner: Owner, member: Member, tmp_path: Path
) -> None:
    edge = OwnEdge(stack, tmp_path)
    old = dict(edge.secret_keys)
    new = {"new": base64.b64encode(secrets.token_bytes(32)).decode()}
    encryptor = Encryptor.read(edge.change_secret_keys(edge.secret_key, old))
    passwords = plant(owner, member, encryptor, 1000)
    keys = edge.change_secret_keys("new", {**old, **new})
    with edge.serving():
        tokens = [sign_in(edge, people.account("finance_admin")) for _ in range(3)]
        readers = Readers(edge, owner, tokens, passwords)
        with readers.busy():
            report = rotate(stack, keys)
        assert int(report["REENCRYPTED"]) >= 1000
        assert readers.looks > 50
        assert readers.wrong == []

    edge.http.close()
    assert decrypted(owner, member, Encryptor.read(edge.change_secret_keys("new", new))) == passwords
    assert decrypted(owner, member, encryptor) == {}
