"""The response of every endpoint to every principal, as authorisation.csv lists them; none is missing there.

With AUTHORISATION_OUT set, the actual responses are also written to that file, to compare and read.
"""

import csv
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.endpoints import Endpoint, Requests, found
from tests.support.people import Administrator, Member, People, until_served
from tests.support.principals import PRINCIPALS, SERVICES_OF_MEMBERS, UNTRUSTED, PrincipalClients
from tests.support.states import set_member

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

    def __init__(self, people: People, owner: psycopg.Connection[dict[str, Any]], referrer: Member) -> None:
        self.owner = owner
        self.finance: Administrator = people.administrator("finance_admin")
        self.member = people.member(referrer.profile_id)
        people.fund(self.member, 1000, self.finance)
        people.fund(people.member(self.member.profile_id), 50, self.finance)
        account = {"mt5_server": "Demo-1", "mt5_login": "1", "mt5_password": "planted"}
        for bot, action in (("Scout", "subscribe"),):
            request = {"bot_name": bot, "action": action, **account}
            self.member.function("bot-subscription", request).raise_for_status()
        blocked = people.member(referrer.profile_id)
        set_member(owner, blocked.user_id, account_status="suspended")
        stored = owner.execute(
            "select name from storage.objects where bucket_id = 'receipts' and owner_id = %s",
            [self.member.user_id],
        ).fetchone()
        assert stored
        self.requests = Requests(owner, self.member, stored["name"])
        self.principals = PrincipalClients(
            people, self.member, people.member(referrer.profile_id), people.sign_in_blocked(blocked).token
        )
        self.await_notifications()

    def await_notifications(self) -> None:
        """Wait until the worker has notified of what was earned so far, which it does in its own time."""
        newest = self.owner.execute("select max(id) as id from private.audit_log").fetchone()
        assert newest
        waiting = (
            "select d.id from private.earnings_state as s"
            " cross join private.credited_decisions(s.entry_id, %s, 1) as d"
        )
        while self.owner.execute(waiting, [newest["id"]]).fetchone():
            time.sleep(0.1)

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

    def responses(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the response to each principal, in the notation of the matrix."""
        responses = {}
        for principal in PRINCIPALS:
            if principal == "service" and endpoint.service in SERVICES_OF_MEMBERS:
                responses[principal] = NOT_ASKED
                continue
            call = self.requests.of(endpoint, principal)
            client = self.principals.client(principal, endpoint.service)
            response = until_served(
                lambda client=client, call=call: client.request(
                    endpoint.method, call.path, **call.arguments()
                )
            )
            responses[principal] = cell(response, "/rpc/" not in endpoint.template)
        return responses


def cell(response: httpx.Response, with_count: bool) -> str:
    """Return the status, and the code of an error or the number of rows that are not errors themselves."""
    try:
        body = response.json()
    except ValueError:
        return str(response.status_code)
    rows = body.get("objects") if isinstance(body, dict) else body
    if isinstance(rows, list) and with_count:
        return f"{response.status_code} {sum(not row.get('error') for row in rows)}"
    code = body.get("error_code") or body.get("code") if isinstance(body, dict) else None
    return (
        f"{response.status_code} {code}"
        if code and response.status_code >= 400
        else str(response.status_code)
    )


def matrix() -> dict[Endpoint, dict[str, str]]:
    with MATRIX.open(newline="") as file:
        return {Endpoint(row.pop("method"), row.pop("endpoint")): row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def world(people: People, owner: psycopg.Connection[dict[str, Any]], referrer: Member) -> Iterator[World]:
    made = World(people, owner, referrer)
    yield made
    made.principals.close()


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
def test_every_principal_gets_the_response_of_the_matrix(world: World) -> None:
    wanted, differences, responses = matrix(), [], {}
    before = world.fingerprint()
    for endpoint in found(world.owner):
        responses[endpoint] = world.responses(endpoint)
        row = wanted.get(endpoint, {})
        differences += [
            f"{endpoint.method} {endpoint.template} as {principal}: {text}, not {row.get(principal)}"
            for principal, text in responses[endpoint].items()
            if row.get(principal) != text
        ]
        if endpoint.method not in ("GET", "HEAD") and world.fingerprint() != before:
            differences.append(f"{endpoint.method} {endpoint.template} changed something")
            before = world.fingerprint()
    if "AUTHORISATION_OUT" in os.environ:
        _write(Path(os.environ["AUTHORISATION_OUT"]), responses)
    assert not differences, "\n".join(differences)


def _write(path: Path, responses: dict[Endpoint, dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", "endpoint", *PRINCIPALS])
        writer.writerows([e.method, e.template, *cells.values()] for e, cells in responses.items())


@pytest.mark.threat("T70")
def test_the_matrix_itself_accepts_no_forged_token() -> None:
    """Whatever its rows say: false tokens open nothing that is closed to the public."""
    for endpoint, row in matrix().items():
        public = row["anon"].startswith(("2", "3")) or row["none"].startswith(("2", "3"))
        for principal in UNTRUSTED:
            assert public or row[principal].startswith("4"), (endpoint, principal)
        assert not any(text.startswith("5") for text in row.values() if not text.startswith("501")), endpoint


@pytest.mark.threat("T65")
def test_the_matrix_itself_gives_administrators_functions_to_administrators_alone() -> None:
    for endpoint, row in matrix().items():
        if "/admin-" in endpoint.template or "/auth/v1/admin/" in endpoint.template:
            for principal in ("none", "anon", "member", "other", "suspended", *UNTRUSTED):
                assert row[principal].startswith(("401", "403", "404")), (endpoint, principal)
        if endpoint.service == "functions" and endpoint.method == "POST":
            assert row["service"].startswith(("401", "403")), endpoint
