"""Secrets are neither in what browsers get nor in what is written down."""

import base64
import json
import logging
import os
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path

import aiosmtplib
import psycopg
import pytest

from functions.core import email
from functions.core.logging import JsonFormatter
from tests.support import plain_http
from tests.support.own_auth import OwnAuth
from tests.support.stack import Stack

ROOT = Path(__file__).resolve().parents[2]
TOKEN = re.compile(rb"eyJ[A-Za-z0-9_-]{8,}\.(eyJ[A-Za-z0-9_-]{8,})\.[A-Za-z0-9_-]*")
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----|\"d\": ?\"[A-Za-z0-9_-]{20,}\"")


def roles_in(content: bytes) -> set[str]:
    """Return the roles of every token in a text."""
    bodies = [match[1] for match in TOKEN.finditer(content)]
    return {json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)))["role"] for body in bodies}


@pytest.mark.threat("T120")
def test_browsers_get_the_public_key_and_no_other_secret(stack: Stack, state: Path) -> None:
    shared = json.loads((state / "keys" / "credentials.json").read_text())
    closed = [value.encode() for name, value in shared.items() if name != "SUPABASE_ANON_KEY"]
    config = plain_http.get(f"{stack.url}/config.js").content
    assert roles_in(config) == {"anon"}
    files = [path for path in (ROOT / "web" / "dist").rglob("*") if path.is_file()]
    assert files, "the web app is not built"
    for name, content in [("config.js", config), *((str(path), path.read_bytes()) for path in files)]:
        assert roles_in(content) <= {"anon"}, name
        assert not PRIVATE_KEY.search(content), name
        assert not any(value in content for value in closed), name


@pytest.mark.threat("T108", "T128", "T129")
def test_what_people_type_is_in_no_log(stack: Stack, state: Path) -> None:
    """Canaries in every place where a secret or a name is sent; afterwards every line of the logs is JSON."""
    canary = f"canary{secrets.token_hex(12)}"
    key = {"apikey": stack.anon_key}
    bearer = {**key, "authorization": f"Bearer {canary}.{canary}.{canary}"}
    mail = f'{canary}@example.com\r\n{{"level": "forged"}}'
    with plain_http.client(base_url=stack.url, timeout=30) as http:
        http.post("/auth/v1/token?grant_type=password", headers=key, json={"email": mail, "password": canary})
        http.post("/auth/v1/token?grant_type=refresh_token", headers=key, json={"refresh_token": canary})
        http.post(
            "/auth/v1/signup", headers=key, json={"email": mail, "password": canary, "data": {"a": canary}}
        )
        http.get(f"/auth/v1/verify?type=recovery&token={canary}")
        http.get("/auth/v1/user", headers=bearer)
        http.post("/functions/v1/admin-auth", json={"action": "login", "email": mail, "password": canary})
        http.post(
            "/functions/v1/admin-auth",
            headers=bearer,
            json={"action": "change_password", "currentPassword": canary, "newPassword": canary},
        )
        http.post("/functions/v1/bot-subscription", headers=bearer, json={"mt5_password": canary})
        http.post("/functions/v1/bot-subscription", headers=bearer, content=f'{{"mt5_password": "{canary}')
        http.get(f"/storage/v1/object/sign/receipts/a/1.png?token={canary}")
        http.put(f"/storage/v1/object/upload/sign/receipts/a/1.png?token={canary}", content=canary.encode())
        http.get(f"/rest/v1/deposits?reference_number=eq.{canary}", headers=bearer)
        http.post("/rest/v1/rpc/get_sponsor", headers=key, json={"p_referral_code": canary + "\u0000"})
        http.post("/rest/v1/deposits", headers=bearer, json={"reference_number": canary})
        http.get("/functions/v1/none", headers={"x-request-id": '"}\\n{"forged": 1}', "user-agent": canary})
    time.sleep(1)
    logs = list((state / "logs").glob("*.log"))
    assert logs
    for log in logs:
        assert canary not in log.read_text(errors="replace"), log.name
    for name in ("auth", "storage", "edge", "worker"):
        lines = (state / "logs" / f"{name}.log").read_text(errors="replace").split("\n")
        for line in lines[-200:-1]:
            assert isinstance(json.loads(line), dict), f"{name}: {line}"


@pytest.mark.threat("T128")
@pytest.mark.embedded_only("writes its own log")
def test_an_address_that_the_mail_server_rejects_is_in_no_log(stack: Stack, tmp_path: Path) -> None:
    with (tmp_path / "auth.log").open("wb") as log:
        auth = OwnAuth(stack, output=log.fileno())
        auth.start()
        address = auth.new_user(secrets.token_hex(8))["email"]
        auth.mail.rejects = True
        response = auth.http.post("/recover", headers={"x-real-ip": "10.1.0.1"}, json={"email": address})
        auth.close()
    said = (tmp_path / "auth.log").read_text()
    assert response.status_code == 500
    assert address not in said
    assert address.partition("@")[0] not in said
    assert '"code":550' in said


