"""The response of every endpoint to every principal, as authorisation.csv lists them; none is missing there.

With AUTHORISATION_OUT set, the actual responses are also written to that file, to compare and read.
"""

import csv
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.callers import CALLERS, SERVICES_OF_MEMBERS, UNTRUSTED, Callers
from tests.support.endpoints import Endpoint, Requests, found
from tests.support.people import Administrator, Member, People, until_served

MATRIX = Path(__file__).with_name("authorisation.csv")
# Whatever the requests aim at; none of them may change a thing in it.
AIMS = (
    "private.profiles where user_id = %(member)s",
    "public.deposits where user_id = %(member)s",
    "public.withdrawals where user_id = %(member)s",
    "public.bonuses where user_id = %(member)s",
    "public.transactions where user_id = %(member)s",
    "public.bot_subscriptions where user_id = %(member)s",
    "public.notifications where user_id = %(member)s",
    "private.bot_secrets where subscription_id in"
    " (select id from public.bot_subscriptions where user_id = %(member)s)",
    "storage.objects where bucket_id = 'receipts' and owner_id = %(member)s::text",
    "storage.buckets where id = 'receipts'",
    "private.settings where key = 'demo'",
)
# Every request and every read updates these.
UNSTEADY = ("updated_at", "last_accessed_at")
# The service key may do everything with accounts and files.
NOT_ASKED = "-"


class World:
    """The stack with a member who has a row of every kind, and all principals."""

    def __init__(self, people: People, owner: psycopg.Connection[dict[str, Any]], sponsor: Member) -> None:
        self.owner = owner
        self.finance: Administrator = people.administrator("finance_admin")
        self.member = people.member(sponsor.profile_id)
        people.fund(self.member, 1000, self.finance)
        people.fund(people.member(self.member.profile_id), 50, self.finance)
        account = {"mt5_server": "Demo-1", "mt5_login": "1", "mt5_password": "planted"}
        for bot, action in (("Scout", "subscribe"),):
            request = {"bot_name": bot, "action": action, **account}
            self.member.function("bot-subscription", request).raise_for_status()
        blocked = people.member(sponsor.profile_id)
        owner.execute(
            "update private.profiles set account_status = 'suspended' where user_id = %s", [blocked.user_id]
        )
        stored = owner.execute(
            "select name from storage.objects where bucket_id = 'receipts' and owner_id = %s",
            [self.member.user_id],
        ).fetchone()
        assert stored
        self.requests = Requests(owner, self.member, stored["name"])
        self.callers = Callers(
            people, self.member, people.member(sponsor.profile_id), people.sign_in_blocked(blocked).token
        )

    def fingerprint(self) -> str:
        """Return the current state of the rows that requests aim at, read as the database's owner."""
        digest = hashlib.sha256()
        for aim in AIMS:
            drop = "".join(f" - '{column}'" for column in UNSTEADY)
            table = aim.split(" ")[0]
            rows = self.owner.execute(
                f"select (to_jsonb({table.split('.')[1]}.*){drop})::text as line from {aim} order by 1",
                {"member": self.member.user_id},
            )
            digest.update(repr([row["line"] for row in rows.fetchall()]).encode())
        return digest.hexdigest()

    def answers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the response to each principal, in the notation of the matrix."""
        answers = {}
        for caller in CALLERS:
            if caller == "service" and endpoint.service in SERVICES_OF_MEMBERS:
                answers[caller] = NOT_ASKED
                continue
            call = self.requests.of(endpoint, caller)
            client = self.callers.client(caller, endpoint.service)
            answer = until_served(
                lambda client=client, call=call: client.request(
                    endpoint.method, call.path, **call.arguments()
                )
            )
            answers[caller] = cell(answer, "/rpc/" not in endpoint.template)
        return answers


def cell(answer: httpx.Response, counted: bool) -> str:
    """Return the status, and the code of an error or the number of rows that are not errors themselves."""
    try:
        body = answer.json()
    except ValueError:
        return str(answer.status_code)
    rows = body.get("objects") if isinstance(body, dict) else body
    if isinstance(rows, list) and counted:
        return f"{answer.status_code} {sum(not row.get('error') for row in rows)}"
    code = body.get("error_code") or body.get("code") if isinstance(body, dict) else None
    return f"{answer.status_code} {code}" if code and answer.status_code >= 400 else str(answer.status_code)


def matrix() -> dict[Endpoint, dict[str, str]]:
    with MATRIX.open(newline="") as file:
        return {Endpoint(row.pop("method"), row.pop("endpoint")): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def world(people: People, owner: psycopg.Connection[dict[str, Any]], sponsor: Member) -> Iterator[World]:
    made = World(people, owner, sponsor)
    yield made
    made.callers.close()


def test_every_endpoint_is_in_the_matrix(owner: psycopg.Connection[dict[str, Any]]) -> None:
    existing = set(found(owner))
    assert sorted(map(str, existing - set(matrix()))) == []
    assert sorted(map(str, set(matrix()) - existing)) == []


@pytest.mark.threat(
    "T04",
    "T05",
    "T06",
    "T12",
    "T13",
    "T21",
    "T23",
    "T24",
    "T35",
    "T38",
    "T40",
    "T42",
    "T54",
    "T58",
    "T60",
    "T63",
    "T65",
    "T70",
    "T74",
    "T90",
    "T91",
    "T92",
    "T94",
    "T105",
    "T106",
)
def test_everybody_is_answered_as_the_matrix_says(world: World) -> None:
    wanted, differences, answered = matrix(), [], {}
    before = world.fingerprint()
    for endpoint in found(world.owner):
        answered[endpoint] = world.answers(endpoint)
        row = wanted.get(endpoint, {})
        differences += [
            f"{endpoint.method} {endpoint.template} as {caller}: {text}, not {row.get(caller)}"
            for caller, text in answered[endpoint].items()
            if row.get(caller) != text
        ]
        if endpoint.method not in ("GET", "HEAD") and world.fingerprint() != before:
            differences.append(f"{endpoint.method} {endpoint.template} changed something")
            before = world.fingerprint()
    if "AUTHORISATION_OUT" in os.environ:
        _write(Path(os.environ["AUTHORISATION_OUT"]), answered)
    assert not differences, "\n".join(differences)


def _write(path: Path, answered: dict[Endpoint, dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "endpoint", *CALLERS])
        writer.writerows([e.method, e.template, *cells.values()] for e, cells in answered.items())


@pytest.mark.threat("T70")
def test_the_matrix_itself_lets_nobody_in_with_a_false_token() -> None:
    """Whatever its rows say: false tokens open nothing that is closed to the public."""
    for endpoint, row in matrix().items():
        public = row["anon"].startswith(("2", "3")) or row["none"].startswith(("2", "3"))
        for caller in UNTRUSTED:
            assert public or row[caller].startswith("4"), (endpoint, caller)
        assert not any(text.startswith("5") for text in row.values() if not text.startswith("501")), endpoint


@pytest.mark.threat("T65")
def test_the_matrix_itself_gives_administrators_functions_to_administrators_alone() -> None:
    for endpoint, row in matrix().items():
        if "/admin-" in endpoint.template or "/auth/v1/admin/" in endpoint.template:
            for caller in ("none", "anon", "member", "other", "suspended", *UNTRUSTED):
                assert row[caller].startswith(("401", "403", "404")), (endpoint, caller)
        if endpoint.service == "functions" and endpoint.method == "POST":
            assert row["service"].startswith(("401", "403")), endpoint
