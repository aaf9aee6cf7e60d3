"""A table that is locked for some seconds, as a migration does: every API says in time that it is busy."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.people import Administrator, ApiClient, Member
from tests.support.stack import Stack

LOCK = "lock table auth.refresh_tokens, private.profiles, storage.objects in access exclusive mode"
# Of the database itself.
WORDS = ("55P03", "lock timeout", "canceling", "profiles", "objects", "refresh_tokens")


@pytest.mark.alone
def test_a_locked_table_is_a_reason_to_try_again(
    stack: Stack, member: Member, finance: Administrator
) -> None:
    login = {"email": member.email, "password": member.password}
    session = member.http.post("/auth/v1/token?grant_type=password", json=login).raise_for_status().json()
    refresh = {"refresh_token": session["refresh_token"]}
    service = ApiClient(stack, stack.service_key)
    objects = "/storage/v1/object/list/receipts"
    asked = {
        "auth": lambda: member.http.post("/auth/v1/token?grant_type=refresh_token", json=refresh),
        "storage": lambda: service.http.post(objects, json={"prefix": member.user_id}),
        "storage, of a person": lambda: member.http.post(objects, json={"prefix": member.user_id}),
        "edge": lambda: finance.function("admin-list-withdrawals"),
        "rpc": lambda: member.rpc("get_withdraw_options"),
        "rpc that writes": lambda: member.rpc("cancel_request", {"p_id": member.user_id}),
    }
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as migration:
        migration.execute(LOCK)
        with ThreadPoolExecutor(len(asked)) as clients:
            under_way = {name: clients.submit(ask) for name, ask in asked.items()}
            responses = {name: response.result() for name, response in under_way.items()}
        migration.rollback()
    assert {name: response.status_code for name, response in responses.items()} == dict.fromkeys(asked, 503)
    for response in responses.values():
        assert not [word for word in WORDS if word in response.text], response.text
    waits = {name for name, response in responses.items() if "retry-after" in response.headers}
    assert waits == set(asked) - {"auth", "edge"}
    assert member.http.post("/auth/v1/token?grant_type=refresh_token", json=refresh).status_code == 200
