"""Buckets: made, listed, changed, emptied, deleted. Policies on storage.buckets decide who may."""

from typing import Any

from fastapi import APIRouter, Request
from psycopg import errors, sql

from functions.storage import documents, schemas
from functions.storage.bodies import read_json, read_query
from functions.storage.errors import (
    access_denied,
    already_exists,
    bucket_not_empty,
    no_such_bucket,
    too_large,
)
from functions.storage.names import bytes_of, check_bucket_name, check_type_form
from functions.storage.rows import Row, delete_rows, find_bucket, shown
from functions.storage.service import Answer, Service, service_of, uuid_or_none

router = APIRouter(prefix="/bucket", tags=["buckets"])
COLUMNS = "id, name, owner, public, type, file_size_limit, allowed_mime_types, created_at, updated_at"
FARTHEST = 2**31 - 1
_EMPTIED = "Empty bucket has been queued. Completion may take up to an hour."
_BATCH = 1000


@router.post("", openapi_extra=documents.body(schemas.CREATE_BUCKET))
async def create(request: Request) -> Answer:
    """Make a bucket."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.CREATE_BUCKET)
    check_bucket_name(asked["name"])
    check_bucket_name(asked.get("id", asked["name"]))
    values = {
        "id": asked.get("id", asked["name"]),
        "name": asked["name"],
        "public": asked.get("public", False),
        "owner": uuid_or_none(caller.owner_id),
        "owner_id": caller.owner_id,
        **_limits(service, {"file_size_limit": None, "allowed_mime_types": None, **asked}),
    }
    try:
        async with service.as_caller(request, caller, "storage.bucket.create") as db:
            await db.execute(
                "insert into storage.buckets"
                " (id, name, public, owner, owner_id, file_size_limit, allowed_mime_types)"
                " values (%(id)s, %(name)s, %(public)s, %(owner)s, %(owner_id)s, %(file_size_limit)s,"
                " %(allowed_mime_types)s)",
                values,
            )
    except errors.UniqueViolation as error:
        raise already_exists("BucketAlreadyExists") from error
    return Answer({"name": asked["name"]})


def _limits(service: Service, asked: dict[str, Any]) -> dict[str, Any]:
    """The limits among what was asked, as columns.

    Raises:
        StorageError: when the size is above the service's own limit, or a type is none.
    """
    limits: dict[str, Any] = {}
    if "file_size_limit" in asked:
        size = asked["file_size_limit"]
        limits["file_size_limit"] = None if size is None else bytes_of(size)
        if size is not None and limits["file_size_limit"] > service.settings.file_size_limit:
            raise too_large()
    if "allowed_mime_types" in asked:
        types = asked["allowed_mime_types"]
        limits["allowed_mime_types"] = None if types is None else [kind for kind in types if kind]
        for kind in limits["allowed_mime_types"] or []:
            check_type_form(kind)
    return limits


@router.get("", openapi_extra=documents.query(schemas.LIST_BUCKETS))
async def list_buckets(request: Request) -> Answer:
    """The buckets that the caller may see; `search` finds a part of the name, in any letter case."""
    service = service_of(request)
    caller = service.identify(request)
    asked = read_query(request, schemas.LIST_BUCKETS)
    statement = sql.SQL(
        "select " + COLUMNS + " from storage.buckets where strpos(lower(name), lower(%s)) > 0"
        " order by {column} {way} limit %s offset %s"
    ).format(
        column=sql.Identifier(asked.get("sortColumn", "id")),
        way=sql.SQL("desc" if asked.get("sortOrder") == "desc" else "asc"),
    )
    page = [min(asked[name], FARTHEST) if name in asked else None for name in ("limit", "offset")]
    async with service.as_caller(request, caller, "storage.bucket.list") as db:
        rows = await (await db.execute(statement, [asked.get("search", ""), *page])).fetchall()
    hidden = ("type",) if _is_old_python(request.headers.get("x-client-info", "")) else ()
    return Answer([_shown(row, hidden) for row in rows])


def _is_old_python(client: str) -> bool:
    """The Python client before 2.18 refuses columns that it does not know."""
    name, _, version = client.partition("/")
    parts = version.split(".")
    if name != "supabase-py" or len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return False
    return (int(parts[0]), int(parts[1])) < (2, 18)


@router.get("/{bucket}")
async def get(request: Request, bucket: str) -> Answer:
    """One bucket."""
    service = service_of(request)
    caller = service.identify(request)
    async with service.as_caller(request, caller, "storage.bucket.get") as db:
        found = await db.execute(f"select {COLUMNS} from storage.buckets where id = %s", [bucket])
        row = await found.fetchone()
    if row is None:
        raise no_such_bucket()
    return Answer(_shown(row, ("type",)))


@router.put("/{bucket}", openapi_extra=documents.body(schemas.UPDATE_BUCKET))
async def update(request: Request, bucket: str) -> Answer:
    """Change visibility or limits; null takes a limit away, what is absent stays."""
    service = service_of(request)
    caller = service.identify(request)
    asked = await read_json(request, schemas.UPDATE_BUCKET)
    columns = _limits(service, asked)
    if "public" in asked:
        columns["public"] = asked["public"]
    changes = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in columns
    )
    statement = sql.SQL(
        "update storage.buckets set {}, updated_at = now() where id = %(bucket)s returning id"
    ).format(changes)
    async with service.as_caller(request, caller, "storage.bucket.update") as db:
        row = await (await db.execute(statement, {**columns, "bucket": bucket})).fetchone()
    if row is None:
        raise no_such_bucket()
    return Answer({"message": "Successfully updated"})


@router.post("/{bucket}/empty", openapi_extra=documents.body(schemas.NOTHING, required=False))
async def empty(request: Request, bucket: str) -> Answer:
    """Remove every object of a bucket; for the service key only. It is done when this answers."""
    service = service_of(request)
    caller = service.identify(request)
    await read_json(request, schemas.NOTHING, optional=True)
    if not caller.is_service:
        raise access_denied("Access denied: Invalid role", 403)
    await find_bucket(request, bucket)
    while True:
        async with service.as_caller(request, caller, "storage.bucket.empty") as db:
            found = await db.execute(
                "select name from storage.objects where bucket_id = %s limit %s", [bucket, _BATCH]
            )
            names = [row["name"] for row in await found.fetchall()]
            rows = await delete_rows(db, bucket, names)
        await service.store.remove([row["version"] for row in rows])
        if len(names) < _BATCH:
            return Answer({"message": _EMPTIED})


@router.delete("/{bucket}", openapi_extra=documents.body(schemas.NOTHING, required=False))
async def delete(request: Request, bucket: str) -> Answer:
    """Delete an empty bucket."""
    service = service_of(request)
    caller = service.identify(request)
    await read_json(request, schemas.NOTHING, optional=True)
    try:
        async with service.as_caller(request, caller, "storage.bucket.delete") as db:
            await db.execute("select set_config('storage.allow_delete_query', 'true', true)")
            deleted = await db.execute("delete from storage.buckets where id = %s returning id", [bucket])
            row = await deleted.fetchone()
    except errors.ForeignKeyViolation as error:
        raise bucket_not_empty() from error
    if row is None:
        raise no_such_bucket()
    return Answer({"message": "Successfully deleted"})


def _shown(row: Row, hidden: tuple[str, ...]) -> Row:
    return shown({name: value for name, value in row.items() if name not in hidden})
