"""Key rotation of the encrypted secrets: nothing is lost, and the old key decrypts nothing."""

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

from functions.edge.sealing import SealBroken, Sealed, Sealer
from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Member, People
from tests.support.principals import claims_of
from tests.support.stack import Stack

MT5 = "mt5-Geheim-4410"


Owner = psycopg.Connection[dict[str, Any]]


def rotate_keys(stack: Stack, keys: Path) -> dict[str, str]:
    environment = {**os.environ, "DATABASE_URL": stack.database_url, "SECRETS_KEY_PATH": str(keys)}
    command = [sys.executable, "-m", "functions.edge.reseal"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return dict(line.split("=") for line in done.stdout.splitlines())


def sign_in(edge: OwnEdge, email: str, **more: Any) -> str:
    body = {"action": "login", "email": email, "password": PASSWORD, **more}
    return str(edge.call("admin-auth", body).raise_for_status().json()["access_token"])


def opened(owner: Owner, member: Member, sealer: Sealer) -> dict[str, str]:
    """Return a member's passwords by subscription, as far as a key decrypts them."""
    rows = owner.execute(
        "select b.subscription_id::text as id, b.key_id, b.secret from private.bot_secrets as b"
        " inner join public.bot_subscriptions as s on s.id = b.subscription_id where s.user_id = %s",
        [member.user_id],
    ).fetchall()
    passwords = {}
    for row in rows:
        sealed = Sealed(row["key_id"], bytes(row["secret"]))
        with suppress(SealBroken):
            passwords[row["id"]] = sealer.open(sealed, "bot_secrets", row["id"], member.user_id)
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
    with edge.running():
        subscribed = edge.call("bot-subscription", bot, member.token).raise_for_status().json()
        asked = {"subscriptionId": subscribed["subscription"]["id"]}
        token = sign_in(edge, email)
        enrolled = edge.call("admin-auth", {"action": "totp_enroll"}, token).json()
        totp = pyotp.TOTP(enrolled["secret"])
        confirm = {"action": "totp_verify", "code": totp.now()}
        edge.call("admin-auth", confirm, token).raise_for_status()

    old = dict(edge.secret_keys)
    new = {"new": base64.b64encode(secrets.token_bytes(32)).decode()}
    report = rotate_keys(stack, edge.change_secret_keys("new", {**old, **new}))
    assert int(report["RESEALED"]) >= 2
    assert rotate_keys(stack, edge.change_secret_keys("new", {**old, **new}))["RESEALED"] == "0"

    edge.change_secret_keys("new", new)
    with edge.running():
        assert edge.call("admin-reveal-mt5-password", asked, token).json() == {"password": MT5}
        people.owner.execute("update private.admin_users set totp_last_step = null where email = %s", [email])
        assert sign_in(edge, email, totp=totp.now())
    edge.http.close()
    assert opened(people.owner, member, Sealer.read(edge.change_secret_keys(edge.secret_key, old))) == {}


def plant(owner: Owner, member: Member, sealer: Sealer, count: int) -> dict[str, str]:
    """Encrypted passwords of ended subscriptions, of which a member may have any number."""
    passwords = {str(uuid.uuid4()): f"geheim-{number}" for number in range(count)}
    subscriptions, encrypted_rows = [], []
    for subscription, password in passwords.items():
        sealed = sealer.seal(password, "bot_secrets", subscription, member.user_id)
        subscriptions.append((subscription, member.user_id))
        encrypted_rows.append((subscription, sealed.key_id, sealed.data))
    with owner.cursor() as cursor:
        cursor.executemany(
            "insert into public.bot_subscriptions (id, user_id, bot_name, status, mt5_server, mt5_login)"
            " values (%s, %s, 'Scout', 'cancelled', 'Demo-Server', '1')",
            subscriptions,
        )
        cursor.executemany(
            "insert into private.bot_secrets (subscription_id, key_id, secret) values (%s, %s, %s)",
            encrypted_rows,
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
    sealer = Sealer.read(edge.change_secret_keys(edge.secret_key, old))
    passwords = plant(owner, member, sealer, 1000)
    keys = edge.change_secret_keys("new", {**old, **new})
    with edge.running():
        tokens = [sign_in(edge, people.account("finance_admin")) for _ in range(3)]
        readers = Readers(edge, owner, tokens, passwords)
        with readers.busy():
            report = rotate_keys(stack, keys)
        assert int(report["RESEALED"]) >= 1000
        assert readers.looks > 50
        assert readers.wrong == []

    edge.http.close()
    assert opened(owner, member, Sealer.read(edge.change_secret_keys("new", new))) == passwords
    assert opened(owner, member, sealer) == {}
