"""A file that administrators export is whole: of one moment, to its last row, or visibly no file at all."""

import base64
import csv
import io
from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
import psycopg
import pytest

from functions.core.database import make_pool
from functions.core.errors import ApiError
from functions.core.tokens import Claims
from functions.edge import admin_export
from functions.edge.support.dependencies import Principal, RequestContext
from functions.edge.support.services import EXPORTS_AT_ONCE
from tests.support.people import Administrator, Member
from tests.support.rollback_pool import Connection, RollbackPool, rolled_back
from tests.support.stack import Stack

Export = AsyncIterator[str]
WHOLE = "set local session_replication_role = origin"


def principal_of(person: Administrator, pool: Any) -> Principal:
    """Return the administrator's principal, as the functions build it."""
    part = person.token.split(".")[1]
    values = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return Principal(Claims(values, "test"), RequestContext("127.0.0.1", "test", "/admin-export"), pool)


@asynccontextmanager
async def export(
    principal: Principal, name: str, limiter: Semaphore | None = None, **filters: str
) -> AsyncIterator[Export]:
    """Yield the pages of a file when the test asks for them."""
    request = admin_export.ExportRequest(list=name, filters=filters)
    async with AsyncExitStack() as stack:
        response = await admin_export.admin_export(principal, request, stack, limiter or Semaphore(1))
        yield response.body_iterator


@pytest.fixture
async def planted(stack: Stack) -> AsyncIterator[Connection]:
    """Yield a transaction like an export's, without triggers until WHOLE, rolled back at the end."""
    async with rolled_back(stack) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.execute("set local session_replication_role = replica")
        yield connection


async def test_a_decision_meanwhile_neither_loses_a_row_nor_shows_it_twice(
    stack: Stack, member: Member, finance: Administrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_export, "PAGE", 2)
    deposits = [member.deposit(50) for _ in range(5)]
    filters = {"search": member.username, "status": "pending", "sort": "created_at.asc"}
    async with (
        make_pool(stack.values["DATABASE_ADMIN_URL"], 2, "test") as pool,
        export(principal_of(finance, pool), "deposits", **filters) as parts,
    ):
        text = await anext(parts) + await anext(parts)
        finance.approve_deposit(deposits[0]["id"]).raise_for_status()
        text += "".join([part async for part in parts])
    rows = csv.DictReader(io.StringIO(text))
    assert [row["reference_number"] for row in rows] == [row["reference_number"] for row in deposits]


async def test_a_search_that_finds_more_than_a_file_holds_is_rejected(
    planted: Connection, member: Member, finance: Administrator
) -> None:
    await planted.execute(
        "insert into public.deposits"
        " (user_id, amount, reference_number, receipt_url, kind, reference_key)"
        " select %s, 50, 'planted ' || i, 'x', 'cash_in', 'planted' || i"
        " from generate_series(1, 10001) as i",
        [member.user_id],
    )
    await planted.execute(
        "insert into private.request_texts (request_id, text)"
        " select d.id, d.reference_number from public.deposits as d where d.reference_number like 'planted %'"
    )
    await planted.execute(WHOLE)
    principal = principal_of(finance, RollbackPool(planted))
    with pytest.raises(ApiError) as raised:
        async with export(principal, "deposits", search="planted"):
            pass
    assert (raised.value.status, raised.value.code) == (400, "too_many")


async def test_a_list_that_ends_before_its_total_breaks_the_file_off(
    planted: Connection, finance: Administrator
) -> None:
    # Before the snapshot: of counters that the worker rolls up after it the update would fail.
    await planted.execute("lock table private.counters in share row exclusive mode")
    await planted.execute("update private.counters set value = value + 1 where name = 'pending_deposits'")
    await planted.execute(WHOLE)
    async with export(principal_of(finance, RollbackPool(planted)), "deposits", status="pending") as parts:
        with pytest.raises(RuntimeError, match="the pages end after"):
            _ = [part async for part in parts]


@pytest.mark.threat("T127")
@pytest.mark.parametrize("first", [*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_begins_like_a_formula(first: str) -> None:
    assert admin_export.cell(f"{first}1+1") == f"'{first}1+1"


@pytest.mark.threat("T127")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("-100.00", "-100.00"),
        ("-1.0.0", "'-1.0.0"),
        # Digits of other scripts, which a spreadsheet may read as it likes.
        ("-\u0661", "'-\u0661"),
        ("a=1", "a=1"),
        (-5, "-5"),
        ({"a": "=1"}, '{"a":"=1"}'),
        (None, ""),
    ],
)
def test_what_is_no_formula_stays_as_it_is(value: object, text: str) -> None:
    assert admin_export.cell(value) == text


async def test_two_exports_run_at_once_and_a_third_is_deferred(stack: Stack, finance: Administrator) -> None:
    async with make_pool(stack.values["DATABASE_ADMIN_URL"], 3, "test") as pool:
        principal = principal_of(finance, pool)
        limiter = Semaphore(EXPORTS_AT_ONCE)
        async with export(principal, "audit", limiter):
            async with export(principal, "deposits", limiter):
                with pytest.raises(ApiError) as raised:
                    async with export(principal, "deposits", limiter):
                        pass
            assert (raised.value.status, raised.value.code) == (503, "try_again")
            async with export(principal, "deposits", limiter) as parts:
                assert (await anext(parts)).startswith("created_at,")
