"""The queries on buckets and objects."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from psycopg import errors
from psycopg.types.json import Jsonb

from functions.core.database import Connection
from functions.storage.errors import already_exists, no_such_bucket
from functions.storage.service import Principal, RequestContext, uuid_or_none

Row = dict[str, Any]
PUBLIC_COLUMNS = (
    "name, bucket_id, owner, owner_id, version, id, updated_at, created_at, last_accessed_at, metadata,"
    " user_metadata"
)

_INSERT = """
insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
values (%(bucket_id)s, %(name)s, %(owner)s, %(owner_id)s, %(version)s, %(metadata)s, %(user_metadata)s)
"""
_REPLACE = """
on conflict (bucket_id, name) do update set
    owner = coalesce(excluded.owner, objects.owner),
    owner_id = coalesce(excluded.owner_id, objects.owner_id),
    version = excluded.version,
    metadata = excluded.metadata,
    user_metadata = excluded.user_metadata
"""


@dataclass(frozen=True)
class Upload:
    """An object to be stored: where, by what right, and its row.

    Attributes:
        operation: the name by which policies know it.
        principal: whose rights count; None with a signed URL, which was made by right of its owner.
        metadata: the size and type that policies see; the client's claims until the bytes are there.
        version: the name of its bytes.
    """

    operation: str
    bucket_id: str
    name: str
    upsert: bool
    principal: Principal | None
    owner_id: str | None
    metadata: Row = field(default_factory=dict)
    user_metadata: Row = field(default_factory=dict)
    version: str = field(default_factory=lambda: str(uuid4()))

    def row(self) -> Row:
        """Return the parameters of the insert."""
        return {
            "bucket_id": self.bucket_id,
            "name": self.name,
            "owner": uuid_or_none(self.owner_id),
            "owner_id": self.owner_id,
            "version": self.version,
            "metadata": Jsonb(self.metadata),
            "user_metadata": Jsonb(self.user_metadata),
        }


async def find_bucket(context: RequestContext, bucket_id: str) -> Row:
    """Return the bucket, whatever the principal may see.

    Raises:
        ApiError: NoSuchBucket.
    """
    async with context.transaction_as_service("storage.bucket.get") as db:
        found = await db.execute("select * from storage.buckets where id = %s", [bucket_id])
        bucket: Row | None = await found.fetchone()
    if bucket is None:
        raise no_such_bucket()
    return bucket


async def select_object(db: Connection, bucket_id: str, name: str) -> Row | None:
    """Return the object if the transaction's role may see it."""
    found = await db.execute(
        f"select {PUBLIC_COLUMNS} from storage.objects where bucket_id = %s and name = %s", [bucket_id, name]
    )
    return await found.fetchone()


async def check_write(context: RequestContext, principal: Principal, upload: Upload) -> None:
    """Ask row-level security whether the principal may write this row: really write it, and roll back.

    A plain upload needs INSERT; an upsert also SELECT, and UPDATE when the row is there.

    Raises:
        ApiError: AccessDenied, or Duplicate when the name is taken.
        psycopg.Error: as triggers raise it.
    """
    try:
        async with context.transaction_as(principal, upload.operation, rolled_back=True) as db:
            await db.execute(_INSERT + (_REPLACE + "returning *" if upload.upsert else ""), upload.row())
    except errors.UniqueViolation as error:
        raise already_exists("KeyAlreadyExists") from error


async def write(context: RequestContext, upload: Upload) -> tuple[Row, str | None]:
    """Write the row that `check_write` permitted; return it, and the version that it replaced.

    Raises:
        ApiError: Duplicate when the name was taken meanwhile.
        psycopg.Error: as triggers raise it.
    """
    try:
        async with context.transaction_as_service(upload.operation) as db:
            found = await db.execute(
                "select version from storage.objects where bucket_id = %s and name = %s for update",
                [upload.bucket_id, upload.name],
            )
            old = await found.fetchone()
            statement = f"{_INSERT} {_REPLACE if upload.upsert else ''} returning {PUBLIC_COLUMNS}"
            row = await (await db.execute(statement, upload.row())).fetchone()
    except errors.UniqueViolation as error:
        raise already_exists("KeyAlreadyExists") from error
    return dict(row or {}), old["version"] if old else None


async def delete_rows(db: Connection, bucket_id: str, names: Sequence[str]) -> list[Row]:
    """Delete the objects that the transaction's role may see and delete; return their rows."""
    await db.execute("select set_config('storage.allow_delete_query', 'true', true)")
    deleted = await db.execute(
        f"delete from storage.objects where bucket_id = %s and name = any(%s) returning {PUBLIC_COLUMNS}",
        [bucket_id, list(names)],
    )
    return await deleted.fetchall()
