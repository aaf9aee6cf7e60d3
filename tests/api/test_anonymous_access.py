"""What the public key alone reaches: what a migration grants to role anon, within ten seconds."""

import secrets
import time
from collections.abc import Callable, Iterator

import pytest

from tests.api.conftest import Owner
from tests.support.people import ApiClient

SECONDS = 10


@pytest.fixture
def notices(owner: Owner) -> Iterator[str]:
    """Yield the name of a table and a function as a migration makes them, granted to nobody."""
    name = f"notices_{secrets.token_hex(3)}"
    owner.execute(
        f"create table public.{name} (id integer); insert into public.{name} values (7);"
        f" alter table public.{name} enable row level security;"
        f" create policy read_all on public.{name} for select using (true);"
        f" create function public.{name}() returns integer language sql set search_path = '' as 'select 7'"
    )
    yield name
    owner.execute(f"drop function public.{name}(); drop table public.{name}")


def _within(seconds: float, happened: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not (done := happened()) and time.monotonic() < until:
        time.sleep(0.3)
    return done


@pytest.mark.threat("T122")
def test_the_public_key_reaches_what_a_migration_grants(
    anonymous: ApiClient, owner: Owner, notices: str
) -> None:
    paths = (f"/rest/v1/{notices}?select=id", f"/rest/v1/rpc/{notices}")

    def all_are(status: int) -> bool:
        return {anonymous.http.get(path).status_code for path in paths} == {status}

    assert all_are(401)
    owner.execute(f"grant select on public.{notices} to anon; grant execute on function {notices}() to anon")
    assert _within(SECONDS, lambda: all_are(200))
    assert [anonymous.http.get(path).json() for path in paths] == [[{"id": 7}], 7]
    assert anonymous.http.post(f"/rest/v1/{notices}", json={"id": 8}).status_code == 401
    owner.execute(
        f"revoke select on public.{notices} from anon; revoke execute on function {notices}() from anon"
    )
    assert _within(SECONDS, lambda: all_are(401))
    denied = anonymous.http.get(paths[0]).json()
    assert (denied["code"], denied["message"]) == ("42501", f"permission denied for table {notices}")


@pytest.mark.threat("T119")
def test_no_client_asks_what_is_granted(anonymous: ApiClient) -> None:
    for service in ("functions", "rest"):
        response = anonymous.http.get(f"/{service}/v1/anonymous-access")
        assert response.status_code in (401, 404)
        assert "granted" not in response.text.partition("hint")[0]
