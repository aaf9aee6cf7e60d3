"""A private bucket of a test run: members may read, add and remove in their own folder, never replace."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
from psycopg import sql

from tests.support.people import ApiClient
from tests.support.stack import Stack

RECEIPT_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf"]
LIMIT = 5 * 1024 * 1024
_VERBS = {"select": "using", "delete": "using", "insert": "with check"}


class BucketFixture:
    """One bucket, and the requests that tests make in it."""

    def __init__(self, stack: Stack, bucket: str) -> None:
        self.stack = stack
        self.bucket = bucket
        self.service = ApiClient(stack, stack.service_key)

    def put(
        self, client: ApiClient, path: str, content: Any, kind: str = "image/png", **headers: str
    ) -> httpx.Response:
        """Upload the file itself as the body."""
        named = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}
        return client.http.post(f"/storage/v1/object/{self.bucket}/{path}", content=content, headers=named)

    def get(self, client: ApiClient, path: str, **headers: str) -> httpx.Response:
        """Download."""
        return client.http.get(f"/storage/v1/object/{self.bucket}/{path}", headers=headers)

    def names(self) -> list[str]:
        """Every object in the bucket, as the service key sees it."""
        response = self.service.http.post(f"/storage/v1/object/list-v2/{self.bucket}", json={})
        return [row["name"] for row in response.raise_for_status().json()["objects"]]

    def call(
        self, client: ApiClient, verb: str, path: str, body: Any = None, **headers: str
    ) -> httpx.Response:
        """Any other request of the storage API."""
        content = None if body is None else json.dumps(body)
        named = {"content-type": "application/json"} | headers if content else headers
        return client.http.request(verb, f"/storage/v1{path}", content=content, headers=named)


def _patiently(owner: psycopg.Connection[dict[str, Any]], statements: list[sql.Composed]) -> None:
    """Retry with a short lock timeout: a waiting DDL statement would block all later users of the table."""
    for left in reversed(range(300)):
        try:
            with owner.transaction():
                owner.execute("set local lock_timeout = '100ms'")
                for statement in statements:
                    owner.execute(statement)
            return
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            # Tests in other processes do the same to the same table.
            if not left:
                raise
            time.sleep(0.1)


@contextmanager
def open_bucket(
    stack: Stack, owner: psycopg.Connection[dict[str, Any]], **limits: Any
) -> Iterator[BucketFixture]:
    """Create the bucket and its policies; drop both afterwards."""
    own_bucket = BucketFixture(stack, f"test-{secrets.token_hex(5)}")
    asked = {"name": own_bucket.bucket, "public": False, **limits}
    own_bucket.call(own_bucket.service, "POST", "/bucket", asked).raise_for_status()
    condition = sql.SQL(
        "(bucket_id = {} and (storage.foldername(name))[1] = (select auth.uid())::text)"
    ).format(own_bucket.bucket)
    policies = {verb: sql.Identifier(f"{own_bucket.bucket} {verb}") for verb in _VERBS}
    create = sql.SQL("create policy {} on storage.objects for {} to authenticated {} {}")
    _patiently(
        owner,
        [
            create.format(policies[verb], sql.SQL(verb), sql.SQL(clause), condition)
            for verb, clause in _VERBS.items()
        ],
    )
    try:
        yield own_bucket
    finally:
        drop = sql.SQL("drop policy {} on storage.objects")
        _patiently(owner, [drop.format(name) for name in policies.values()])
        own_bucket.call(
            own_bucket.service, "POST", f"/bucket/{own_bucket.bucket}/empty", {}
        ).raise_for_status()
        own_bucket.call(own_bucket.service, "DELETE", f"/bucket/{own_bucket.bucket}", {}).raise_for_status()
