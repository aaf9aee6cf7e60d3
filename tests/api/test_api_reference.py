"""What docs/api-reference.md says that functions respond with, compared with their responses.

Those that only read, with the arguments of their examples, as a member who has everything and as a super
administrator.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from launcher.settings import ROOT
from tests.support.people import Administrator, ApiClient, Member, People
from tests.support.stack import Stack

REFERENCE = ROOT / "docs" / "api-reference.md"
ENTRY = re.compile(r"^### `((?:get|list|search)_\w+)`\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
SHAPE = re.compile(r"\*\*Response:\*\* `([\[{].*)`$", re.MULTILINE)
EXAMPLE = re.compile(r'^api\.post\("/rest/v1/rpc/\w+", json=(.*)\)$', re.MULTILINE)


def entries() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield name, who may call it, shape and arguments of each function that responds with objects."""
    functions = REFERENCE.read_text().partition("## Functions of the database")[2].partition("\n## ")[0]
    for name, text in ENTRY.findall(functions):
        if shape := SHAPE.search(text):
            who = re.search(r"\*\*Who:\*\* (.*)", text)
            arguments = EXAMPLE.search(text)
            assert who, name
            assert arguments, name
            yield name, who[1], shape[1], ast.literal_eval(arguments[1])


@pytest.fixture(scope="module")
def earner(people: People, stack: Stack) -> Member:
    """Return the demo's member, who has rows of every kind."""
    return people.sign_in(stack.values["DEMO_MEMBER_EMAIL"], stack.values["DEMO_MEMBER_PASSWORD"])


@pytest.mark.parametrize(
    ("name", "who", "shape", "arguments"), list(entries()), ids=lambda value: str(value)[:40]
)
def test_responses_have_the_keys_that_the_reference_names(
    name: str, who: str, shape: str, arguments: dict[str, Any], earner: Member, super_admin: Administrator
) -> None:
    client: ApiClient = earner if "members" in who else super_admin
    # Made-up ids find nothing, and a month must be one that the member has.
    changed = {
        "p_root": earner.profile_id,
        "p_referral_code": earner.profile_id,
        "p_profile_id": earner.profile_id,
    }
    arguments = {key: changed.get(key, value) for key, value in arguments.items()}
    if name == "get_statement":
        today = client.rpc("get_earnings", {"p_range": "30d"}).json()["to"]
        arguments["p_month"] = today
    if name == "search_team":
        arguments["p_search"] = earner.username
    response = client.rpc(name, arguments)
    assert response.status_code == 200, response.text
    content = response.json()
    compare(name, shape, content)


def compare(place: str, shape: str, content: Any) -> None:
    """Compare the keys of an object, or of the first one of an array, with a shape; and so on inside."""
    if shape.startswith("["):
        assert isinstance(content, list), place
        return compare(place, shape[1:-1], content[0]) if content else None
    if content is None:
        return None
    named = dict(members(shape[1:-1]))
    keys = set(content)
    always = {key for key in named if not key.endswith("?")}
    assert always - {"…"} <= keys, f"{place} has {sorted(keys)}"
    assert "…" in named or keys <= {key.rstrip("?") for key in named}, f"{place} has {sorted(keys)}"
    for key, inner in named.items():
        if inner:
            compare(f"{place}.{key}", inner, content[key])
    return None


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of an object's shape with the shapes of their values, which may be empty."""
    depth, part = 0, ""
    for sign in f"{text},":
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            key, _, inner = part.strip().partition(": ")
            yield key, inner
            part = ""
        else:
            part += sign
