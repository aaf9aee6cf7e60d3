"""The disk fills up: uploads are rejected in words, nothing partial is stored, everything else goes on."""

from typing import Any

import psycopg
import pytest

from tests.support.own_storage import OwnService

DISK = 2 * 1024 * 1024


@pytest.mark.threat("T97")
def test_a_full_disk(own_storage: OwnService, database: psycopg.Connection[Any]) -> None:
    with own_storage.running(disk=DISK):
        own_storage.upload(b"kept", "first.txt").raise_for_status()
        overflowing = own_storage.upload(b"x" * (DISK + 1), "overflowing.bin")
        assert (overflowing.status_code, overflowing.json()["code"]) == (507, "DiskFull")
        own_storage.upload(b"x" * (DISK * 93 // 100), "nearly.bin").raise_for_status()
        # Above nine tenths nothing more is taken, so that the database on the same disk can go on.
        rejected = own_storage.upload(b"x" * 300_000, "late.bin")
        assert (rejected.status_code, rejected.json()["code"]) == (507, "DiskFull")
        assert own_storage.download("first.txt") == b"kept"
        names = [
            name
            for (name,) in database.execute(
                "select name from storage.objects where bucket_id = %s order by name", [own_storage.bucket]
            )
        ]
        assert names == ["first.txt", "nearly.bin"]
        assert own_storage.http.get("/health").status_code == 200
        removed = own_storage.http.delete(f"/object/{own_storage.bucket}/nearly.bin")
        assert removed.status_code == 200
        own_storage.upload(b"again", "late.bin").raise_for_status()
