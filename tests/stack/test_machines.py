"""Two machines behind a proxy, on one database and one bucket; here their folders lie side by side."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher import settings as configuration
from launcher.host.tools import VENV
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.clients import (
    OF_A_MEMBER,
    OF_AN_ADMINISTRATOR,
    Requests,
    asking,
    member_token,
)
from tests.support.files import png
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.own_stack import OwnStack, until
from tests.support.ports import free_port, is_listening
from tests.support.s3_server import s3_server

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Machines:
    """The two stacks, which are reached at one address."""

    first: OwnStack
    second: OwnStack

    def copy_keys(self) -> None:
        """Copy the folder of keys from the first to the second, as its operator does."""
        shutil.copytree(self.first.state / "keys", self.second.state / "keys", dirs_exist_ok=True)


@contextmanager
def front(port: int, stacks: tuple[OwnStack, ...], folder: Path) -> Iterator[None]:
    """Run a proxy that passes requests to the gateways in turn."""
    gateways = " ".join(f"127.0.0.1:{stack.settings.ports['gateway']}" for stack in stacks)
    file = folder / "Caddyfile"
    file.write_text(
        "{\n\tadmin off\n\tpersist_config off\n}\n"
        f"http://127.0.0.1:{port} {{\n\treverse_proxy {gateways} {{\n\t\tlb_policy round_robin\n\t}}\n}}\n"
    )
    command: list[str | Path] = [VENV / "bin" / "caddy", "run", "--config", file, "--adapter", "caddyfile"]
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
    process = subprocess.Popen(ending_with_parent(command), env=env)
    try:
        until(lambda: is_listening(port), 20)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def machines(state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Start them as the documents say."""
    name, port, folder = secrets.token_hex(2), free_port(), tmp_path_factory.mktemp("machines")
    server = OwnCluster(settings_of_own(state.with_name(f"{state.name}-server-{name}")))
    server.create()
    with server.running(), s3_server(folder / "served", "receipts") as s3:
        shared = {
            "DATABASE_SERVER": f"127.0.0.1:{server.settings.ports['postgres']}",
            "STORAGE_URL": "s3://receipts/stack",
            "SITE_URL": f"http://127.0.0.1:{port}",
            "TRUSTED_PROXIES": "127.0.0.1",
            "MACHINES": "2",
            **s3.settings,
        }
        first, second = (
            OwnStack(state.with_name(f"{state.name}-machine{number}-{name}"), shared | {"MACHINE": number})
            for number in ("1", "2")
        )
        printed = first.launch("prepare-database")
        assert printed.returncode == 0, printed.stderr
        psql = [server.postgres / "psql", "-X", "-q", f"--dbname={server.url()}"]
        subprocess.run(psql, input=printed.stdout, text=True, check=True, capture_output=True)
        both = Machines(first, second)
        try:
            first.up()
            without_keys = second.launch("up")
            assert "the keys of the first" in without_keys.stderr, without_keys.stdout + without_keys.stderr
            both.copy_keys()
            second.up()
            with front(port, (first, second), folder):
                yield both
        finally:
            second.remove()
            first.remove()
    shutil.rmtree(server.settings.state, ignore_errors=True)


def test_what_one_machine_stores_the_other_has(machines: Machines) -> None:
    values, token = machines.first.values, member_token(machines.first)
    headers = {"apikey": values["SUPABASE_ANON_KEY"], "authorization": f"Bearer {token}"}
    gateways = [
        f"http://127.0.0.1:{one.settings.ports['gateway']}" for one in (machines.first, machines.second)
    ]
    person = plain_http.get(f"{gateways[1]}/auth/v1/user", headers=headers).raise_for_status().json()["id"]
    path = f"/storage/v1/object/receipts/{person}/{secrets.randbelow(10**12) + 10**12}.png"
    sent = headers | {"content-type": "image/png"}
    receipt = png()
    plain_http.post(f"{gateways[0]}{path}", headers=sent, content=receipt).raise_for_status()
    at_the_other = path.replace("/object/", "/object/authenticated/")
    assert plain_http.get(f"{gateways[1]}{at_the_other}", headers=headers).content == receipt


@pytest.mark.parametrize("whose", ["members", "administrators"])
def test_a_new_key_signs_when_all_machines_know_it(machines: Machines, whose: str) -> None:
    requests: Requests = OF_AN_ADMINISTRATOR if whose == "administrators" else OF_A_MEMBER
    option = ["--administrators"] if whose == "administrators" else []

    def sign_in() -> str:
        if whose == "administrators":
            return machines.first.administrator("FINANCE")
        return member_token(machines.first)

    with asking(machines.first, sign_in, requests) as seen:
        renewing = subprocess.Popen(
            [sys.executable, str(configuration.ROOT / "supabase" / "stack"), "keys", "new", *option],
            env=machines.first.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert renewing.stdout
        assert renewing.stdin
        while "press Enter" not in (line := renewing.stdout.readline()):
            assert line, "it ended without a word"
        machines.copy_keys()
        machines.second.up()
        renewing.communicate("\n", timeout=120)
        assert renewing.returncode == 0
        machines.copy_keys()
        machines.second.up()
    # With one set on each machine the proxy meets what is being replaced; no token was ever rejected.
    assert {status for _, status in seen} <= {200, 502, 503}, seen
    assert all(seen[path, 200] > 50 for _, path, _ in requests), seen


def test_a_new_key_that_is_not_confirmed_signs_nothing(machines: Machines) -> None:
    signing = machines.first.state / "keys" / "auth.json"
    before = signing.read_text()
    done = machines.first.launch("keys", "new")
    assert done.returncode != 0
    assert "Nobody pressed Enter" in done.stderr
    assert signing.read_text() == before