@pytest.mark.threat("T128")
def test_what_a_mail_server_said_is_no_part_of_what_is_logged() -> None:
    said = aiosmtplib.SMTPResponseException(550, "5.1.1 <ada@example.com>: nobody of that name")
    assert email.log_fields(said) == {"error": "SMTPResponseException", "code": 550}
    assert email.log_fields(OSError("no route"))["reason"] == "no route"


@pytest.mark.threat("T128")
def test_what_ends_a_service_is_a_line_like_the_others() -> None:
    end = "logging.configure('INFO'); raise ExceptionGroup('two', [OSError(5)])"
    service = [sys.executable, "-c", f"from functions.core import logging; {end}"]
    ended = subprocess.run(service, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    said = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [(line["level"], line["message"]) for line in said] == [("critical", "the process ends")]
    assert "OSError: 5" in said[0]["exception"]


@pytest.mark.threat("T108")
@pytest.mark.parametrize("service", ["auth", "edge", "storage", "worker"])
def test_a_service_that_lacks_a_setting_reveals_none_of_the_others(service: str) -> None:
    canary = f"canary{secrets.token_hex(4)}"
    stored = {name: value for name, value in os.environ.items() if name in ("HOME", "LANG", "PATH")}
    given = dict.fromkeys(
        ("DATABASE_URL", "SIGNING_SECRET", "SMTP_PASS", "SUPABASE_SERVICE_ROLE_KEY"), canary
    )
    command = [sys.executable, "-m", f"functions.{service}"]
    ended = subprocess.run(
        command, cwd=ROOT, env=stored | given, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 1
    assert "Field required" in ended.stderr
    assert canary not in ended.stdout + ended.stderr


@pytest.mark.threat("T128")
def test_a_log_says_where_the_database_raised_but_not_what(stack: Stack) -> None:
    canary = f"canary{secrets.token_hex(12)}@example.com"
    record = logging.makeLogRecord({"msg": "a request failed"})
    with psycopg.connect(stack.database_url) as connection:
        connection.execute("create temporary table people (email text unique) on commit drop")
        connection.execute("insert into people values (%s)", [canary])
        try:
            try:
                connection.execute("insert into people values (%s)", [canary])
            except psycopg.Error as error:
                raise RuntimeError("it went wrong") from error
        except RuntimeError:
            record.exc_info = sys.exc_info()
        connection.rollback()
    said = JsonFormatter().format(record)
    assert canary not in said
    for part in ("UniqueViolation: SQLSTATE 23505", "test_secrets.py", "RuntimeError: it went wrong"):
        assert part in said


def written_since(log: Path, start: int) -> str:
    """Return what a log holds after so many bytes, also when it was full meanwhile and begun anew."""
    found = log.read_bytes()
    if len(found) < start:
        found = log.with_name(f"{log.name}.1").read_bytes() + found
    return found[start:].decode(errors="replace")


@pytest.mark.threat("T108")
def test_a_download_that_was_broken_off_leaves_no_key_in_the_log(stack: Stack, state: Path) -> None:
    """The warnings of the gateway, apart from its access log."""
    log = state / "logs" / "gateway.log"
    start = log.stat().st_size
    bucket = f"torn-{secrets.token_hex(4)}"
    keys = {"apikey": stack.service_key, "authorization": f"Bearer {stack.service_key}"}
    with plain_http.client(base_url=f"{stack.url}/storage/v1", headers=keys, timeout=30) as http:
        http.post("/bucket", json={"name": bucket, "public": False}).raise_for_status()
        try:
            http.post(f"/object/{bucket}/large", content=bytes(20 * 2**20)).raise_for_status()
            signed = http.post(f"/object/sign/{bucket}/large", json={"expiresIn": 60}).raise_for_status()
            address = signed.json()["signedURL"]
            with http.stream("GET", address) as response:
                assert next(response.iter_raw(1)) == b"\0"
        finally:
            http.post(f"/bucket/{bucket}/empty", json={}).raise_for_status()
            http.delete(f"/bucket/{bucket}").raise_for_status()
    written = ""
    for _ in range(200):
        written = written_since(log, start)
        if "incomplete response" in written:
            break
        time.sleep(0.1)
    assert "incomplete response" in written
    assert stack.service_key not in written
    assert address.partition("token=")[2] not in written


@pytest.mark.threat("T120")
def test_no_secret_of_a_stack_is_in_the_repository(state: Path) -> None:
    shared = json.loads((state / "keys" / "credentials.json").read_text())
    for name, value in shared.items():
        found = subprocess.run(["git", "grep", "-qF", value], cwd=ROOT, check=False)
        assert found.returncode == 1, name
