"""Two processes of edge and of storage over one database, and for storage over one folder."""

import os
import secrets
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from functions.edge.support.web_config import FRESH_SECONDS
from tests.support.own_database import own_database
from tests.support.own_edge import OwnEdge
from tests.support.own_storage import OwnService
from tests.support.people import PASSWORD, People
from tests.support.stack import Stack

A_DAY = 86_400


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
                time.sleep(FRESH_SECONDS)
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
