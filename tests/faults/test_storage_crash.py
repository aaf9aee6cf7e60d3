"""The storage service crashes during an upload: no row without bytes, no bytes left without a row."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.own_storage import OwnService

CONTENT = b"a receipt, " * 40_000
CRASHED = 137


@pytest.mark.threat("T101")
@pytest.mark.parametrize(
    ("failpoint", "stored"),
    [
        ("upload.after_tmp", False),
        ("upload.after_rename", False),
        ("upload.before_row", False),
        ("upload.after_row", True),
    ],
)
def test_a_crash_leaves_nothing_half_done(
    own_storage: OwnService, database: psycopg.Connection[Any], failpoint: str, stored: bool
) -> None:
    with own_storage.running(failpoint) as process:
        with pytest.raises(httpx.TransportError):
            own_storage.upload(CONTENT)
        assert process.wait(10) == CRASHED
    assert own_storage.versions_of_rows(database) <= own_storage.versions_of_bytes()
    assert bool(own_storage.versions_of_rows(database)) is stored

    with own_storage.running():
        again = own_storage.upload(CONTENT)
        if stored:
            assert again.json()["code"] == "KeyAlreadyExists"
        else:
            assert again.status_code == 200
        assert own_storage.download() == CONTENT
        # Not yet: an orphan might be an upload that is just about to get its row.
        assert own_storage.http.post("/orphans/sweep").json() == {"removed": 0}

    with own_storage.running(orphan_age=0):
        own_storage.http.post("/orphans/sweep").raise_for_status()
        assert own_storage.versions_of_bytes() == own_storage.versions_of_rows(database)
        assert own_storage.download() == CONTENT


def test_a_database_that_ends_a_request_is_a_reason_to_try_again(
    own_storage: OwnService, database: psycopg.Connection[Any]
) -> None:
    with own_storage.running(), ThreadPoolExecutor(1) as pool:
        # An uncommitted row of the same name, so that no other upload waits.
        with database.transaction(force_rollback=True):
            database.execute(
                "insert into storage.objects (bucket_id, name) values (%s, 'a.txt')", [own_storage.bucket]
            )
            uploading = pool.submit(own_storage.upload, CONTENT)
            while not database.execute(
                "select pg_terminate_backend(pid) from pg_locks"
                " where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
            ).fetchone():
                assert not uploading.done()
        ended = uploading.result()
        assert (ended.status_code, ended.json()["code"]) == (503, "SlowDown")
        assert own_storage.upload(CONTENT).status_code == 200
