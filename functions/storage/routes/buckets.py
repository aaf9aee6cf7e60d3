"""Buckets: made, listed, changed, emptied, deleted. Policies on storage.buckets decide who may."""

import re
from typing import Annotated

from fastapi import APIRouter, Query
from psycopg import errors, sql

from functions.storage.errors import (
    already_exists,
    bucket_not_empty,
    no_such_bucket,
    object_too_large,
    service_role_only,
)
from functions.storage.json_response import JsonResponse, json_row
from functions.storage.queries import Row, delete_rows, find_bucket
from functions.storage.request_parsing import StorageRoute
from functions.storage.schemas import (
    FARTHEST,
    BucketChanges,
    BucketLimits,
    BucketQuery,
    IgnoredObject,
    NewBucket,
)
from functions.storage.service import Context, Service, SignedIn, uuid_or_none
from functions.storage.validation import check_bucket_name, check_type_form

router = APIRouter(prefix="/bucket", tags=["buckets"], route_class=StorageRoute)
_PYTHON = re.compile(r"supabase-py/([0-9]{1,4})\.([0-9]{1,4})(?:\..*)?")
COLUMNS = "id, name, owner, public, type, file_size_limit, allowed_mime_types, created_at, updated_at"
_EMPTIED = "Empty bucket has been queued. Completion may take up to an hour."
_BATCH = 1000


@router.post("")
async def create(context: Context, principal: SignedIn, asked: NewBucket) -> JsonResponse:
    """Make a bucket."""
    check_bucket_name(asked.name)
    check_bucket_name(asked.bucket_id)
    values = {
        "id": asked.bucket_id,
        "name": asked.name,
        "public": asked.public,
        "owner": uuid_or_none(principal.owner_id),
        "owner_id": principal.owner_id,
        "file_size_limit": _size(context.service, asked),
        "allowed_mime_types": _types(asked),
    }
    try:
        async with context.transaction_as(principal, "storage.bucket.create") as db:
            await db.execute(
                "insert into storage.buckets"
                " (id, name, public, owner, owner_id, file_size_limit, allowed_mime_types)"
                " values (%(id)s, %(name)s, %(public)s, %(owner)s, %(owner_id)s, %(file_size_limit)s,"
                " %(allowed_mime_types)s)",
                values,
            )
    except errors.UniqueViolation as error:
        raise already_exists("BucketAlreadyExists") from error
    return JsonResponse({"name": asked.name})


def _size(service: Service, asked: BucketLimits) -> int | None:
    """Return the size limit, unless it is above the service's own."""
    if asked.file_size_limit is not None and asked.file_size_limit > service.settings.file_size_limit:
        raise object_too_large()
    return asked.file_size_limit


def _types(asked: BucketLimits) -> list[str] | None:
    """Return the allowed types without empty ones."""
    if asked.allowed_mime_types is None:
        return None
    types = [kind for kind in asked.allowed_mime_types if kind]
    for kind in types:
        check_type_form(kind)
    return types


@router.get("")
async def list_buckets(
    context: Context, principal: SignedIn, asked: Annotated[BucketQuery, Query()]
) -> JsonResponse:
    """List the buckets that the principal may see; `search` finds a part of the name, in any case."""
    statement = sql.SQL(
        "select " + COLUMNS + " from storage.buckets where strpos(lower(name), lower(%s)) > 0"
        " order by {column} {direction} limit %s offset %s"
    ).format(column=sql.Identifier(asked.sort_column), direction=sql.SQL(asked.sort_order))
    page = [asked.search, min(asked.limit, FARTHEST), min(asked.offset, FARTHEST)]
    async with context.transaction_as(principal, "storage.bucket.list") as db:
        rows = await (await db.execute(statement, page)).fetchall()
    hidden = ("type",) if _is_old_python(context.request.headers.get("x-client-info", "")) else ()
    return JsonResponse([_without(row, hidden) for row in rows])


def _is_old_python(client: str) -> bool:
    """Return whether this is the Python client before 2.18, which rejects columns that it does not know."""
    version = _PYTHON.fullmatch(client)
    return version is not None and (int(version[1]), int(version[2])) < (2, 18)


@router.get("/{bucket}")
async def get(context: Context, principal: SignedIn, bucket: str) -> JsonResponse:
    """Return one bucket."""
    async with context.transaction_as(principal, "storage.bucket.get") as db:
        found = await db.execute(f"select {COLUMNS} from storage.buckets where id = %s", [bucket])
        row = await found.fetchone()
    if row is None:
        raise no_such_bucket()
    return JsonResponse(_without(row, ("type",)))


@router.put("/{bucket}")
async def update(context: Context, principal: SignedIn, bucket: str, asked: BucketChanges) -> JsonResponse:
    """Change visibility or limits; null takes a limit away, what is absent stays."""
    changed = {
        "file_size_limit": _size(context.service, asked),
        "allowed_mime_types": _types(asked),
        "public": asked.public,
    }
    changes = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
        for name in changed
        if name in asked.model_fields_set
    )
    statement = sql.SQL(
        "update storage.buckets set {}, updated_at = now() where id = %(bucket)s returning id"
    ).format(changes)
    async with context.transaction_as(principal, "storage.bucket.update") as db:
        row = await (await db.execute(statement, {**changed, "bucket": bucket})).fetchone()
    if row is None:
        raise no_such_bucket()
    return JsonResponse({"message": "Successfully updated"})


@router.post("/{bucket}/empty")
async def empty(
    context: Context, principal: SignedIn, bucket: str, _body: IgnoredObject = None
) -> JsonResponse:
    """Delete every object of a bucket; for the service key only. It is done when the response comes."""
    if not principal.is_service:
        raise service_role_only()
    await find_bucket(context, bucket)
    while True:
        async with context.transaction_as(principal, "storage.bucket.empty") as db:
            found = await db.execute(
                "select name from storage.objects where bucket_id = %s limit %s", [bucket, _BATCH]
            )
            names = [row["name"] for row in await found.fetchall()]
            rows = await delete_rows(db, bucket, names)
        await context.service.store.remove([row["version"] for row in rows])
        if len(names) < _BATCH:
            return JsonResponse({"message": _EMPTIED})


@router.delete("/{bucket}")
async def delete(
    context: Context, principal: SignedIn, bucket: str, _body: IgnoredObject = None
) -> JsonResponse:
    """Delete an empty bucket."""
    try:
        async with context.transaction_as(principal, "storage.bucket.delete") as db:
            await db.execute("select set_config('storage.allow_delete_query', 'true', true)")
            deleted = await db.execute("delete from storage.buckets where id = %s returning id", [bucket])
            row = await deleted.fetchone()
    except errors.ForeignKeyViolation as error:
        raise bucket_not_empty() from error
    if row is None:
        raise no_such_bucket()
    return JsonResponse({"message": "Successfully deleted"})


def _without(row: Row, hidden: tuple[str, ...]) -> Row:
    return json_row({name: value for name, value in row.items() if name not in hidden})
