"""Requests made up from each service's own OpenAPI document: no fault, nothing that it does not announce.

The same requests in every run, through the gateway, by nobody, a member and an administrator of each role.
OPENAPI_EXAMPLES asks for more of them from each operation: 4 are a minute, 200 an hour.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

from functions.auth.app import ROUTES
from functions.auth.documents import document
from functions.edge.main import app as edge
from tests.support.endpoints import storage_app
from tests.support.people import Member, People

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


def signed_in(people: People, sponsor: Member) -> Tokens:
    """A token of everybody who can sign in."""
    roles = ("support", "finance", "super")
    return {
        "member": people.member(sponsor.profile_id).token,
        **{role: people.administrator(f"{role}_admin").token for role in roles},
    }


@pytest.fixture(scope="module")
def tokens(people: People, sponsor: Member) -> Tokens:
    return signed_in(people, sponsor)


@pytest.fixture
def passing(people: People, sponsor: Member) -> Tokens:
    """Tokens that nobody misses afterwards."""
    return signed_in(people, sponsor)


def ask(case: Any, people: People, prefix: str, tokens: Tokens) -> None:
    """One made-up request from each caller."""
    for token in (None, *tokens.values()):
        headers = {"apikey": people.stack.anon_key}
        if token:
            headers["authorization"] = f"Bearer {token}"
        answer = case.call(base_url=f"{people.stack.url}{prefix}", headers=headers, allow_redirects=False)
        case.validate_response(answer, checks=CHECKS)


functions = schemathesis.openapi.from_dict(edge.openapi())
storage = schemathesis.openapi.from_dict(storage_app().openapi())
auth = schemathesis.openapi.from_dict(document(ROUTES)).exclude(path="/openapi.json")
# They end sessions or change accounts, so they are asked with tokens of their own.
changing = {"functions": "^/admin-auth$", "auth": "^/(logout|user|factors)"}


@pytest.mark.threat("T58", "T118")
@functions.exclude(path_regex=changing["functions"]).parametrize()
@bounded
def test_functions(case: Any, people: People, tokens: Tokens) -> None:
    ask(case, people, "/functions/v1", tokens)


@functions.include(path_regex=changing["functions"]).parametrize()
@bounded
def test_functions_that_change_their_caller(case: Any, people: People, passing: Tokens) -> None:
    ask(case, people, "/functions/v1", passing)


@storage.parametrize()
@bounded
def test_storage(case: Any, people: People, tokens: Tokens) -> None:
    ask(case, people, "/storage/v1", tokens)


@auth.exclude(path_regex=changing["auth"]).parametrize()
@bounded
def test_auth(case: Any, people: People, tokens: Tokens) -> None:
    ask(case, people, "/auth/v1", tokens)


@auth.include(path_regex=changing["auth"]).parametrize()
@bounded
def test_auth_that_changes_its_caller(case: Any, people: People, passing: Tokens) -> None:
    ask(case, people, "/auth/v1", passing)
