"""Who reaches which object: a member his own folder, nobody anything else, on every verb."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Owner
from tests.support.files import png
from tests.support.people import Caller, Member, People
from tests.support.stack import Stack
from tests.support.vault import Vault, open_vault


@pytest.fixture(scope="module")
def vault(stack: Stack, owner: Owner) -> Iterator[Vault]:
    with open_vault(stack, owner) as vault:
        yield vault


@pytest.fixture(scope="module")
def alice(people: People, sponsor: Member) -> Member:
    return people.member(sponsor.profile_id)


@pytest.fixture(scope="module")
def bob(people: People, sponsor: Member) -> Member:
    return people.member(sponsor.profile_id)


@pytest.fixture
def hers(vault: Vault, alice: Member) -> Iterator[tuple[str, bytes]]:
    """A file of Alice's, and its bytes; it is the same after the test."""
    path, content = f"{alice.user_id}/receipt.png", png()
    vault.put(alice, path, content).raise_for_status()
    yield path, content
    assert vault.get(alice, path).content == content
    vault.call(vault.service, "DELETE", f"/object/{vault.bucket}/{path}").raise_for_status()


READS = [
    ("GET", "/object/{key}", None),
    ("GET", "/object/authenticated/{key}", None),
    ("GET", "/object/public/{key}", None),
    ("HEAD", "/object/{key}", None),
    ("HEAD", "/object/public/{key}", None),
    ("GET", "/object/info/{key}", None),
    ("GET", "/object/info/public/{key}", None),
    ("POST", "/object/sign/{key}", {"expiresIn": 60}),
    (
        "POST",
        "/object/move",
        {"bucketId": "{bucket}", "sourceKey": "{path}", "destinationKey": "{own}/x.png"},
    ),
    (
        "POST",
        "/object/copy",
        {"bucketId": "{bucket}", "sourceKey": "{path}", "destinationKey": "{own}/x.png"},
    ),
    ("DELETE", "/object/{key}", None),
]


@pytest.mark.threat("T90")
@pytest.mark.parametrize(("verb", "route", "body"), READS)
@pytest.mark.parametrize("who", ["another member", "nobody"])
def test_anothers_file_does_not_exist(
    vault: Vault,
    hers: tuple[str, bytes],
    bob: Member,
    visitor: Caller,
    who: str,
    verb: str,
    route: str,
    body: dict[str, object] | None,
) -> None:
    caller = bob if who == "another member" else visitor
    values = {"bucket": vault.bucket, "path": hers[0], "key": f"{vault.bucket}/{hers[0]}", "own": bob.user_id}
    filled = {k: v.format(**values) if isinstance(v, str) else v for k, v in body.items()} if body else None
    answer = vault.call(caller, verb, route.format(**values), filled)
    assert 400 <= answer.status_code < 500
    assert hers[1] not in answer.content
    if verb != "HEAD":
        assert answer.json()["statusCode"] in ("403", "404")


@pytest.mark.threat("T90")
def test_a_range_of_anothers_file(vault: Vault, hers: tuple[str, bytes], bob: Member) -> None:
    answer = vault.get(bob, hers[0], range="bytes=0-3")
    assert (answer.status_code, answer.json()["code"]) == (400, "NoSuchKey")


@pytest.mark.threat("T92")
def test_lists_show_the_own_folder_only(
    vault: Vault, hers: tuple[str, bytes], alice: Member, bob: Member, visitor: Caller
) -> None:
    listing = f"/object/list/{vault.bucket}"
    seen = {
        who: vault.call(caller, "POST", listing, {"prefix": ""}).json()
        for who, caller in (("alice", alice), ("bob", bob), ("nobody", visitor))
    }
    assert [row["name"] for row in seen["alice"]] == [alice.user_id]
    assert seen["bob"] == seen["nobody"] == []
    assert vault.call(bob, "POST", listing, {"prefix": alice.user_id}).json() == []
    batch = {"expiresIn": 60, "paths": [hers[0]]}
    signed = vault.call(bob, "POST", f"/object/sign/{vault.bucket}", batch).json()
    assert signed[0]["signedURL"] is None
    removed = vault.call(bob, "DELETE", f"/object/{vault.bucket}", {"prefixes": [hers[0]]})
    assert removed.json() == []


@pytest.mark.threat("T94")
@pytest.mark.parametrize("verb", ["POST", "PUT"])
@pytest.mark.parametrize("upsert", ["true", "false"])
def test_nobody_writes_into_anothers_folder(
    vault: Vault, hers: tuple[str, bytes], alice: Member, bob: Member, verb: str, upsert: str
) -> None:
    for path in (hers[0], f"{alice.user_id}/new.png", "root.png", f"x/{bob.user_id}/a.png"):
        route = f"/storage/v1/object/{vault.bucket}/{path}"
        headers = {"x-upsert": upsert, "content-type": "image/png"}
        answer = bob.http.request(verb, route, content=png(), headers=headers)
        assert answer.json()["code"] == "AccessDenied", answer.text
    assert vault.names() == [hers[0]]


@pytest.mark.threat("T94")
def test_the_own_file_is_not_replaced_without_the_right(
    vault: Vault, hers: tuple[str, bytes], alice: Member
) -> None:
    assert vault.put(alice, hers[0], png()).json()["code"] == "KeyAlreadyExists"
    assert vault.put(alice, hers[0], png(), x_upsert="true").json()["code"] == "AccessDenied"
    route = f"/storage/v1/object/{vault.bucket}/{hers[0]}"
    replaced = alice.http.put(route, content=png(), headers={"content-type": "image/png"})
    assert replaced.json()["code"] == "AccessDenied"


@pytest.mark.threat("T70")
def test_a_token_that_is_not_to_be_trusted(vault: Vault, stack: Stack, alice: Member) -> None:
    head, claims, signature = alice.token.split(".")
    flipped = ("B" if signature[0] != "B" else "C") + signature[1:]
    tokens = {
        "garbage": "Invalid Compact JWS",
        f"{head}.{claims}.{flipped}": "signature verification failed",
        f"{head}.{claims}.": "signature verification failed",
    }
    for token, message in tokens.items():
        caller = Caller(stack, token)
        answer = vault.call(caller, "POST", f"/object/list/{vault.bucket}", {"prefix": ""})
        assert answer.status_code == 400
        assert answer.json() == {
            "statusCode": "403",
            "error": "Unauthorized",
            "message": message,
            "code": "AccessDenied",
        }
