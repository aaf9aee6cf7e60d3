"""A ZIP file with everything that is stored about a member: each list as CSV, all of it as JSON."""

import asyncio
import csv
import io
import itertools
import operator
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import orjson
from fastapi.responses import StreamingResponse

from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.edge.support.csv_cells import cell
from functions.edge.support.dependencies import Principal
from functions.edge.support.services import Services

Row = dict[str, Any]

ROWS_AT_ONCE = 500
PIECE_BYTES = 65_536
BUSY = ApiError(503, "try_again", "Other files are being made. Try again in a minute.")
# Every list with its columns, in the order in which edge.member_data() has them.
LISTS: dict[str, tuple[str, ...]] = {
    "profile": (
        "id",
        "user_id",
        "username",
        "display_name",
        "email",
        "trc20_wallet_address",
        "account_status",
        "account_verified",
        "package_value",
        "cash_in_amount",
        "bonus_amount",
        "reentry_amount",
        "withdrawn_amount",
        "reserved_amount",
        "available_balance",
        "hold_until",
        "hold_reason",
        "sponsor_username",
        "sponsor_display_name",
        "sign_up_data",
        "email_confirmed_at",
        "last_sign_in_at",
        "created_at",
        "closed_at",
    ),
    "direct_referrals": ("id", "username", "display_name", "package_value", "created_at"),
    "sessions": ("created_at", "refreshed_at", "aal", "user_agent", "ip"),
    "authenticators": ("name", "type", "status", "created_at"),
    "deposits": (
        "id",
        "created_at",
        "amount",
        "received_amount",
        "kind",
        "reference_number",
        "receipt_name",
        "status",
        "admin_notes",
        "decided_at",
        "voided_at",
    ),
    "deposit_rests": (
        "deposit_id",
        "no",
        "received_amount",
        "asked_at",
        "reference_number",
        "referenced_at",
    ),
    "withdrawals": (
        "id",
        "created_at",
        "amount",
        "wallet_address",
        "status",
        "admin_notes",
        "decided_at",
        "payout_reference",
        "payout_at",
        "voided_at",
    ),
    "bonuses": (
        "id",
        "created_at",
        "bonus_type",
        "amount",
        "rate",
        "volume",
        "reentry_amount",
        "pair_number",
        "source_username",
    ),
    "transactions": (
        "id",
        "created_at",
        "transaction_type",
        "amount",
        "status",
        "reference_id",
        "balance_after",
    ),
    "receipts": ("name", "bytes", "type", "created_at"),
    "notifications": ("id", "created_at", "kind", "title", "body", "amount", "link", "read_at"),
    "subscriptions": ("id", "bot_name", "status", "mt5_server", "mt5_login", "subscribed_at", "updated_at"),
    "lessons": ("lesson_id", "done_at"),
    "mail_opt_outs": ("topic", "since"),
    "mail_opt_ins": ("topic", "since"),
    "activity": ("at", "action", "object_type", "object_id", "details"),
}


async def respond_with_data(principal: Principal, services: Services, user_id: str) -> StreamingResponse:
    """Respond with the file; it is made whole before its first byte leaves, so it is whole or an error."""
    if services.downloads.locked():
        raise BUSY
    file = TemporaryFile()  # noqa: SIM115
    async with services.downloads, principal.service_transaction() as connection:
        await write_archive(file, connection, user_id)
    name = f"member-data-{datetime.now(UTC):%Y-%m-%d}.zip"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-length": str(file.seek(0, io.SEEK_END)),
    }
    return StreamingResponse(_pieces(file), media_type="application/zip", headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(PIECE_BYTES):
            yield piece


async def write_archive(file: IO[bytes], connection: Connection, user_id: str) -> None:
    """Write a member's data. Rows pass one batch at a time, so that memory stays flat."""
    # Left open by an error, the cursor would be closed later, within another request on this connection.
    async with aclosing(_batches(connection, user_id)) as batches:
        await _write_lists(file, batches)


async def _write_lists(file: IO[bytes], batches: AsyncIterator[tuple[str, list[Row]]]) -> None:
    with ZipFile(file, "w", ZIP_DEFLATED) as archive, TemporaryFile() as document:
        batch = await anext(batches, None)
        document.write(b'{"made_at": "%b"' % datetime.now(UTC).isoformat(timespec="seconds").encode())
        for name, columns in LISTS.items():
            document.write(b',\n"%b": [' % name.encode())
            with _csv_file(archive, name) as text:
                writer = csv.DictWriter(text, columns)
                writer.writeheader()
                separator = b"\n"
                while batch and batch[0] == name:
                    for row in batch[1]:
                        writer.writerow({column: cell(value) for column, value in row.items()})
                        document.write(separator + orjson.dumps(row))
                        separator = b",\n"
                    batch = await anext(batches, None)
            document.write(b"]")
        if batch:
            raise RuntimeError(f"no file is for the list {batch[0]}")
        document.write(b"}\n")
        document.seek(0)
        with archive.open("data.json", "w") as entry:
            await asyncio.to_thread(shutil.copyfileobj, document, entry)


def _csv_file(archive: ZipFile, name: str) -> io.TextIOWrapper:
    """Begin a file of the ZIP, with the mark by which spreadsheets know UTF-8."""
    return io.TextIOWrapper(archive.open(f"{name}.csv", "w"), encoding="utf-8-sig", newline="")


async def _batches(connection: Connection, user_id: str) -> AsyncGenerator[tuple[str, list[Row]]]:
    """Yield rows with the name of their list, of one list at a time."""
    async with connection.cursor(name="member_data") as cursor:
        await cursor.execute("select d.list, d.item from edge.member_data(%s) as d", [user_id])
        while rows := await cursor.fetchmany(ROWS_AT_ONCE):
            for name, group in itertools.groupby(rows, operator.itemgetter("list")):
                yield name, [row["item"] for row in group]
