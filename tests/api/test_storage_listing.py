"""Lists of a bucket with more objects than one page holds."""

from collections.abc import Iterator

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
