"""What responses must not reveal and requests must not do: internals, PostgREST's switches, SQL, CSRF."""

import re
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support import plain_http
from tests.support.people import Administrator, ApiClient, Member, People, until_served
from tests.support.principals import signed
from tests.support.stack import Stack

INTERNALS = re.compile(
    r"Failing row|Traceback|\.py\b|psycopg|asyncpg|SELECT |INSERT INTO|UPDATE private|private\.|CONTEXT:|"
    r"PL/pgSQL|/work/|/usr/|site-packages|relation \"|constraint \"",
)
ANONYMOUS = "7d0ab7a4-5c3b-4a3e-8f55-0c2f1b1f9a10"
PAYLOADS = (
    "'",
    "' or '1'='1",
    "'; drop table public.deposits; --",
    "1); select pg_sleep(20); --",
    "%27%20or%201=1",
    "\\'; select 1",
    "{{7*7}}",
    "${jndi:ldap://127.0.0.1/a}",
    "../../etc/passwd",
    "*,profiles(*)",
    "a.desc;select 1",
    "null)) or ((true",
)


def internals_in(response: httpx.Response) -> str:
    """Return the internals that a response reveals, if any."""
    found = INTERNALS.search(response.text)
    return found[0] if found else ""


@pytest.mark.threat("T118")
@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("deposits", {"amount": "NaN"}),
        ("deposits", {"amount": 50, "reference_number": "x" * 100_000}),
        ("deposits", {"id": "x"}),
        ("deposits", {"no_such_column": 1}),
        ("deposits", {}),
        ("deposits", []),
        ("withdrawals", {"amount": 1e308}),
        ("withdrawals", {"wallet_address": "\u0000"}),
        ("bonuses", {"amount": 5}),
        ("no_such_table", {}),
    ],
)
def test_rejected_rows_reveal_no_internals(member: Member, table: str, row: object) -> None:
    sent = {"user_id": member.user_id, "status": "pending", **row} if isinstance(row, dict) and row else row
    response = member.insert(table, sent)
    assert response.status_code < 500, response.text
    assert not internals_in(response), response.text


@pytest.mark.threat("T116", "T118")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_sql_in_whatever_is_sent_is_text(member: Member, finance: Administrator, payload: str) -> None:
    member_asks = [
        member.http.get("/rest/v1/deposits", params={"or": f"({payload})"}),
        member.http.get("/rest/v1/deposits", params={"order": payload}),
        member.http.get("/rest/v1/deposits", params={"select": payload}),
        member.http.get("/rest/v1/deposits", params={"reference_number": f"eq.{payload}"}),
        member.rpc("get_sponsor", {"p_referral_code": payload}),
        member.rpc("get_transaction_history", {"p_before": payload}),
        member.rpc("get_earnings", {"p_range": payload}),
        member.http.post("/storage/v1/object/list/receipts", json={"prefix": payload, "search": payload}),
    ]
    administrator_asks = [
        finance.function("admin-list-deposits", {"page": 1, "search": payload}),
        finance.function("admin-list-withdrawals", {"page": 1, "sort": payload[:60]}),
        finance.function("admin-get-transactions", {"page": 1, "status": payload[:20]}),
        finance.function("admin-get-receipt", {"receiptUrl": payload}),
        finance.rpc("list_members", {"p_filters": {"search": payload, "sort": payload}}),
    ]
    for response in member_asks + administrator_asks:
        assert response.status_code < 500, f"{response.request.url}: {response.text}"
        assert not internals_in(response), f"{response.request.url}: {response.text}"
        # Who slept would be woken after 8 s, when a statement ends.
        assert response.elapsed.total_seconds() < 7


@pytest.mark.threat("T118")
def test_unknown_paths_of_every_service_show_nothing(member: Member) -> None:
    for path in ("/rest/v1/rpc/nothing", "/auth/v1/nothing", "/storage/v1/nothing", "/functions/v1/nothing"):
        response = member.http.post(path, json={})
        assert response.status_code == 404
        assert not internals_in(response), response.text


@pytest.mark.threat("T123")
def test_no_request_undoes_itself(member: Member) -> None:
    """`tx=rollback` would report a row as stored that is not, or store one in spite of it: it is rejected."""
    row = member.deposit_row(50)
    headers = {"prefer": "tx=rollback, return=representation"}
    response = member.http.post("/rest/v1/deposits", json=row, headers=headers)
    assert response.status_code == 400
    assert member.rows("deposits", f"id=eq.{row['id']}").json() == []


