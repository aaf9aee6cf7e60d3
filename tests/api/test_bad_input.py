"""What is not accepted: the exact sentence, and the database as it was before."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.files import HTML, PDF, SVG, large_png, png
from tests.support.people import PASSWORD, WALLET, Administrator, Caller, Member, People

Count = Callable[[str], int]


def refused(answer: httpx.Response, text: str) -> None:
    """Assert that the response is a client error with this text, in whichever field its service uses."""
    assert 400 <= answer.status_code < 500, answer.text
    body = answer.json()
    assert text in (body.get("error"), body.get("message"), body.get("msg")), body


@pytest.fixture
def untouched(member: Member, owner: psycopg.Connection[dict[str, Any]]) -> Iterator[None]:
    """Whatever happens in the test, the member's rows and totals are the same afterwards."""

    def state() -> list[Any]:
        queries = (
            "select * from private.profiles where user_id = %s",
            "select * from public.deposits where user_id = %s",
            "select * from public.withdrawals where user_id = %s",
            "select * from public.bonuses where user_id = %s",
            "select * from public.transactions where user_id = %s",
        )
        return [owner.execute(query, [member.user_id]).fetchall() for query in queries]

    before = state()
    yield
    assert state() == before


def test_wrong_password(visitor: Caller, member: Member) -> None:
    answer = visitor.http.post(
        "/auth/v1/token?grant_type=password", json={"email": member.email, "password": "not-this-one"}
    )
    refused(answer, "Invalid login credentials")


@pytest.mark.threat("T45")
@pytest.mark.parametrize(
    "code", ["00000000-0000-4000-8000-000000000000", "nobody", "", "x'; drop table", None]
)
def test_unknown_or_malformed_referral_code(visitor: Caller, counted: Count, code: str | None) -> None:
    name = f"t_{uuid.uuid4().hex[:10]}"
    data = {"display_name": "Nobody", "username": name, "package_value": 0, "referrer_id": code}
    answer = visitor.http.post(
        "/auth/v1/signup", json={"email": f"{name}@example.com", "password": PASSWORD, "data": data}
    )
    refused(answer, "Invalid referral code" if code else "Referral code is required for registration")
    assert counted(f"auth.users where email = '{name}@example.com'") == 0


def test_taken_username_in_other_case(
    visitor: Caller, sponsor: Member, member: Member, counted: Count
) -> None:
    email = f"{uuid.uuid4().hex[:10]}@example.com"
    data = {
        "display_name": "Copy",
        "username": member.username.upper(),
        "package_value": 0,
        "referrer_id": sponsor.profile_id,
    }
    answer = visitor.http.post("/auth/v1/signup", json={"email": email, "password": PASSWORD, "data": data})
    refused(answer, "Username already exists. Please choose a different username.")
    assert counted(f"auth.users where email = '{email}'") == 0


def test_username_of_another_member(member: Member, sponsor: Member, counted: Count) -> None:
    answer = member.patch("profiles", f"user_id=eq.{member.user_id}", {"username": sponsor.username.upper()})
    refused(answer, "Username already exists. Please choose a different username.")
    assert counted(f"private.profiles where username = '{member.username}'") == 1


@pytest.mark.threat("T22")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "amount",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        -5,
        0,
        10.005,
        "1e400",
        "1;drop",
        "",
        [],
        None,
        True,
        "\uff11\uff10\uff10",
        1e13,
    ],
)
def test_deposit_of_an_impossible_amount(member: Member, amount: Any) -> None:
    answer = member.insert("deposits", member.deposit_row(amount))
    assert 400 <= answer.status_code < 500, answer.text


@pytest.mark.threat("T22")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("literal", ["NaN", "1e400", "-1e400"])
def test_deposit_of_a_number_that_json_cannot_hold(member: Member, literal: str) -> None:
    row = member.deposit_row("AMOUNT")
    body = httpx.Request("POST", member.stack.url, json=row).content.replace(b'"AMOUNT"', literal.encode())
    answer = member.http.post("/rest/v1/deposits", content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text


@pytest.mark.threat("T27")
@pytest.mark.usefixtures("untouched")
def test_first_deposit_that_is_no_package(member: Member) -> None:
    answer = member.insert("deposits", member.deposit_row(75))
    assert answer.status_code == 400, answer.text


@pytest.mark.threat("T20")
@pytest.mark.usefixtures("untouched")
def test_deposit_already_approved(member: Member) -> None:
    answer = member.insert("deposits", member.deposit_row(50, status="approved"))
    assert answer.status_code in (400, 403), answer.text


@pytest.mark.threat("T21")
@pytest.mark.usefixtures("untouched")
def test_deposit_for_somebody_else(member: Member, sponsor: Member, counted: Count) -> None:
    before = counted(f"public.deposits where user_id = '{sponsor.user_id}'")
    answer = member.insert("deposits", member.deposit_row(50, user_id=sponsor.user_id))
    assert answer.status_code == 403, answer.text
    assert counted(f"public.deposits where user_id = '{sponsor.user_id}'") == before


@pytest.mark.threat("T29")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/x.png",
        "javascript:alert(1)",
        "/object/public/receipts/../x.png",
        "",
        "file:///etc/passwd",
    ],
)
def test_deposit_with_a_receipt_that_is_none(member: Member, address: str) -> None:
    answer = member.insert("deposits", member.deposit_row(50, receipt_url=address))
    assert 400 <= answer.status_code < 500, answer.text


