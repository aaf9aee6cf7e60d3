"""Lists of a bucket with more objects than one page holds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from tests.api.conftest import Owner
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.stack import Stack

OBJECTS = 1600


@pytest.fixture(scope="module")
def full_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    """Yield a bucket with many rows; their bytes do not matter here."""
    with open_bucket(stack, owner) as own_bucket:
        owner.execute(
            "insert into storage.objects (bucket_id, name, version)"
            " select %s, n::text, gen_random_uuid() from generate_series(1, %s) as n",
            [own_bucket.bucket, OBJECTS],
        )
        yield own_bucket


@pytest.mark.threat("T122")
def test_a_list_has_an_end(full_bucket: BucketFixture) -> None:
    asked = {"prefix": "", "limit": OBJECTS}
    route = f"/object/list/{full_bucket.bucket}"
    assert len(full_bucket.call(full_bucket.service, "POST", route, asked).json()) == 1500
    far = asked | {"limit": 10**12, "offset": 10**12}
    assert full_bucket.call(full_bucket.service, "POST", route, far).json() == []


@pytest.mark.threat("T122")
@pytest.mark.parametrize("asked", [{}, {"limit": OBJECTS}, {"limit": OBJECTS, "with_delimiter": True}])
def test_a_page_has_an_end_and_a_successor(full_bucket: BucketFixture, asked: dict[str, object]) -> None:
    route = f"/object/list-v2/{full_bucket.bucket}"
    page = full_bucket.call(full_bucket.service, "POST", route, asked).json()
    assert (len(page["objects"]), page["hasNext"]) == (1000, True)
    rest = full_bucket.call(full_bucket.service, "POST", route, asked | {"cursor": page["nextCursor"]}).json()
    assert (len(rest["objects"]), rest["hasNext"]) == (OBJECTS - 1000, False)
    assert not {row["name"] for row in page["objects"]} & {row["name"] for row in rest["objects"]}


# A file and a folder of one name, what sorts between them, and letters of both cases; made in this order.
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("b-c", "a/x", "A.txt", "a", "B/y", "a-b", "a/w")


@pytest.fixture(scope="module")
def mixed_bucket(stack: Stack, owner: Owner) -> Iterator[BucketFixture]:
    """Yield a bucket whose files are a minute apart; each was changed and read in the reverse order."""
    with open_bucket(stack, owner) as own_bucket:
        for minute, name in enumerate(NAMES):
            made, changed = START + timedelta(minutes=minute), START + timedelta(days=1, minutes=-minute)
            owner.execute(
                "insert into storage.objects"
                " (bucket_id, name, version, created_at, updated_at, last_accessed_at)"
                " values (%s, %s, gen_random_uuid(), %s, %s, %s)",
                [own_bucket.bucket, name, made, changed, changed],
            )
        yield own_bucket


BY_NAME = ["a", "a-b", "A.txt", "a/", "b-c", "B/"]
BY_AGE = ["b-c", "A.txt", "a", "a-b"]


@pytest.mark.parametrize(
    ("column", "ascending"),
    [
        ("name", BY_NAME),
        ("created_at", ["B/", "a/", *BY_AGE]),
        ("updated_at", ["B/", "a/", *BY_AGE[::-1]]),
        ("last_accessed_at", ["B/", "a/", *BY_AGE[::-1]]),
    ],
)
def test_a_folder_is_listed_in_the_order_of_the_original(
    mixed_bucket: BucketFixture, column: str, ascending: list[str]
) -> None:
    """By name where its files would be, by a time first and by name."""
    folders = [] if column == "name" else ascending[:2]
    descending = (folders[::-1] + ascending[2:][::-1]) if folders else ascending[::-1]

    def listed(asked: dict[str, object]) -> list[str]:
        route = f"/object/list/{mixed_bucket.bucket}"
        rows = mixed_bucket.call(mixed_bucket.service, "POST", route, {"prefix": "", **asked}).json()
        return [row["name"] + ("" if row["id"] else "/") for row in rows]

    for order, expected in (("asc", ascending), ("desc", descending)):
        sort = {"sortBy": {"column": column, "order": order}}
        assert listed(sort) == expected
        pages = [listed(sort | {"limit": 1, "offset": offset}) for offset in range(len(expected))]
        assert list(chain(*pages)) == expected


@pytest.mark.parametrize(
    ("column", "ascending"),
    [
        ("name", ["A.txt", "B/", "a", "a-b", "a/", "b-c"]),
        ("created_at", ["b-c", "a/", "A.txt", "a", "B/", "a-b"]),
        # A folder is as old as its oldest file, whatever was changed in it.
        ("updated_at", ["a/", "B/", "a-b", "a", "A.txt", "b-c"]),
    ],
)
def test_pages_by_cursor_have_folders_between_files(
    mixed_bucket: BucketFixture, column: str, ascending: list[str]
) -> None:
    route = f"/object/list-v2/{mixed_bucket.bucket}"
    for order, expected in (("asc", ascending), ("desc", ascending[::-1])):
        found, cursor = list[str](), {}
        while True:
            sort = {"sortBy": {"column": column, "order": order}}
            asked = {"with_delimiter": True, "limit": 1, **sort, **cursor}
            page = mixed_bucket.call(mixed_bucket.service, "POST", route, asked).json()
            found += [row["name"] for row in page["folders"] + page["objects"]]
            if not page["hasNext"]:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert found == expected