@pytest.mark.threat("T123")
def test_no_plans(member: Member) -> None:
    response = member.http.get("/rest/v1/deposits", headers={"accept": "application/vnd.pgrst.plan+json"})
    assert response.status_code == 415
    assert "Plan" not in response.text


@pytest.mark.threat("T123", "T14")
@pytest.mark.parametrize("select", ["count()", "amount.sum()", "total:amount.avg()", "user_id,amount.max()"])
def test_no_aggregates(member: Member, select: str) -> None:
    response = member.rows("deposits", f"select={select}")
    assert response.status_code == 400, response.text
    assert response.json()["code"] == "PGRST123"


@pytest.mark.threat("T119")
def test_no_description_of_the_database(anonymous: ApiClient, member: Member) -> None:
    for client, status in ((anonymous, 401), (member, 404)):
        response = client.http.get("/rest/v1/")
        assert response.status_code == status
        assert "definitions" not in response.text


@pytest.mark.threat("T115")
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_of_another_site_changes_nothing(
    member: Member, super_admin: Administrator, kind: str
) -> None:
    """Another site can send these content types without preflight; with or without a token they fail."""
    body = b'{"action": "logout"}'
    stack = member.stack
    alone = plain_http.post(
        f"{stack.url}/functions/v1/admin-auth", content=body, headers={"content-type": kind}, timeout=20
    )
    assert alone.status_code in (401, 415)
    response = super_admin.http.post("/functions/v1/admin-auth", content=body, headers={"content-type": kind})
    assert response.status_code == 415, response.text
    assert super_admin.rpc("touch_admin_session").status_code == 200


HOSTILE = {
    "embeds": "select=" + ",".join(f"a{n}:profiles(*)" for n in range(300)),
    "encoded embeds": "%73elect=" + ",".join(f"a{n}:profiles%28%2A%29" for n in range(300)),
    "conditions": "or=(" + ",".join(["id.not.is.null"] * 3000) + ")",
    "encoded conditions": "%6F%72=%28" + "%2C".join(["id.not.is.null"] * 3000) + "%29",
    "order": "order=" + ",".join(["id", "amount", "status", "created_at"] * 1000),
}


