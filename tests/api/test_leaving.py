"""A member leaves: takes the own data along and closes the account; an administrator does it for who asks."""

import asyncio
import csv
import io
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import psycopg
import pytest
from psycopg.rows import dict_row

from functions.core.errors import ApiError
from functions.edge.support import member_data
from functions.edge.support.auth_admin import AuthAdmin
from functions.edge.support.services import DOWNLOADS_AT_ONCE
from tests.api.conftest import Owner
from tests.support.endpoints import ANONYMOUS
from tests.support.own_edge import OwnEdge
from tests.support.people import Administrator, ApiClient, Member, People, until_served
from tests.support.principals import claims_of, signed
from tests.support.stack import Stack

Data = dict[str, Any]


def unpack(response: httpx.Response) -> tuple[Data, dict[str, list[dict[str, str]]]]:
    """Return the JSON document of a file, and its CSV files by the name of the list."""
    assert response.status_code == 200, response.text
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert archive.testzip() is None
        lists = {
            name.removesuffix(".csv"): list(
                csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig"), newline=""))
            )
            for name in archive.namelist()
            if name.endswith(".csv")
        }
        return orjson.loads(archive.read("data.json")), lists


def download(client: ApiClient, name: str = "download-data", body: Any = None) -> httpx.Response:
    """Ask for a file."""
    return until_served(lambda: client.function(name, body))


def an_hour_later(member: Member) -> ApiClient:
    """Return the member with the same session, whose password was shown an hour ago."""
    claims = claims_of(member.token)
    shown = [{**method, "timestamp": method["timestamp"] - 3600} for method in claims["amr"]]
    return ApiClient(member.stack, signed("auth", {**claims, "amr": shown}), member.address)


def profile_of(owner: Owner, member: Member) -> dict[str, Any]:
    """Return what is stored of a member, read as the database's owner."""
    row = owner.execute("select * from private.profiles where user_id = %s", [member.user_id]).fetchone()
    assert row
    return row


def audited(owner: Owner, actor: str, action: str, member: Member) -> list[dict[str, Any]]:
    """Return the payloads of an actor's entries about a member."""
    rows = owner.execute(
        "select payload from private.audit_log where actor = %s and action = %s and object_id = %s",
        [actor, action, member.profile_id],
    )
    return [row["payload"] for row in rows.fetchall()]


def test_a_member_takes_everything_along(
    people: People, finance: Administrator, referrer: Member, owner: Owner
) -> None:
    member = people.earner(referrer.profile_id, finance)
    member.insert("withdrawals", member.withdrawal_row(100)).raise_for_status()
    body = {"depositId": member.deposit(120)["id"], "action": "ask_rest", "receivedAmount": "60.00"}
    finance.function("admin-approve-deposit", body).raise_for_status()
    finance.approve_deposit(member.deposit(80)["id"], receivedAmount="79.50").raise_for_status()
    child = people.member(member.profile_id)
    child.patch("profiles", f"user_id=eq.{child.user_id}", {"display_name": "=1+1"}).raise_for_status()
    response = download(member)
    assert response.headers["content-type"] == "application/zip"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["content-disposition"].startswith('attachment; filename="member-data-20')
    data, lists = unpack(response)
    assert list(lists) == list(member_data.LISTS)
    assert {name: len(rows) for name, rows in lists.items()} == {
        name: len(data[name]) for name in member_data.LISTS
    }
    for name, columns in member_data.LISTS.items():
        assert all(set(row) == set(columns) for row in data[name]), name
    (profile,) = data["profile"]
    assert (profile["email"], profile["available_balance"]) == (member.email, "1100.00")
    assert lists["profile"][0]["available_balance"] == "1100.00"
    assert [row["amount"] for row in data["withdrawals"]] == ["100.00"]
    assert [row["received_amount"] for row in data["deposits"]] == [None, None, "79.50"]
    assert [row["received_amount"] for row in data["deposit_rests"]] == ["60.00"]
    assert data["receipts"][0]["name"] == data["deposits"][0]["receipt_name"]
    assert len(data["bonuses"]) == 3
    # A formula is text in a spreadsheet, and as it was typed in JSON.
    assert data["direct_referrals"][-1]["display_name"] == "=1+1"
    assert lists["direct_referrals"][-1]["display_name"] == "'=1+1"
    assert child.email not in response.text
    assert child.email.encode() not in orjson.dumps(data)
    assert audited(owner, f"member:{member.user_id}", "member.data_downloaded", member)


