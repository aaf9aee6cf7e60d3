"""Generated requests from each service's OpenAPI document: no server error, no undocumented response.

The same requests in every run, through the gateway, by an anonymous client, a member and an administrator of
each role. OPENAPI_EXAMPLES sets the number per operation: 4 take a minute, 200 an hour.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from requests.adapters import HTTPAdapter
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from functions.auth.app import ROUTES
from functions.auth.openapi import document
from tests.support.people import Member, People, until_served
from tests.support.service_apps import edge_app, storage_app

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES", "4"))
Tokens = dict[str, str]


bounded: Callable[[Any], Any] = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def signed_in(people: People, referrer: Member) -> Tokens:
    """Return a token for each kind of principal that can sign in."""
    roles = ("support", "finance", "super")
    return {
        "member": people.member(referrer.profile_id).token,
        **{role: people.administrator(f"{role}_admin").token for role in roles},
    }


@pytest.fixture(scope="module")
def tokens(people: People, referrer: Member) -> Tokens:
    return signed_in(people, referrer)


@pytest.fixture
def passing(people: People, referrer: Member) -> Tokens:
    """Tokens that a test may invalidate."""
    return signed_in(people, referrer)


functions = schemathesis.openapi.from_dict(edge_app().openapi())
storage = schemathesis.openapi.from_dict(storage_app().openapi())
auth = schemathesis.openapi.from_dict(document(ROUTES)).exclude(path="/openapi.json")
# They end sessions or change accounts, so they get tokens of their own.
changing = {"functions": "^/(admin-auth|close-account)$", "auth": "^/(logout|user|factors)"}


def each_operation(schema: Any) -> Any:
    """Return a test per operation, named after it: xdist tells tests apart by their names."""
    found = [result.ok() for result in schema.get_all_operations()]
    return pytest.mark.parametrize("operation", found, ids=[operation.label for operation in found])


class FromAddress(HTTPAdapter):
    """Calls from an address: failed sign-ins of made-up people count against it."""

    def __init__(self, address: str) -> None:
        self._source = (address, 0)
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options, source_address=self._source)


def calling_from(address: str) -> requests.Session:
    """Return the client that schemathesis sends its requests with."""
    session = requests.Session()
    if address:
        session.mount("http://", FromAddress(address))
    return session


def ask(operation: Any, people: People, prefix: str, tokens: Tokens) -> None:
    """Send valid and invalid generated requests as each principal."""
    session, address = calling_from(people.address), f"{people.stack.url}{prefix}"

    @bounded
    @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode]))
    def made_up(case: Any) -> None:
        for token in (None, *tokens.values()):
            headers = {"apikey": people.stack.anon_key}
            if token:
                headers["authorization"] = f"Bearer {token}"
            asked = {"base_url": address, "session": session, "headers": headers, "allow_redirects": False}
            response = until_served(lambda asked=asked: case.call(**asked))
            case.validate_response(response, checks=CHECKS)

    made_up()


@pytest.mark.threat("T58", "T118")
@each_operation(functions.exclude(path_regex=changing["functions"]))
def test_functions(operation: Any, people: People, tokens: Tokens) -> None:
    ask(operation, people, "/functions/v1", tokens)


@each_operation(functions.include(path_regex=changing["functions"]))
def test_functions_that_change_their_principal(operation: Any, people: People, passing: Tokens) -> None:
    ask(operation, people, "/functions/v1", passing)


@each_operation(storage)
def test_storage(operation: Any, people: People, tokens: Tokens) -> None:
    ask(operation, people, "/storage/v1", tokens)


@each_operation(auth.exclude(path_regex=changing["auth"]))
def test_auth(operation: Any, people: People, tokens: Tokens) -> None:
    ask(operation, people, "/auth/v1", tokens)


@each_operation(auth.include(path_regex=changing["auth"]))
def test_auth_that_changes_its_principal(operation: Any, people: People, passing: Tokens) -> None:
    ask(operation, people, "/auth/v1", passing)