@pytest.mark.threat("T95")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("content", "extension", "kind"),
    [
        (SVG, "svg", "image/svg+xml"),
        (SVG, "png", "image/png"),
        (HTML, "html", "text/html"),
        (HTML, "png", "image/png"),
        (PDF, "png", "image/png"),
        (png(), "pdf", "application/pdf"),
    ],
    ids=["svg", "svg as png", "html", "html as png", "pdf as png", "png as pdf"],
)
def test_receipt_that_is_no_receipt(
    member: Member, counted: Count, content: bytes, extension: str, kind: str
) -> None:
    answer = member.upload(content, extension, kind)
    assert 400 <= answer.status_code < 500, answer.text
    assert counted(f"storage.objects where name like '{member.user_id}/%'") == 0


@pytest.mark.threat("T96")
def test_receipt_of_six_megabytes(member: Member, counted: Count) -> None:
    answer = member.upload(large_png(6_000_000))
    assert answer.json()["statusCode"] == "413", answer.text
    assert counted(f"storage.objects where name like '{member.user_id}/%'") == 0


@pytest.mark.threat("T94")
def test_receipt_in_the_folder_of_another(member: Member, sponsor: Member, counted: Count) -> None:
    path = f"/storage/v1/object/receipts/{sponsor.user_id}/1700000000000.png"
    answer = member.http.post(path, files={"": ("x.png", png(), "image/png")})
    assert answer.json()["statusCode"] == "403", answer.text
    assert counted(f"storage.objects where name = '{sponsor.user_id}/1700000000000.png'") == 0


@pytest.fixture(scope="module")
def earner(people: People, sponsor: Member, finance: Administrator) -> Member:
    """Return a member with $1,100.00 to withdraw."""
    return people.earner(sponsor.profile_id, finance)


@pytest.mark.threat("T33")
@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (99.99, "Minimum withdrawal amount is $100"),
        (1100.01, "Insufficient balance. Available: $1,100.00"),
        (9_000_000, "Insufficient balance. Available: $1,100.00"),
    ],
)
def test_withdrawal_outside_the_limits(earner: Member, counted: Count, amount: float, text: str) -> None:
    refused(earner.insert("withdrawals", earner.withdrawal_row(amount)), text)
    assert counted(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T33")
@pytest.mark.parametrize("amount", ["NaN", "Infinity", -100, 0, 100.005, "1e400", None, [], "abc"])
def test_withdrawal_of_an_impossible_amount(earner: Member, counted: Count, amount: Any) -> None:
    answer = earner.insert("withdrawals", earner.withdrawal_row(amount))
    assert 400 <= answer.status_code < 500, answer.text
    assert counted(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T33")
@pytest.mark.parametrize(
    "changes",
    [
        {"status": "approved"},
        {"wallet_address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"},
        {"user_id": "00000000-0000-4000-8000-000000000000"},
    ],
    ids=["already approved", "another address", "another member"],
)
def test_withdrawal_that_is_not_the_members_to_ask(
    earner: Member, counted: Count, changes: dict[str, Any]
) -> None:
    answer = earner.insert("withdrawals", earner.withdrawal_row(100, **changes))
    assert 400 <= answer.status_code < 500, answer.text
    assert counted(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T32")
def test_withdrawals_as_one_array_above_the_balance(earner: Member, counted: Count) -> None:
    answer = earner.insert("withdrawals", [earner.withdrawal_row(100) for _ in range(12)])
    assert answer.status_code == 400, answer.text
    assert counted(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T34")
@pytest.mark.usefixtures("untouched")
def test_withdrawal_of_an_unverified_member(member: Member) -> None:
    answer = member.insert("withdrawals", member.withdrawal_row(100))
    refused(answer, "Insufficient balance. Available: $0.00")


@pytest.mark.threat("T01", "T02", "T03", "T04")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    "column",
    [
        "package_value",
        "cash_in_amount",
        "available_balance",
        "account_status",
        "referrer_id",
        "created_at",
        "id",
    ],
)
def test_profile_columns_that_members_do_not_write(member: Member, column: str) -> None:
    values = {
        "account_status": "active",
        "referrer_id": None,
        "created_at": "2020-01-01",
        "id": str(uuid.uuid4()),
    }
    answer = member.patch("profiles", f"user_id=eq.{member.user_id}", {column: values.get(column, 1000)})
    assert answer.status_code == 403, answer.text


@pytest.mark.threat("T57")
def test_second_decision_of_a_decided_deposit(
    people: People, member: Member, finance: Administrator, owner: psycopg.Connection[dict[str, Any]]
) -> None:
    deposit = member.deposit(50)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    decided = owner.execute("select * from public.deposits where id = %s", [deposit["id"]]).fetchone()
    other = people.administrator("finance_admin")
    answer = other.function(
        "admin-approve-deposit", {"depositId": deposit["id"], "action": "reject", "reason": "Late"}
    )
    assert answer.status_code == 409, answer.text
    assert answer.json()["code"] == "already_decided"
    assert answer.json()["error"].startswith("Already approved by Test finance_admin")
    assert owner.execute("select * from public.deposits where id = %s", [deposit["id"]]).fetchone() == decided


def test_wallet_address_is_required(member: Member, counted: Count) -> None:
    answer = member.patch("profiles", f"user_id=eq.{member.user_id}", {"trc20_wallet_address": "  "})
    refused(answer, "Wallet address required")
    assert (
        counted(f"private.profiles where user_id = '{member.user_id}' and trc20_wallet_address = '{WALLET}'")
        == 1
    )
