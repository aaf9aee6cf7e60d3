"""What is not accepted: the exact sentence, and the database as it was before."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.files import HTML, PDF, SVG, large_png, png
from tests.support.people import PASSWORD, Administrator, ApiClient, Member, People
from tests.support.wallet import wallet_of

Count = Callable[[str], int]


def rejected(response: httpx.Response, text: str) -> None:
    """Assert that the response is a client error with this text, in whichever field its service uses."""
    assert 400 <= response.status_code < 500, response.text
    body = response.json()
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


def test_wrong_password(anonymous: ApiClient, member: Member) -> None:
    response = anonymous.http.post(
        "/auth/v1/token?grant_type=password", json={"email": member.email, "password": "not-this-one"}
    )
    rejected(response, "Invalid login credentials")


@pytest.mark.threat("T45")
@pytest.mark.parametrize(
    "code", ["00000000-0000-4000-8000-000000000000", "nobody", "", "x'; drop table", None]
)
def test_unknown_or_malformed_referral_code(
    anonymous: ApiClient, count_rows: Count, code: str | None
) -> None:
    name = f"t_{uuid.uuid4().hex[:10]}"
    data = {"display_name": "Nobody", "username": name, "package_value": 0, "referrer_id": code}
    response = anonymous.http.post(
        "/auth/v1/signup", json={"email": f"{name}@example.com", "password": PASSWORD, "data": data}
    )
    rejected(response, "Invalid referral code" if code else "Referral code is required for registration")
    assert count_rows(f"auth.users where email = '{name}@example.com'") == 0


def test_taken_username_in_other_case(
    anonymous: ApiClient, referrer: Member, member: Member, count_rows: Count
) -> None:
    email = f"{uuid.uuid4().hex[:10]}@example.com"
    data = {
        "display_name": "Copy",
        "username": member.username.upper(),
        "package_value": 0,
        "referrer_id": referrer.profile_id,
    }
    response = anonymous.http.post(
        "/auth/v1/signup", json={"email": email, "password": PASSWORD, "data": data}
    )
    rejected(response, "Username already exists. Please choose a different username.")
    assert count_rows(f"auth.users where email = '{email}'") == 0


def test_username_of_another_member(member: Member, referrer: Member, count_rows: Count) -> None:
    response = member.patch(
        "profiles", f"user_id=eq.{member.user_id}", {"username": referrer.username.upper()}
    )
    rejected(response, "Username already exists. Please choose a different username.")
    assert count_rows(f"private.profiles where username = '{member.username}'") == 1


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
    response = member.insert("deposits", member.deposit_row(amount))
    assert 400 <= response.status_code < 500, response.text


@pytest.mark.threat("T22")
@pytest.mark.parametrize("action", ["approve", "reject", "ask_rest"])
@pytest.mark.parametrize("arrived", [0, "0.00", -5, "-0.01", 99.999, "1e30", "10000000.01"])
def test_an_impossible_amount_that_arrived(
    member: Member, finance: Administrator, count_rows: Count, action: str, arrived: Any
) -> None:
    deposit = member.deposit(100)
    body = {"depositId": deposit["id"], "action": action, "receivedAmount": arrived}
    response = finance.function("admin-approve-deposit", body)
    rejected(
        response, "Enter the amount that arrived: from $0.01 to $10,000,000.00, with at most two decimals."
    )
    assert response.json()["code"] == "invalid_amount"
    assert count_rows(f"public.deposits where id = '{deposit['id']}' and status = 'pending'") == 1
    assert count_rows(f"private.deposit_rests where deposit_id = '{deposit['id']}'") == 0


@pytest.mark.threat("T22")
@pytest.mark.parametrize("arrived", ["NaN", "Infinity", "", "a lot", [], {}, True, "1e400", "9" * 40])
def test_what_arrived_is_no_amount(
    member: Member, finance: Administrator, count_rows: Count, arrived: Any
) -> None:
    deposit = member.deposit(100)
    response = finance.approve_deposit(deposit["id"], receivedAmount=arrived)
    assert response.status_code == 400, response.text
    assert response.json()["code"] in ("invalid_input", "invalid_amount")
    assert count_rows(f"public.deposits where id = '{deposit['id']}' and status = 'pending'") == 1


@pytest.mark.threat("T22")
@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("literal", ["NaN", "1e400", "-1e400"])
def test_deposit_of_a_number_that_json_cannot_hold(member: Member, literal: str) -> None:
    row = member.deposit_row("AMOUNT")
    body = httpx.Request("POST", member.stack.url, json=row).content.replace(b'"AMOUNT"', literal.encode())
    response = member.http.post(
        "/rest/v1/deposits", content=body, headers={"content-type": "application/json"}
    )
    assert 400 <= response.status_code < 500, response.text


SIZES = (50, 100, 250, 500, 1000)
NO_SIZES = (1, 49.99, 50.01, 75, 999.99, 1001, 10_000_000)


@pytest.mark.threat("T27")
@pytest.mark.usefixtures("untouched")
def test_first_deposit_that_is_no_package(member: Member) -> None:
    row = member.deposit_row(50)
    for amount in NO_SIZES:
        response = member.insert("deposits", {**row, "amount": amount})
        assert (response.status_code, response.json()["code"]) == (400, "package_required"), amount


@pytest.mark.threat("T27")
@pytest.mark.parametrize("size", SIZES)
def test_a_first_deposit_buys_its_package(
    member: Member, finance: Administrator, owner: psycopg.Connection[dict[str, Any]], size: int
) -> None:
    deposit = member.deposit(size)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    assert _bought(owner, member, deposit) == ("first", size, size)


@pytest.mark.threat("T27")
@pytest.mark.parametrize("size", SIZES)
def test_a_second_deposit_is_an_upgrade_or_cash_in(
    member: Member,
    people: People,
    finance: Administrator,
    owner: psycopg.Connection[dict[str, Any]],
    size: int,
) -> None:
    """Of a size, only of a larger one; any other amount changes no package."""
    people.fund(member, size, finance)
    row, paid = member.deposit_row(1), size
    for smaller in (each for each in SIZES if each <= size):
        response = member.insert("deposits", {**row, "amount": smaller})
        assert (response.status_code, response.json()["code"]) == (400, "downgrade"), smaller
    response = member.insert("deposits", {**row, "amount": 0.99})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_amount")
    for amount, package in ((75, size), *((each, each) for each in SIZES if each > size)):
        deposit, paid = member.deposit(amount), paid + amount
        finance.approve_deposit(deposit["id"]).raise_for_status()
        kind = "upgrade" if amount == package else "cash_in"
        assert _bought(owner, member, deposit) == (kind, package, paid)


def _bought(
    owner: psycopg.Connection[dict[str, Any]], member: Member, deposit: dict[str, Any]
) -> tuple[str, int, int]:
    """Return what kind of deposit it was, the package that the member has now, and all that was paid."""
    row = owner.execute(
        "select d.kind, p.package_value, p.cash_in_amount from public.deposits as d"
        " inner join private.profiles as p on p.user_id = d.user_id where d.id = %s and p.user_id = %s",
        [deposit["id"], member.user_id],
    ).fetchone()
    assert row
    return row["kind"], row["package_value"], row["cash_in_amount"]


@pytest.mark.threat("T20")
@pytest.mark.usefixtures("untouched")
def test_deposit_already_approved(member: Member) -> None:
    response = member.insert("deposits", member.deposit_row(50, status="approved"))
    assert response.status_code in (400, 403), response.text


@pytest.mark.threat("T21")
@pytest.mark.usefixtures("untouched")
def test_deposit_for_another_member(member: Member, referrer: Member, count_rows: Count) -> None:
    before = count_rows(f"public.deposits where user_id = '{referrer.user_id}'")
    response = member.insert("deposits", member.deposit_row(50, user_id=referrer.user_id))
    assert response.status_code == 403, response.text
    assert count_rows(f"public.deposits where user_id = '{referrer.user_id}'") == before


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
    response = member.insert("deposits", member.deposit_row(50, receipt_url=address))
    assert 400 <= response.status_code < 500, response.text


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
    member: Member, count_rows: Count, content: bytes, extension: str, kind: str
) -> None:
    response = member.upload(content, extension, kind)
    assert 400 <= response.status_code < 500, response.text
    assert count_rows(f"storage.objects where name like '{member.user_id}/%'") == 0


@pytest.mark.threat("T96")
def test_receipt_of_six_megabytes(member: Member, count_rows: Count) -> None:
    response = member.upload(large_png(6_000_000))
    assert response.json()["statusCode"] == "413", response.text
    assert count_rows(f"storage.objects where name like '{member.user_id}/%'") == 0


@pytest.mark.threat("T94")
def test_receipt_in_the_folder_of_another(member: Member, referrer: Member, count_rows: Count) -> None:
    path = f"/storage/v1/object/receipts/{referrer.user_id}/1700000000000.png"
    response = member.http.post(path, files={"": ("x.png", png(), "image/png")})
    assert response.json()["statusCode"] == "403", response.text
    assert count_rows(f"storage.objects where name = '{referrer.user_id}/1700000000000.png'") == 0


@pytest.fixture(scope="module")
def earner(people: People, referrer: Member, finance: Administrator) -> Member:
    """Return a member with $1,100.00 to withdraw."""
    return people.earner(referrer.profile_id, finance)


@pytest.mark.threat("T33")
@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (99.99, "Minimum withdrawal amount is $100"),
        (1100.01, "Insufficient balance. Available: $1,100.00"),
        (9_000_000, "Insufficient balance. Available: $1,100.00"),
    ],
)
def test_withdrawal_outside_the_limits(earner: Member, count_rows: Count, amount: float, text: str) -> None:
    rejected(earner.insert("withdrawals", earner.withdrawal_row(amount)), text)
    assert count_rows(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T33")
@pytest.mark.parametrize("amount", ["NaN", "Infinity", -100, 0, 100.005, "1e400", None, [], "abc"])
def test_withdrawal_of_an_impossible_amount(earner: Member, count_rows: Count, amount: Any) -> None:
    response = earner.insert("withdrawals", earner.withdrawal_row(amount))
    assert 400 <= response.status_code < 500, response.text
    assert count_rows(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


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
    earner: Member, count_rows: Count, changes: dict[str, Any]
) -> None:
    response = earner.insert("withdrawals", earner.withdrawal_row(100, **changes))
    assert 400 <= response.status_code < 500, response.text
    assert count_rows(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T32")
def test_withdrawals_as_one_array_above_the_balance(earner: Member, count_rows: Count) -> None:
    response = earner.insert("withdrawals", [earner.withdrawal_row(100) for _ in range(12)])
    assert response.status_code == 400, response.text
    assert count_rows(f"public.withdrawals where user_id = '{earner.user_id}'") == 0


@pytest.mark.threat("T34")
@pytest.mark.usefixtures("untouched")
def test_withdrawal_of_an_unverified_member(member: Member) -> None:
    response = member.insert("withdrawals", member.withdrawal_row(100))
    rejected(response, "Insufficient balance. Available: $0.00")


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
    response = member.patch("profiles", f"user_id=eq.{member.user_id}", {column: values.get(column, 1000)})
    assert response.status_code == 403, response.text


@pytest.mark.threat("T57")
def test_second_decision_of_a_decided_deposit(
    people: People, member: Member, finance: Administrator, owner: psycopg.Connection[dict[str, Any]]
) -> None:
    deposit = member.deposit(50)
    finance.approve_deposit(deposit["id"]).raise_for_status()
    decided = owner.execute("select * from public.deposits where id = %s", [deposit["id"]]).fetchone()
    other = people.administrator("finance_admin")
    response = other.function(
        "admin-approve-deposit", {"depositId": deposit["id"], "action": "reject", "reason": "Late"}
    )
    assert response.status_code == 409, response.text
    assert response.json()["code"] == "already_decided"
    assert response.json()["error"].startswith("Already approved by Test finance_admin")
    assert owner.execute("select * from public.deposits where id = %s", [deposit["id"]]).fetchone() == decided


def test_wallet_address_is_required(member: Member, count_rows: Count) -> None:
    response = member.patch("profiles", f"user_id=eq.{member.user_id}", {"trc20_wallet_address": "  "})
    rejected(response, "Wallet address required")
    own = f"user_id = '{member.user_id}' and trc20_wallet_address = '{wallet_of(member.user_id)}'"
    assert count_rows(f"private.profiles where {own}") == 1
