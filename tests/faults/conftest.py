"""Fixtures of the fault tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.own_storage import OwnService
from tests.support.stack import Stack


@pytest.fixture
def database() -> Iterator[psycopg.Connection[Any]]:
    """Yield the database's owner."""
    with psycopg.connect(Stack.read().database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def own_storage(tmp_path: Path, database: psycopg.Connection[Any]) -> Iterator[OwnService]:
    """Yield a storage service that the test starts, with a bucket of its own."""
    service = OwnService(Stack.read(), tmp_path)
    database.execute(
        "insert into storage.buckets (id, name) values (%s, %s)", [service.bucket, service.bucket]
    )
    yield service
    database.execute("set storage.allow_delete_query = 'true'")
    database.execute("delete from storage.objects where bucket_id = %s", [service.bucket])
    database.execute("delete from storage.buckets where id = %s", [service.bucket])
    service.http.close()
