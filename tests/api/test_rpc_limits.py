"""A limit of an SQL function counts every call, whatever the client asks of the response.

What PostgREST answers with an error is rolled back, and the hit with it. So a call is either counted, or is
answered in the same way whatever its argument, so that nothing is learnt from it.
"""

import itertools
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.people import Administrator, ApiClient, Member, People
from tests.support.stack import Stack

ONE = "application/vnd.pgrst.object+json"
ACCEPTED = [
    "*/*",
    "application/json",
    ONE,
    f"{ONE};nulls=stripped",
    f"{ONE}, application/json",
    f"application/json;q=0.1, {ONE};q=0.9",
    "application/vnd.pgrst.array+json;nulls=stripped",
    "text/csv",
    "application/octet-stream",
    "application/geo+json",
    "application/vnd.pgrst.plan+json",
    "text/html",
]
ASKED: list[dict[str, str]] = [
    {},
    {"Prefer": "tx=rollback"},
    {"Prefer": "tx=rollback, handling=strict"},
    {"Prefer": "max-affected=0, handling=strict"},
    {"Prefer": "count=exact"},
    {"Prefer": "return=minimal"},
    {"Prefer": "params=single-object"},
    {"Range": "7-9"},
    {"Range": "7-9", "Prefer": "count=exact"},
    {"Range": "0-0"},
]
QUERIES = [
    "?select=id",
    "?select=pgrst_scalar:pgrst_scalar->>code::int",
    "?select=pgrst_scalar->>0::int",
    "?select=pgrst_scalar:pgrst_scalar->0->>username::int",
    "?pgrst_scalar=is.false&select=pgrst_scalar::int",
    "?pgrst_scalar=is.true",
    "?username=eq.x",
    "?limit=0",
    "?offset=1",
]
FUNCTIONS = [
    ("sponsor", "get_sponsor", "p_referral_code"),
    ("username", "is_username_available", "p_username"),
]


@pytest.fixture
def client(anonymous: ApiClient, owner: Owner) -> Iterator[ApiClient]:
    """Yield an anonymous client whose address has not called anything yet."""
    yield anonymous
    for bucket, _, _ in FUNCTIONS:
        _reset(owner, bucket, anonymous.address)


@pytest.fixture
def hits(owner: Owner) -> Callable[[str, str], int]:
    """Return how many calls of an address or account are counted; other tests call at the same time."""

    def count(bucket: str, key: str) -> int:
        query = "select hits as n from private.rate_limits where bucket = %s and key = %s"
        row = owner.execute(query, [bucket, key]).fetchone()
        return int(row["n"]) if row else 0

    return count


def _reset(owner: Owner, bucket: str, key: str) -> None:
    owner.execute("delete from private.rate_limits where bucket = %s and key = %s", [bucket, key])


@pytest.mark.threat("T16")
@pytest.mark.parametrize(("bucket", "function", "argument"), FUNCTIONS)
@pytest.mark.parametrize("query", ["", *QUERIES])
def test_every_call_is_a_hit_or_says_nothing(
    client: ApiClient,
    owner: Owner,
    referrer: Member,
    hits: Callable[[str, str], int],
    bucket: str,
    function: str,
    argument: str,
    query: str,
) -> None:
    path = f"/rest/v1/rpc/{function}{query}"
    with_preferences = [*itertools.product(["*/*", ONE], ASKED[1:])] if not query else []
    for accept, asked in (*((accept, {}) for accept in ACCEPTED), *with_preferences):
        seen = []
        for name in (referrer.username, f"x{secrets.token_hex(6)}"):
            _reset(owner, bucket, client.address)
            response = client.http.post(path, json={argument: name}, headers={"accept": accept, **asked})
            seen.append((hits(bucket, client.address), response.status_code, response.text))
        are_hits = [number for number, _, _ in seen] == [1, 1]
        assert are_hits or seen[0] == seen[1], (accept, asked, seen)


@pytest.mark.threat("T16")
@pytest.mark.parametrize(("bucket", "function", "argument"), FUNCTIONS)
@pytest.mark.parametrize("verb", ["GET", "HEAD"])
def test_reading_calls_say_nothing(
    client: ApiClient,
    hits: Callable[[str, str], int],
    referrer: Member,
    bucket: str,
    function: str,
    argument: str,
    verb: str,
) -> None:
    for accept, name in itertools.product(ACCEPTED, (referrer.username, "nobody_has_this")):
        headers = {"accept": accept}
        response = client.http.request(
            verb, f"/rest/v1/rpc/{function}", params={argument: name}, headers=headers
        )
        assert response.status_code >= 400, accept
        assert referrer.profile_id not in response.text
    assert hits(bucket, client.address) == 0


@pytest.mark.threat("T16")
@pytest.mark.parametrize(
    ("bucket", "function", "argument", "most"),
    [(*function, most) for function, most in zip(FUNCTIONS, (60, 30), strict=True)],
)
@pytest.mark.parametrize("accept", ["application/json", ONE])
def test_one_call_too_many(
    client: ApiClient, owner: Owner, bucket: str, function: str, argument: str, most: int, accept: str
) -> None:
    _reset(owner, bucket, client.address)
    for number in range(most + 1):
        response = client.http.post(
            f"/rest/v1/rpc/{function}", json={argument: f"nobody_{number}"}, headers={"accept": accept}
        )
        assert (response.status_code == 429) == (number == most), number
    assert response.json()["code"] == "too_many_requests"


