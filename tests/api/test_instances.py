"""Two processes of edge and of storage over one database, for storage over one folder; starts at once."""

import os
import secrets
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from functions.worker import job_queue
from tests.support.children import ending_with_parent
from tests.support.own_database import empty_database, own_database
from tests.support.own_edge import OwnEdge
from tests.support.own_storage import OwnService
from tests.support.own_worker import environment_of
from tests.support.people import PASSWORD, People
from tests.support.stack import Stack

A_DAY = 86_400
WAITING = """
select from pg_locks where not granted
    and database = (select oid from pg_database where datname = current_database())
"""
# How many migrations each has recorded, and how many files they are.
RECORDED = {
    "storage": ("storage.migrations", Path("functions/storage/migrations")),
    "worker": ("procrastinate.applied_migrations", job_queue.SQL_FILES / "migrations"),
}


@pytest.mark.parametrize("service", ["storage", "worker"])
def test_instances_that_start_at_once_make_one_schema(stack: Stack, tmp_path: Path, service: str) -> None:
    table, folder = RECORDED[service]
    command = ending_with_parent([sys.executable, "-m", f"functions.{service}", "migrate"])
    with empty_database(stack) as url, psycopg.connect(url, autocommit=True) as database:
        database.execute("create schema procrastinate")
        environment = environment_of(url, 9, tmp_path)
        with database.transaction():
            # Nobody makes a table until all have come so far.
            database.execute("lock table pg_catalog.pg_class in share mode")
            processes = [subprocess.Popen(command, env=environment) for _ in range(3)]
            until = time.monotonic() + 60
            while database.execute(WAITING).rowcount < 3:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert [process.wait(60) for process in processes] == [0] * 3
        recorded = database.execute(f"select count(*) from {table}").fetchone()  # type: ignore[arg-type]
        files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
        assert recorded == (len(files),)


class TestEdge:
    """Administrators' sign-in, and the settings that the web app shows."""

    @pytest.fixture
    def edges(self, stack: Stack, tmp_path: Path) -> Iterator[tuple[OwnEdge, OwnEdge]]:
        """Yield two that are not running yet."""
        first = OwnEdge(stack, tmp_path)
        second = first.another_instance()
        with closing(first.http), closing(second.http):
            yield first, second

    @pytest.mark.threat("T64")
    def test_an_administrators_password_is_guessed_at_no_more_often(
        self, edges: tuple[OwnEdge, OwnEdge], people: People
    ) -> None:
        email = people.account("finance_admin")

        def login(number: int, password: str) -> int:
            body = {"action": "login", "email": email, "password": password}
            return edges[number % 2].call("admin-auth", body).status_code

        with edges[0].running(), edges[1].running():
            assert [login(number, "wrong") for number in range(11)] == [401] * 10 + [429]
            assert [login(number, PASSWORD) for number in range(2)] == [429] * 2

    def test_a_changed_setting_is_shown_by_all_within_two_seconds(
        self, stack: Stack, edges: tuple[OwnEdge, OwnEdge]
    ) -> None:
        name = f"Company {secrets.token_hex(4)}"
        with own_database(stack) as url, psycopg.connect(url, autocommit=True) as database:
            for edge in edges:
                edge.database_url = url
            with edges[0].running(), edges[1].running():
                assert not any(name in edge.http.get("/config.js").text for edge in edges)
                database.execute(
                    "update private.settings set value = to_jsonb(%s::text) where key = 'operator.name'",
                    [name],
                )
                time.sleep(2)
                assert all(name in edge.http.get("/config.js").text for edge in edges)


class TestStorage:
    """What one has stored, the other serves, replaces and removes."""

    @pytest.fixture
    def storages(
        self, stack: Stack, tmp_path: Path, admin_db: psycopg.Connection[Any]
    ) -> Iterator[tuple[OwnService, OwnService]]:
        """Yield two that run, with a bucket and a folder of their own."""
        first = OwnService(stack, tmp_path)
        second = first.another_instance()
        bucket = first.bucket
        admin_db.execute("insert into storage.buckets (id, name) values (%s, %s)", [bucket, bucket])
        with closing(first.http), closing(second.http), first.running(), second.running():
            yield first, second
        with admin_db.transaction():
            admin_db.execute("set local storage.allow_delete_query = 'true'")
            admin_db.execute("delete from storage.objects where bucket_id = %s", [bucket])
            admin_db.execute("delete from storage.buckets where id = %s", [bucket])

    def test_an_object_of_one_is_an_object_of_the_other(
        self, storages: tuple[OwnService, OwnService], admin_db: psycopg.Connection[Any]
    ) -> None:
        first, second = storages
        path = f"/object/{first.bucket}/a.txt"
        first.upload(b"one").raise_for_status()
        assert second.download() == b"one"
        assert second.upload(b"two").json()["code"] == "KeyAlreadyExists"
        second.http.put(path, content=b"two").raise_for_status()
        assert first.download() == b"two"
        signed = first.http.post(f"/object/sign/{first.bucket}/a.txt", json={"expiresIn": 60}).json()
        assert second.http.get(signed["signedURL"], headers={"authorization": ""}).content == b"two"
        second.http.delete(path).raise_for_status()
        assert first.http.get(path).status_code == 400
        assert not first.versions_of_bytes() & first.versions_of_rows(admin_db)

    def test_a_name_that_both_replace_always_has_bytes(
        self, storages: tuple[OwnService, OwnService], admin_db: psycopg.Connection[Any]
    ) -> None:
        first, second = storages
        contents = [bytes([65 + number]) * 50_000 for number in range(12)]
        first.upload(contents[0]).raise_for_status()

        def replace(number: int) -> int:
            path = f"/object/{first.bucket}/a.txt"
            return storages[number % 2].http.put(path, content=contents[number]).status_code

        with ThreadPoolExecutor(6) as pool:
            replaced = [pool.submit(replace, number) for number in range(12)]
            read = [pool.submit(storages[number % 2].download) for number in range(24)]
            assert {each.result() for each in replaced} == {200}
            assert {each.result() for each in read} <= set(contents)
        assert first.download() == second.download()
        assert first.versions_of_bytes() == first.versions_of_rows(admin_db)

    def test_both_may_collect_garbage_at_once(
        self, storages: tuple[OwnService, OwnService], admin_db: psycopg.Connection[Any]
    ) -> None:
        first, second = storages
        first.upload(b"stays").raise_for_status()
        arriving = first.folder / "files" / "uploads" / str(uuid.uuid4())
        arriving.write_bytes(b"of the other, still arriving")
        old = time.time() - 2 * A_DAY
        for number in range(400):
            version = str(uuid.uuid4())
            orphan = (
                first.folder
                / "files"
                / ("uploads" if number % 4 == 0 else f"objects/{version[:2]}")
                / version
            )
            orphan.parent.mkdir(exist_ok=True)
            orphan.write_bytes(b"left")
            os.utime(orphan, (old, old))
        with ThreadPoolExecutor(6) as pool:
            swept = list(pool.map(lambda each: each.http.post("/orphans/sweep"), [first, second] * 3))
        assert {each.status_code for each in swept} == {200}
        assert first.versions_of_bytes() == first.versions_of_rows(admin_db) | {arriving.name}
        assert second.download() == b"stays"