@pytest.mark.threat("T134")
def test_an_old_sign_in_neither_downloads_nor_closes(member: Member, owner: Owner) -> None:
    later = an_hour_later(member)
    for name, body in (("download-data", {}), ("close-account", {"confirmed": True})):
        response = later.function(name, body)
        assert (response.status_code, response.json()["code"]) == (403, "reauthentication_needed"), name
    assert profile_of(owner, member)["closed_at"] is None
    assert not audited(owner, f"member:{member.user_id}", "member.data_downloaded", member)


@pytest.mark.threat("T35", "T134")
def test_a_blocked_member_asks_an_administrator(
    people: People, member: Member, support: Administrator, finance: Administrator, owner: Owner
) -> None:
    body = {"profileId": member.profile_id, "account_status": "suspended", "reason": "Shared password"}
    support.function("admin-update-member", body).raise_for_status()
    back = people.sign_in_blocked(member)
    for name in ("download-data", "close-account"):
        response = back.function(name, {"confirmed": True})
        assert (response.status_code, response.json()["code"]) == (403, "account_suspended"), name
    assert profile_of(owner, member)["closed_at"] is None
    asked = {"profileId": member.profile_id, "reason": "Asked by mail"}
    data, _ = unpack(download(finance, "admin-download-data", asked))
    assert data["profile"][0]["account_status"] == "suspended"
    assert any(notice["kind"] == "data_downloaded" for notice in data["notifications"])
    (payload,) = audited(owner, f"admin:{finance.admin_id}", "member.data_downloaded", member)
    assert payload["reason"] == "Asked by mail"


@pytest.mark.threat("T135")
def test_only_who_may_read_receipts_downloads_for_a_member(
    member: Member, people: People, referrer: Member, support: Administrator, owner: Owner
) -> None:
    other = people.member(referrer.profile_id)
    body = {"profileId": member.profile_id, "reason": "Asked by mail"}
    for who in (support, other):
        for name, more in (("admin-download-data", {}), ("admin-close-account", {"confirmed": True})):
            response = who.function(name, {**body, **more})
            assert (response.status_code, response.json()["code"]) == (403, "forbidden"), name
    # A name in the body of the own download names nobody.
    data, _ = unpack(download(other, "download-data", {**body, "userId": member.user_id}))
    assert data["profile"][0]["user_id"] == other.user_id
    assert profile_of(owner, member)["closed_at"] is None


def test_a_member_closes_the_account_after_a_warning(
    people: People, finance: Administrator, referrer: Member, owner: Owner
) -> None:
    member = people.earner(referrer.profile_id, finance)
    member.insert("withdrawals", member.withdrawal_row(150)).raise_for_status()
    member.deposit(75.5)
    warned = member.function("close-account")
    assert (warned.status_code, warned.json()["code"]) == (409, "money_left")
    assert orjson.loads(warned.json()["details"]) == {
        "available": "1100.00",
        "requestable": "950.00",
        "pending_withdrawals": "150.00",
        "pending_deposits": "75.50",
    }
    assert profile_of(owner, member)["closed_at"] is None

    assert member.function("close-account", {"confirmed": True}).json() == {"success": True}
    stored = profile_of(owner, member)
    assert (stored["account_status"], stored["email"]) == ("disabled", None)
    assert stored["trc20_wallet_address"] is None
    left = owner.execute("select from auth.users where id = %s", [member.user_id])
    assert left.rowcount == 0
    statuses = owner.execute(
        "select status::text, admin_notes from public.deposits where user_id = %(id)s and amount = 75.5"
        " union all select status::text, admin_notes from public.withdrawals where user_id = %(id)s",
        {"id": member.user_id},
    )
    assert [tuple(row.values()) for row in statuses] == [("rejected", "Account closed")] * 2
    (payload,) = audited(owner, f"member:{member.user_id}", "member.closed", member)
    assert payload["money_left"]["requestable"] == "950.00"
    # A repeat, because the first response was lost, finds the session ended and changes nothing.
    again = member.function("close-account", {"confirmed": True})
    assert (again.status_code, again.json()["code"]) == (401, "session_ended")
    assert profile_of(owner, member) == stored


