"""Who may call which function: every function, by everybody."""

import base64
import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.people import Administrator, Caller, Member, People

SOME_ID = str(uuid.uuid4())
FOR_ADMINISTRATORS: dict[str, dict[str, Any]] = {
    "admin-list-deposits": {},
    "admin-list-withdrawals": {},
    "admin-approve-deposit": {"depositId": SOME_ID, "action": "approve"},
    "admin-approve-withdrawal": {"withdrawalId": SOME_ID, "action": "approve"},
    "admin-get-receipt": {"receiptUrl": "https://x.example/storage/v1/object/public/receipts/a/1.png"},
    "admin-get-transactions": {},
    "admin-reveal-mt5-password": {"subscriptionId": SOME_ID},
    "admin-update-subscription": {"subscriptionId": SOME_ID, "status": "active", "reason": "x"},
    "admin-update-member": {"profileId": SOME_ID, "admin_notes": "x"},
    "admin-remove-factors": {"profileId": SOME_ID, "reason": "x"},
    "admin-propose-correction": {"kind": "void_deposit", "targetId": SOME_ID, "reason": "x"},
    "admin-confirm-correction": {"correctionId": SOME_ID},
    "admin-accounts": {"action": "list"},
    "admin-settings": {"action": "list"},
    "admin-jobs": {"action": "list"},
    "admin-audit": {},
    "admin-export": {"list": "deposits"},
}
NOT_FOR_SUPPORT = (
    "admin-approve-deposit",
    "admin-approve-withdrawal",
    "admin-get-receipt",
    "admin-reveal-mt5-password",
    "admin-remove-factors",
    "admin-propose-correction",
    "admin-confirm-correction",
    "admin-accounts",
    "admin-settings",
    "admin-jobs",
    "admin-export",
)
NOT_FOR_FINANCE = (
    "admin-remove-factors",
    "admin-propose-correction",
    "admin-accounts",
    "admin-settings",
    "admin-jobs",
)
FOR_MEMBERS = {"bot-subscription": {"bot_name": "Scout", "action": "unsubscribe"}}
ALL = {**FOR_ADMINISTRATORS, **FOR_MEMBERS, "sync-all-mlm-bonuses": {}}


