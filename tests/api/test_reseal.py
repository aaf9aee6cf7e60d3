"""The key of the sealed secrets changes: nothing is lost, and the old key opens nothing."""

import base64
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyotp

from tests.support.own_edge import OwnEdge
from tests.support.people import PASSWORD, Member, People
from tests.support.stack import Stack

MT5 = "mt5-Geheim-4410"


def reseal(stack: Stack, keys: Path) -> dict[str, str]:
    environment = {**os.environ, "DATABASE_URL": stack.database_url, "SECRETS_KEY_PATH": str(keys)}
    command = [sys.executable, "-m", "functions.edge.reseal"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return dict(line.split("=") for line in done.stdout.splitlines())


def sign_in(edge: OwnEdge, email: str, **more: Any) -> str:
    body = {"action": "login", "email": email, "password": PASSWORD, **more}
    return str(edge.call("admin-auth", body).raise_for_status().json()["access_token"])


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
    report = reseal(stack, edge.change_secret_keys("new", {**old, **new}))
    assert int(report["RESEALED"]) >= 2
    assert reseal(stack, edge.change_secret_keys("new", {**old, **new}))["RESEALED"] == "0"

    edge.change_secret_keys("new", new)
    with edge.running():
        assert edge.call("admin-reveal-mt5-password", asked, token).json() == {"password": MT5}
        people.owner.execute("update private.admin_users set totp_last_step = null where email = %s", [email])
        assert sign_in(edge, email, totp=totp.now())
    edge.change_secret_keys("own", old)
    with edge.running():
        refused = edge.call("admin-reveal-mt5-password", asked, token)
        assert (refused.status_code, refused.json()["code"]) == (409, "seal_broken")
    edge.http.close()