def test_a_super_admin_closes_an_account_that_is_asked_for(
    member: Member, super_admin: Administrator, finance: Administrator, owner: Owner
) -> None:
    member.deposit(50)
    body = {"profileId": member.profile_id, "reason": "Asked by mail"}
    assert finance.function("admin-close-account", {**body, "confirmed": True}).status_code == 403
    warned = super_admin.function("admin-close-account", body)
    assert (warned.status_code, warned.json()["code"]) == (409, "money_left")
    assert profile_of(owner, member)["closed_at"] is None
    confirmed = {**body, "confirmed": True}
    assert super_admin.function("admin-close-account", confirmed).json() == {"success": True}
    assert member.rows("deposits").json()["code"] == "session_ended"
    assert super_admin.function("admin-close-account", confirmed).json() == {"success": True, "already": True}
    payloads = audited(owner, f"admin:{super_admin.admin_id}", "member.closing_started", member)
    assert [payload["reason"] for payload in payloads] == ["Asked by mail"]
    # What is left of a closed account can still be asked for.
    data, _ = unpack(download(super_admin, "admin-download-data", body))
    assert data["profile"][0]["display_name"] == "Closed account"


async def test_an_account_stays_while_the_sign_in_service_is_down(stack: Stack) -> None:
    with pytest.raises(ApiError) as raised:
        await AuthAdmin("http://127.0.0.1:9", "key").delete_user(ANONYMOUS)
    assert (raised.value.status, raised.value.code) == (503, "try_again")
    # One that is not there was deleted by the attempt before.
    await AuthAdmin(f"{stack.url}/auth/v1", stack.service_key).delete_user(ANONYMOUS)


def test_a_file_has_all_rows_however_few_are_read_at_once(
    stack: Stack,
    people: People,
    referrer: Member,
    finance: Administrator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    member = people.earner(referrer.profile_id, finance)
    whole, _ = unpack(download(member))
    monkeypatch.setattr(member_data, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(member_data, "PIECE_BYTES", 100)
    edge = OwnEdge(stack, tmp_path)
    with edge.serving():
        response = edge.call("download-data", {}, member.token)
    edge.http.close()
    data, lists = unpack(response)
    # The second download is itself in the data.
    for name in ("direct_referrals", "bonuses", "transactions", "deposits"):
        assert data[name] == whole[name]
        assert len(lists[name]) == len(data[name]) > 1 or name == "deposits"
    assert int(response.headers["content-length"]) == len(response.content)


async def test_a_file_that_breaks_off_leaves_no_cursor_to_the_next_request(
    stack: Stack, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(member_data.LISTS, next(iter(member_data.LISTS)), ())
    url = stack.values["DATABASE_ADMIN_URL"]
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        with pytest.raises(ValueError, match="fields not in fieldnames"):
            await member_data.write_archive(io.BytesIO(), connection, member.user_id)
        left = await connection.execute("select name from pg_cursors where name = 'member_data'")
        assert await left.fetchall() == []


async def test_two_files_are_made_at_once_and_a_third_is_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = asyncio.Event()

    async def write(*_: object) -> None:
        await goes_on.wait()

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        yield

    monkeypatch.setattr(member_data, "write_archive", write)
    services: Any = SimpleNamespace(downloads=asyncio.Semaphore(DOWNLOADS_AT_ONCE))
    principal: Any = SimpleNamespace(service_transaction=opened)

    async def respond() -> object:
        return await member_data.respond_with_data(principal, services, ANONYMOUS)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(respond())
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as raised:
            await asyncio.wait_for(respond(), 2)
        goes_on.set()
    assert (raised.value.status, raised.value.code) == (503, "try_again")
    await respond()


async def test_a_list_without_a_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def batches(*_: Any) -> Any:
        yield "unheard_of", [{}]

    monkeypatch.setattr(member_data, "_batches", batches)
    with pytest.raises(RuntimeError, match="unheard_of"):
        await member_data.write_archive(io.BytesIO(), SimpleNamespace(), ANONYMOUS)  # type: ignore[arg-type]
