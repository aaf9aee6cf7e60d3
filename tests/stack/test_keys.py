"""The keys that sign tokens change: no session ends, and the former one ends on command."""

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_launcher import launch

from tests.support import plain_http
from tests.support.stack import Stack

# A key stops being valid at once: no other test may be signed in.
pytestmark = [pytest.mark.long, pytest.mark.alone]


class Person:
    """The demo's member on one session."""

    def __init__(self, stack: Stack) -> None:
        self.http = plain_http.client(base_url=stack.url, headers={"apikey": stack.anon_key}, timeout=30)
        self.session = self._token(
            "password",
            {"email": stack.values["DEMO_MEMBER_EMAIL"], "password": stack.values["DEMO_MEMBER_PASSWORD"]},
        )

    def _token(self, grant: str, body: dict[str, str]) -> dict[str, Any]:
        response = self.http.post(f"/auth/v1/token?grant_type={grant}", json=body)
        return dict(response.raise_for_status().json())

    @property
    def token(self) -> str:
        """The access token at hand."""
        return str(self.session["access_token"])

    def refresh(self) -> None:
        """Go on with a fresh token."""
        self.session = self._token("refresh_token", {"refresh_token": self.session["refresh_token"]})

    def ask(self, token: str) -> list[int]:
        """Return the statuses of REST, auth, storage and functions with a token."""
        headers = {"authorization": f"Bearer {token}"}
        return [
            self.http.get("/rest/v1/profiles?select=id&limit=1", headers=headers).status_code,
            self.http.get("/auth/v1/user", headers=headers).status_code,
            self.http.post(
                "/storage/v1/object/list/receipts", headers=headers, json={"prefix": ""}
            ).status_code,
            self.http.post("/functions/v1/sync-all-mlm-bonuses", headers=headers, json={}).status_code,
        ]

    def published(self) -> set[str]:
        """Return the ids of the published keys."""
        response = self.http.get("/auth/v1/.well-known/jwks.json").raise_for_status()
        assert "d" not in {name for key in response.json()["keys"] for name in key}
        return {key["kid"] for key in response.json()["keys"]}

    def close(self) -> None:
        """End the connections."""
        self.http.close()


def key_of(token: str) -> str:
    head = token.split(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"])


@pytest.fixture
def person(stack: Stack) -> Iterator[Person]:
    """Keep a member signed in all the time."""
    found = Person(stack)
    yield found
    found.close()


def change_keys(state: Path, *arguments: str) -> None:
    done = launch(state, "keys", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.threat("T70")
def test_a_new_key_signs_the_former_verifies_and_then_no_longer(state: Path, person: Person) -> None:
    former = person.token
    assert person.ask(former) == [200] * 4

    change_keys(state, "new")
    assert person.ask(former) == [200] * 4, "nobody is signed out"
    person.refresh()
    fresh = person.token
    assert key_of(fresh) != key_of(former)
    assert person.ask(fresh) == [200] * 4
    assert {key_of(former), key_of(fresh)} <= person.published()
    private = [key for key in json.loads((state / "keys" / "gotrue.json").read_text()) if "d" in key]
    assert [key["kid"] for key in private] == [key_of(fresh)], "what signed before can sign no more"

    early = launch(state, "keys", "retire")
    assert early.returncode == 1
    assert "good for another 60 minutes" in early.stderr
    assert person.ask(former) == [200] * 4

    change_keys(state, "retire", "--now")
    assert set(person.ask(former)) <= {400, 401, 403}
    assert person.ask(fresh) == [200] * 4
    assert person.published() == {key_of(fresh)}


def test_a_former_key_is_retired_when_its_last_token_has_expired(state: Path, person: Person) -> None:
    change_keys(state, "new")
    former = person.token
    hour_before = time.time() - 3601
    os.utime(state / "keys" / "auth.json", (hour_before, hour_before))
    change_keys(state, "retire")
    assert 200 not in person.ask(former)
    person.refresh()
    assert person.ask(person.token) == [200] * 4


class Officer:
    """The demo's finance administrator on one session."""

    def __init__(self, stack: Stack) -> None:
        self.http = plain_http.client(base_url=stack.url, headers={"apikey": stack.anon_key}, timeout=30)
        login = {
            "action": "login",
            "email": stack.values["DEMO_FINANCE_EMAIL"],
            "password": stack.values["DEMO_FINANCE_PASSWORD"],
        }
        response = self.http.post("/functions/v1/admin-auth", json=login)
        self.token = str(response.raise_for_status().json()["access_token"])

    def ask(self) -> list[int]:
        """Return the statuses of REST and functions; auth and storage know no administrators."""
        headers = {"authorization": f"Bearer {self.token}"}
        return [
            self.http.post("/rest/v1/rpc/get_admin_overview", headers=headers, json={}).status_code,
            self.http.post("/functions/v1/admin-list-deposits", headers=headers, json={}).status_code,
        ]


def test_the_administrators_key_changes_and_their_sessions_go_on(
    state: Path, stack: Stack, person: Person
) -> None:
    before = Officer(stack)
    assert before.ask() == [200] * 2

    change_keys(state, "new", "--administrators")
    assert before.ask() == [200] * 2, "nobody is signed out"
    after = Officer(stack)
    assert key_of(after.token) != key_of(before.token)
    assert after.ask() == [200] * 2
    change_keys(state, "new")
    change_keys(state, "retire", "--now")
    assert before.ask() == after.ask() == [200] * 2, "members' keys are changed by themselves"
    assert person.published().isdisjoint({key_of(before.token), key_of(after.token)})

    early = launch(state, "keys", "retire", "--administrators")
    assert early.returncode == 1
    assert "good for another 4" in early.stderr, "eight hours, less what has passed"

    change_keys(state, "retire", "--administrators", "--now")
    assert set(before.ask()) <= {400, 401, 403}
    assert after.ask() == [200] * 2
    signing = json.loads((state / "keys" / "admin.json").read_text())
    assert (signing["kid"], "former" in signing) == (key_of(after.token), False)