@pytest.mark.threat("T122")
def test_fifty_expensive_questions_at_once_hold_no_other_client_up(people: People, member: Member) -> None:
    """From five addresses, by anonymous clients and by a member; each would take seconds of both cores."""
    strangers = [people.stranger() for _ in range(5)]
    members = [ApiClient(member.stack, member.token, client.address) for client in strangers]
    names = {f"k{n}{'x' * 4000}": 1 for n in range(20)}
    deep = '{"p_referral_code":' + "[" * 400_000 + "]" * 400_000 + "}"

    def ask(number: int) -> tuple[int, int]:
        client = (members if number % 2 else strangers)[number // 2 % 5]
        if number % 7 == 5:
            response = client.rpc("get_sponsor", names)
        elif number % 7 == 6:
            response = client.http.post("/rest/v1/rpc/get_sponsor", content=deep)
        else:
            response = client.rows("deposits", list(HOSTILE.values())[number % 7])
        return number % 2, response.status_code

    started = time.monotonic()
    with ThreadPoolExecutor(50) as crowd:
        asked = [crowd.submit(ask, number) for number in range(50)]
        others = [strangers[number % 5].rpc("get_platform") for number in range(10)]
        found = {request.result() for request in asked}
    assert {response.status_code for response in others} == {200}
    assert found <= {(0, 401), (0, 413), (1, 400), (1, 413)}
    assert time.monotonic() - started < 10


@pytest.mark.threat("T122")
def test_another_anonymous_token_is_checked_before_its_question_is_planned(
    stack: Stack, member: Member
) -> None:
    for claims in ({"role": "anon"}, {}, {"role": "anon", "sub": member.user_id}):
        client = ApiClient(stack, signed("auth", claims))
        assert client.rpc("get_platform").status_code == 200
        # Planning would find that there is no such column.
        table = client.rows("deposits", "no_such_column=eq.1")
        assert (table.status_code, table.json()["code"]) == (401, "42501"), table.text
        assert table.json()["message"] == "permission denied for table deposits"
        function = client.rpc("get_my_account_status?no_such_column=eq.1")
        assert function.json()["message"] == "permission denied for function get_my_account_status"


@pytest.mark.threat("T122")
def test_a_thousand_rows_are_the_most(finance: Administrator) -> None:
    started = time.monotonic()
    response = finance.rows("transactions", "select=id&limit=1000000")
    assert response.status_code in (200, 206)
    assert len(response.json()) <= 1000
    assert time.monotonic() - started < 8


@pytest.mark.parametrize("text", ["a\r\nx-evil: yes", "a\nb", "\u2603"])
@pytest.mark.parametrize("field", ["cacheControl", "mimetype"])
def test_what_is_said_of_a_copy_breaks_no_header(member: Member, field: str, text: str) -> None:
    source = member.receipt().split("/receipts/")[1]
    value = f"image/png;{text}" if field == "mimetype" else text
    asked = {
        "bucketId": "receipts",
        "sourceKey": source,
        "destinationKey": f"{member.user_id}/1234567891.png",
        "copyMetadata": False,
        "metadata": {field: value},
    }
    response = member.http.post("/storage/v1/object/copy", json=asked)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidRequest"), response.text


@pytest.mark.parametrize(
    "date", [f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT", f"Mon, 01 Jan 2024 00:00:00 +{'9' * 20}"]
)
def test_a_date_that_no_calendar_has_is_ignored(member: Member, date: str) -> None:
    path = member.receipt().split("/public/")[1]
    response = member.http.get(f"/storage/v1/object/{path}", headers={"if-modified-since": date})
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("folders", [True, False])
@pytest.mark.parametrize(
    ("moment", "status"),
    [("2026-W47-1", 200), ("2026-01-01T00", 200), ("0001-01-01T00:00:00+23:59", 400), ("9" * 5000, 400)],
)
def test_a_moment_in_a_cursor_that_only_python_reads(
    member: Member, moment: str, status: int, folders: bool
) -> None:
    cursor = b64encode(f"l:x\no:asc\nc:created_at\na:{moment}".encode()).decode()
    asked = {"cursor": cursor, "with_delimiter": folders}
    response = member.http.post("/storage/v1/object/list-v2/receipts", json=asked)
    assert response.status_code == status, response.text


@pytest.mark.parametrize("size", ["9" * 400, "9" * 400 + ".5kb"])
def test_a_size_of_four_hundred_digits(people: People, size: str) -> None:
    service = ApiClient(people.stack, people.stack.service_key)
    response = service.http.post("/storage/v1/bucket", json={"name": "huge", "file_size_limit": size})
    assert (response.status_code, response.json()["code"]) == (400, "EntityTooLarge"), response.text


def test_json_too_deep_to_be_read(finance: Administrator) -> None:
    response = finance.http.post(
        "/functions/v1/admin-list-deposits",
        content="[" * 990 + "]" * 990,
        headers={"content-type": "application/json"},
    )
    assert (response.status_code, response.json()) == (
        400,
        {"error": "The request is not valid JSON.", "code": "invalid_input"},
    )


@pytest.mark.threat("T58", "T118")
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("admin-export", {"list": "deposits", "filters": {"search": "\u0000"}}),
        ("admin-list-deposits", {"page": 1, "search": "\u0000"}),
        ("admin-settings", {"action": "change", "key": "support", "value": {"name": "\u0000"}}),
    ],
)
def test_a_character_that_cannot_be_stored(
    super_admin: Administrator, name: str, body: dict[str, object]
) -> None:
    response = until_served(lambda: super_admin.function(name, body))
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input"), response.text


@pytest.mark.threat("T126")
def test_a_long_body_with_a_rejected_token_costs_no_other_client_a_request(member: Member) -> None:
    """PostgREST hangs up after it, and writes are sent once."""
    path = "/rest/v1/rpc/get_notifications"

    def reject(_: int) -> int:
        headers = {"authorization": "Bearer not.a.token"}
        return member.http.post(path, headers=headers, json={"x": "x" * 20_000}).status_code

    def ask(_: int) -> int:
        return member.http.post(path, json={}).status_code

    # A person has three places.
    with ThreadPoolExecutor(9) as crowd, ThreadPoolExecutor(3) as person:
        rejected = crowd.map(reject, range(600))
        asked = person.map(ask, range(300))
        assert (set(rejected), set(asked)) == ({401}, {200})