def test_test_mails_are_limited_likewise(
    people: People, owner: Owner, hits: Callable[[str, str], int]
) -> None:
    administrator: Administrator = people.administrator("super_admin")
    _reset(owner, "test_mail", administrator.admin_id)
    sent = 0
    for accept, asked in ((ONE, {}), ("*/*", ASKED[1]), ("text/csv", ASKED[7]), (ONE, ASKED[3])):
        headers = {"accept": accept, **asked}
        response = administrator.http.post("/rest/v1/rpc/send_test_mail", json={}, headers=headers)
        sent += response.is_success
        assert hits("test_mail", administrator.admin_id) >= sent
    assert administrator.http.get("/rest/v1/rpc/send_test_mail").status_code >= 400
    row = owner.execute(
        "select count(*) as n from private.outbox where template = 'test_mail' and recipient = %s",
        [administrator.email],
    ).fetchone()
    assert row
    assert row["n"] == hits("test_mail", administrator.admin_id)


def test_the_response_is_that_of_rows(client: ApiClient, referrer: Member) -> None:
    def ask(name: str, accept: str) -> tuple[int, Any]:
        response = client.http.post(
            "/rest/v1/rpc/get_sponsor", json={"p_referral_code": name}, headers={"accept": accept}
        )
        return response.status_code, response.json()

    status, found = ask(referrer.username, ONE)
    assert (status, found.keys()) == (200, {"id", "username", "display_name"})
    assert ask(referrer.username, "application/json") == (200, [found])
    assert ask("nobody_has_this", "application/json") == (200, [])
    assert ask("nobody_has_this", ONE) == (
        406,
        {
            "code": "PGRST116",
            "details": "The result contains 0 rows",
            "hint": None,
            "message": "JSON object requested, multiple (or no) rows returned",
        },
    )


PLANNED = [
    ["count=planned"],
    ["count=estimated"],
    ["return=representation, count=planned"],
    ["return=representation,count=planned,tx=commit"],
    ["return=minimal ,\tcount=planned"],
    ["count=planned", "return=minimal"],
    ["return=minimal", "count=planned"],
    ["count=exact", "count=planned"],
    ["count=planned", "count=exact"],
    ["COUNT=planned"],
    ["count=Planned"],
    ["count = planned"],
    ['count="planned"'],
]


@pytest.mark.threat("T14")
@pytest.mark.parametrize("table", ["transactions", "deposits", "withdrawals", "bonuses", "notifications"])
def test_members_count_no_rows_of_others(stack: Stack, owner: Owner, referrer: Member, table: str) -> None:
    row = owner.execute(
        f"select user_id::text as id, count(*) as n from public.{table} where user_id <> %s"
        " group by 1 order by 2 desc limit 1",
        [referrer.user_id],
    ).fetchone()
    assert row
    assert row["n"] > 0
    owner.execute(f"analyze public.{table}")
    client = [("apikey", stack.anon_key), ("authorization", f"Bearer {referrer.token}")]
    for prefer, verb in itertools.product(PLANNED, ("HEAD", "GET")):
        url = f"{stack.url}/rest/v1/{table}?select=id&user_id=eq.{row['id']}"
        headers = [*client, *(("prefer", value) for value in prefer)]
        response = plain_http.request(verb, url, headers=headers, timeout=20)
        total = response.headers.get("content-range", "*/*")
        assert response.status_code == 400 or total in ("*/*", "*/0"), (verb, prefer, total)


@pytest.mark.threat("T14")
def test_the_database_sees_repeated_headers_as_one(stack: Stack, referrer: Member) -> None:
    client = [("apikey", stack.anon_key), ("authorization", f"Bearer {referrer.token}")]
    for prefer in (["count=planned", "return=minimal"], ["return=minimal", "count=planned"]):
        headers = [*client, *(("prefer", value) for value in prefer)]
        response = plain_http.get(f"{stack.url}/rest/v1/transactions?select=id", headers=headers, timeout=20)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_input")


UNDER_WAY = "Too many of your requests are under way. Try again in a moment."


@contextmanager
def under_way(stack: Stack, person: str, requests: int = 3) -> Iterator[psycopg.Connection[Any]]:
    """Hold the places of so many of a person's requests until the connection commits."""
    place = "select pg_advisory_xact_lock(private.lock_key('place'), hashtext(%s || %s))"
    with psycopg.connect(stack.database_url) as connection:
        for number in range(requests):
            connection.execute(place, [person, number + 1])
        yield connection


@pytest.mark.threat("T122")
def test_a_person_asks_postgrest_three_things_at_once(
    stack: Stack, member: Member, referrer: Member, finance: Administrator
) -> None:
    def own(person: Member) -> Any:
        return person.http.get(f"/rest/v1/profiles?select=id&user_id=eq.{person.user_id}")

    with under_way(stack, member.user_id, 2):
        assert own(member).status_code == 200
    with under_way(stack, member.user_id), under_way(stack, finance.admin_id):
        assert own(referrer).status_code == 200
        for crowded in (own(member), finance.http.post("/rest/v1/rpc/list_settings", json={})):
            assert (crowded.status_code, crowded.json()["code"]) == (429, "too_many_requests")
            assert crowded.headers["retry-after"] == "1"
            assert crowded.json()["message"] == UNDER_WAY
        # Functions have connections of their own.
        assert finance.http.post("/functions/v1/admin-list-deposits", json={}).status_code == 200


def test_a_place_that_becomes_free_at_once_is_taken(stack: Stack, member: Member, owner: Owner) -> None:
    waiting = "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
    with under_way(stack, member.user_id) as connection, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(member.http.get, "/rest/v1/profiles?select=id")
        while not owner.execute(waiting, [connection.info.backend_pid]).fetchone():
            assert not asked.done(), "nobody waited"
            time.sleep(0.001)
        connection.commit()
        assert asked.result().status_code == 200
