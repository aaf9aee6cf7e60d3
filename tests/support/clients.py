"""Clients that ask a stack all the time, for who replaces what runs meanwhile."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from tests.support import plain_http
from tests.support.own_stack import OwnStack
from tests.support.people import until_served

CLIENTS, ROUNDS = 4, 5
Requests = list[tuple[str, str, object]]
OF_A_MEMBER: Requests = [
    ("GET", "/rest/v1/profiles?select=user_id", None),
    ("POST", "/rest/v1/rpc/get_my_account_status", {}),
    ("GET", "/auth/v1/user", None),
    ("POST", "/storage/v1/object/list/receipts", {"prefix": ""}),
]
OF_AN_ADMINISTRATOR: Requests = [
    ("POST", "/rest/v1/rpc/touch_admin_session", {}),
    ("POST", "/functions/v1/admin-get-transactions", {}),
]


def member_token(stack: OwnStack) -> str:
    """Sign in as the demo member; return the access token."""
    values = stack.values
    body = {"email": values["DEMO_MEMBER_EMAIL"], "password": values["DEMO_MEMBER_PASSWORD"]}
    url = f"{values['SUPABASE_URL']}/auth/v1/token?grant_type=password"
    headers = {"apikey": values["SUPABASE_ANON_KEY"]}
    response = until_served(lambda: plain_http.post(url, headers=headers, json=body))
    return str(response.raise_for_status().json()["access_token"])


@contextmanager
def asking(stack: OwnStack, sign_in: Callable[[], str], requests: Requests) -> Iterator[Counter[object]]:
    """Send requests all the time, each round with the token of a new sign-in; yield how they ended.

    Of sign-ins only those that failed are counted.
    """
    stop, seen, values = threading.Event(), Counter[object](), stack.values

    def ask() -> None:
        with plain_http.client(base_url=values["SUPABASE_URL"], timeout=30) as http:
            while not stop.is_set():
                try:
                    bearer = sign_in()
                except httpx.HTTPStatusError as rejected:
                    seen["sign-in", rejected.response.status_code] += 1
                    continue
                except httpx.TransportError as error:
                    seen["sign-in", repr(error)] += 1
                    continue
                headers = {"apikey": values["SUPABASE_ANON_KEY"], "authorization": f"Bearer {bearer}"}
                for method, path, body in requests * ROUNDS:
                    try:
                        response = http.request(method, path, json=body, headers=headers)
                        seen[path, response.status_code] += 1
                    except httpx.TransportError as error:
                        seen[path, repr(error)] += 1

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield seen
    finally:
        stop.set()
        for client in clients:
            client.join()


def require_all_served(seen: Counter[object], requests: Requests) -> None:
    """Raise unless each request was served, often, and never anything else."""
    assert seen.keys() == {(path, 200) for _, path, _ in requests}, seen
    assert min(seen.values()) > 50