def raw(stack_url: str, name: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    return httpx.post(f"{stack_url}/functions/v1/{name}", json=body, headers=headers, timeout=30)


@pytest.mark.threat("T42", "T65")
@pytest.mark.parametrize("name", ALL)
def test_nobody(visitor: Caller, name: str) -> None:
    assert raw(visitor.stack.url, name, ALL[name]).status_code == 401
    with_public_key = visitor.function(name, ALL[name])
    assert (with_public_key.status_code, with_public_key.json()) == (
        401,
        {"error": "Not authenticated", "code": "not_authenticated"},
    )


@pytest.mark.threat("T65")
@pytest.mark.parametrize("name", FOR_ADMINISTRATORS)
def test_a_member(member: Member, name: str) -> None:
    answer = member.function(name, ALL[name])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.threat("T54")
@pytest.mark.parametrize("name", NOT_FOR_SUPPORT)
def test_support_decides_no_money(support: Administrator, name: str) -> None:
    answer = support.function(name, ALL[name])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


@pytest.mark.threat("T54")
@pytest.mark.parametrize("name", NOT_FOR_FINANCE)
def test_finance_leaves_to_the_super_admin(finance: Administrator, name: str) -> None:
    answer = finance.function(name, ALL[name])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


@pytest.mark.parametrize("name", FOR_MEMBERS)
def test_an_administrator_is_no_member(finance: Administrator, name: str) -> None:
    answer = finance.function(name, ALL[name])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


@pytest.mark.parametrize("name", ["admin-list-deposits", "admin-list-withdrawals"])
@pytest.mark.parametrize("role", ["support", "finance", "superior"])
def test_every_administrator_reads_the_lists(request: pytest.FixtureRequest, role: str, name: str) -> None:
    administrator: Administrator = request.getfixturevalue(role)
    answer = administrator.function(name, {"page": 1, "pageSize": 5})
    assert answer.status_code == 200, answer.text
    assert {"items", "total", "counts"} <= set(answer.json())


@pytest.mark.threat("T63")
@pytest.mark.parametrize("name", FOR_ADMINISTRATORS)
def test_a_signed_out_administrator(people: People, name: str) -> None:
    administrator = people.administrator("super_admin")
    administrator.function("admin-auth", {"action": "logout"}).raise_for_status()
    assert administrator.function(name, ALL[name]).status_code == 401


@pytest.mark.parametrize("name", ALL)
def test_the_service_key_is_nobody_in_particular(people: People, name: str) -> None:
    service = Caller(people.stack, people.stack.service_key)
    assert service.function(name, ALL[name]).status_code in (401, 403)


def forged(token: str, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> str:
    """A token with other header or claims and the signature it had."""

    def part(text: str) -> dict[str, Any]:
        return dict(json.loads(base64.urlsafe_b64decode(text + "==")))

    def text(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head, claims, signature = token.split(".")
    header, values = part(head), part(claims)
    change(header, values)
    return f"{text(header)}.{text(values)}.{signature}"


@pytest.mark.threat("T70")
@pytest.mark.parametrize(
    "change",
    [
        lambda header, claims: header.update(alg="none"),
        lambda header, claims: header.update(alg="HS256"),
        lambda header, claims: header.update(kid="other"),
        lambda header, claims: header.update(kid="../../dev/null"),
        lambda header, claims: header.update(jku="http://127.0.0.1/keys"),
        lambda header, claims: claims.update(role="platform_admin"),
        lambda header, claims: claims.update(exp=9999999999),
    ],
    ids=["alg none", "alg HS256", "unknown key", "key path", "key address", "other role", "longer life"],
)
def test_forged_tokens(member: Member, finance: Administrator, change: Callable[..., None]) -> None:
    for token, name in ((member.token, "sync-all-mlm-bonuses"), (finance.token, "admin-list-deposits")):
        answer = Caller(member.stack, forged(token, change)).function(name)
        assert answer.status_code == 401, answer.text
        assert answer.json()["error"] == "Invalid JWT signature"


@pytest.mark.threat("T58", "T115")
@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 5000, "application/json", 400),
        (b'{"depositId": "x", "action": "approve"}', "application/json", 400),
        (b'{"depositId": 1, "action": "approve"}', "application/json", 400),
        (b'{"action": "approve"}', "application/json", 400),
        (b'{"depositId": "%s", "action": "delete"}' % SOME_ID.encode(), "application/json", 400),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\u0000"}' % SOME_ID.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "\\ud800"}' % SOME_ID.encode(),
            "application/json",
            400,
        ),
        (
            b'{"depositId": "%s", "action": "reject", "reason": "%s"}' % (SOME_ID.encode(), b"x" * 2000),
            "application/json",
            400,
        ),
        (b"depositId=1", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
        (b'{"reason": "' + b"x" * 1_100_000 + b'"}', "application/json", 413),
    ],
)
def test_bodies_of_the_wrong_shape(finance: Administrator, content: bytes, kind: str, status: int) -> None:
    answer = finance.http.post(
        "/functions/v1/admin-approve-deposit", content=content, headers={"content-type": kind}
    )
    assert answer.status_code == status, answer.text
    if status != 413:
        assert answer.json()["code"] == "invalid_input"


def test_an_unknown_function(finance: Administrator) -> None:
    answer = finance.function("no-such-function")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.threat("T58")
def test_a_deposit_that_does_not_exist(finance: Administrator) -> None:
    answer = finance.function("admin-approve-deposit", {"depositId": SOME_ID, "action": "approve"})
    assert answer.status_code == 404, answer.text
