"""Requests made up from each service's own OpenAPI document: no fault, nothing that it does not announce.

The same requests in every run, through the gateway, by nobody, a member and administrators.
"""

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
from tests.support.people import Administrator, Member, People

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
# Ends the session that it is asked with.
ENDING = ("/admin-auth", "/logout")
Tokens = dict[str, str]


def bounded(examples: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def tokens(
    people: People, sponsor: Member, support: Administrator, finance: Administrator, superior: Administrator
) -> Tokens:
    member = people.member(sponsor.profile_id)
    return {
        "member": member.token,
        "support": support.token,
        "finance": finance.token,
        "super": superior.token,
    }


def ask(case: Any, people: People, prefix: str, tokens: Tokens) -> None:
    """One made-up request from each caller."""
    for token in (None, *tokens.values()):
        headers = {"apikey": people.stack.anon_key}
        if token:
            headers["authorization"] = f"Bearer {token}"
        answer = case.call(base_url=f"{people.stack.url}{prefix}", headers=headers, allow_redirects=False)
        case.validate_response(answer, checks=CHECKS)


def only(tokens: Tokens, *names: str) -> Tokens:
    return {name: tokens[name] for name in names}


functions = schemathesis.openapi.from_dict(edge.openapi())
storage = schemathesis.openapi.from_dict(storage_app().openapi())
auth = schemathesis.openapi.from_dict(document(ROUTES)).exclude(path="/openapi.json")


@pytest.mark.threat("T58", "T118")
@functions.parametrize()
@bounded(6)
def test_functions(case: Any, people: People, tokens: Tokens) -> None:
    if case.path in ENDING:
        tokens = {role: people.administrator(role).token for role in ("support_admin", "super_admin")}
    ask(case, people, "/functions/v1", tokens)


@storage.parametrize()
@bounded(5)
def test_storage(case: Any, people: People, tokens: Tokens) -> None:
    ask(case, people, "/storage/v1", only(tokens, "member", "super"))


@auth.parametrize()
@bounded(5)
def test_auth(case: Any, people: People, sponsor: Member, tokens: Tokens) -> None:
    if case.path in ENDING:
        tokens = {"member": people.member(sponsor.profile_id).token}
    ask(case, people, "/auth/v1", only(tokens, "member"))
