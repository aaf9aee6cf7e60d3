"""What the web app does with the stock client, from sign-up to the second factor."""

import secrets
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pyotp
import pytest
from supabase import AuthApiError, Client, ClientOptions, create_client

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.mail import Mailbox
from tests.support.people import PASSWORD, Member
from tests.support.stack import Stack

NEW_PASSWORD = "another-lantern-58"


@pytest.fixture
def client(stack: Stack) -> Client:
    """Return a browser session of its own."""
    return _client(stack)


def _client(stack: Stack) -> Client:
    return create_client(
        stack.url, stack.anon_key, ClientOptions(persist_session=False, flow_type="implicit")
    )


def _someone(referrer: Member) -> dict[str, Any]:
    name = f"f_{uuid.uuid4().hex[:12]}"
    data = {
        "display_name": "Flora Lind",
        "username": name,
        "package_value": 0,
        "referrer_id": referrer.profile_id,
    }
    return {"email": f"{name}@example.com", "password": PASSWORD, "options": {"data": data}}


def _follow(link: str) -> dict[str, str]:
    """Open a mail's link as a browser does; what stands behind `#` where it leads."""
    response = plain_http.get(link, follow_redirects=False)
    assert response.status_code == 303
    fragment = urlsplit(response.headers["location"]).fragment
    return {name: values[0] for name, values in parse_qs(fragment).items()}


def test_sign_up_confirm_and_sign_in(
    client: Client, stack: Stack, referrer: Member, mailbox: Mailbox
) -> None:
    someone = _someone(referrer)
    someone["options"]["email_redirect_to"] = f"{stack.values['SITE_URL']}/dashboard"
    made = client.auth.sign_up(someone)
    assert made.session is None
    assert made.user
    assert len(made.user.identities or []) == 1
    with pytest.raises(AuthApiError, match="Email not confirmed"):
        client.auth.sign_in_with_password({"email": someone["email"], "password": PASSWORD})

    message = mailbox.wait_for(someone["email"])
    assert someone["options"]["data"]["username"] in message["html"]
    assert "Not you? Ignore this email." in message["html"]
    tokens = _follow(mailbox.opened_by(message))
    assert tokens["type"] == "signup"
    client.auth.set_session(tokens["access_token"], tokens["refresh_token"])
    user = client.auth.get_user()
    assert user
    assert user.user.email_confirmed_at
    profile = client.table("profiles").select("username").eq("user_id", user.user.id).single().execute()
    assert profile.data["username"] == someone["options"]["data"]["username"]
    assert _follow(mailbox.opened_by(message))["error_code"] == "otp_expired", "a link is good once"


@pytest.mark.embedded_only("asks the product for no names")
def test_mails_to_an_unconfirmed_address_name_the_sign_up(
    client: Client, referrer: Member, mailbox: Mailbox
) -> None:
    someone = _someone(referrer)
    client.auth.sign_up(someone)
    client.auth.reset_password_for_email(someone["email"])
    for subject in ("Confirm", "Reset"):
        html = mailbox.wait_for(someone["email"], subject)["html"]
        assert someone["options"]["data"]["username"] in html
        assert f"{referrer.username}</td>" in html
        assert "Test Person" not in html, "no text that a member wrote but usernames"


@pytest.mark.threat("T80")
def test_an_address_that_is_taken_looks_like_any_other(
    client: Client, referrer: Member, member: Member, mailbox: Mailbox
) -> None:
    someone = _someone(referrer) | {"email": member.email}
    made = client.auth.sign_up(someone)
    assert made.user
    assert made.user.identities == []
    assert made.user.id != member.user_id
    assert mailbox.to(member.email) == []


@pytest.mark.parametrize(
    ("changes", "text", "code"),
    [
        (
            {"referrer_id": None},
            "Referral code is required for registration",
            "referral_code_required",
        ),
        ({"referrer_id": str(uuid.uuid4())}, "Invalid referral code", "invalid_referral_code"),
        ({"referrer_id": "not-a-code"}, "Invalid referral code", "invalid_referral_code"),
    ],
)
def test_the_product_rejects_in_its_own_words(
    client: Client, referrer: Member, changes: dict[str, Any], text: str, code: str
) -> None:
    someone = _someone(referrer)
    someone["options"]["data"].update(changes)
    with pytest.raises(AuthApiError, match=text) as rejected:
        client.auth.sign_up(someone)
    # A real GoTrue knows no code of a hook's.
    assert rejected.value.code in (code, "unknown")


def test_the_six_digits_of_the_mail_do_as_well(
    client: Client, referrer: Member, mailbox: Mailbox, stack: Stack
) -> None:
    someone = _someone(referrer)
    service = {"apikey": stack.service_key, "authorization": f"Bearer {stack.service_key}"}
    body = {"type": "signup", "email": someone["email"], "password": PASSWORD} | someone["options"]
    link = plain_http.post(f"{stack.url}/auth/v1/admin/generate_link", headers=service, json=body).json()
    signed_in = client.auth.verify_otp(
        {"type": "signup", "email": someone["email"], "token": link["email_otp"]}
    )
    assert signed_in.session


def test_a_second_mail_replaces_the_first(
    client: Client, stack: Stack, referrer: Member, mailbox: Mailbox
) -> None:
    someone = _someone(referrer)
    client.auth.sign_up(someone)
    first = mailbox.opened_by(mailbox.wait_for(someone["email"]))
    # There is a pause between two mails of a kind.
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
        connection.execute(
            "update auth.users set confirmation_sent_at = confirmation_sent_at - interval '2 minutes'"
            " where email = %s",
            [someone["email"]],
        )
    client.auth.resend({"type": "signup", "email": someone["email"]})
    second = mailbox.opened_by(mailbox.wait_for(someone["email"], count=2))
    assert _follow(first)["error_code"] == "otp_expired"
    assert "access_token" in _follow(second)


def test_sign_in_refresh_and_sign_out(client: Client, member: Member) -> None:
    signed_in = client.auth.sign_in_with_password({"email": member.email.upper(), "password": PASSWORD})
    assert signed_in.session
    refreshed = client.auth.refresh_session()
    assert refreshed.session
    assert refreshed.session.refresh_token != signed_in.session.refresh_token
    client.auth.sign_out()
    with pytest.raises(AuthApiError, match="Refresh Token Not Found"):
        client.auth.refresh_session(refreshed.session.refresh_token)


@pytest.mark.parametrize("password", ["wrong-one", "x" * 73, "ü" * 40, "a\tb\u2028c", "日本語" * 9])
def test_a_wrong_password_says_nothing_more(client: Client, member: Member, password: str) -> None:
    with pytest.raises(AuthApiError, match="Invalid login credentials"):
        client.auth.sign_in_with_password({"email": member.email, "password": password})


@pytest.mark.threat("T81")
def test_passwords_count_to_their_last_byte(client: Client, referrer: Member, stack: Stack) -> None:
    someone = _someone(referrer)
    with pytest.raises(AuthApiError, match="72"):
        client.auth.sign_up(someone | {"password": "x" * 73})
    large = plain_http.post(
        f"{stack.url}/auth/v1/signup",
        headers={"apikey": stack.anon_key},
        json={"email": someone["email"], "password": "x" * 1_100_000},
    )
    assert large.status_code == 413


@pytest.mark.threat("T81")
@pytest.mark.embedded_only("takes NUL for a character like any other")
def test_a_password_holds_no_nul(stack: Stack) -> None:
    raw = plain_http.post(
        f"{stack.url}/auth/v1/signup",
        headers={"apikey": stack.anon_key},
        content=b'{"email":"a@example.com","password":"abc\\u0000def"}',
    )
    assert (raw.status_code, raw.json()["error_code"]) == (400, "bad_json")


@pytest.mark.threat("T81")
@pytest.mark.embedded_only("compares the first 72 bytes alone")
def test_the_seventy_third_byte_makes_another_password(client: Client, member: Member, stack: Stack) -> None:
    longest = "harbour-" + "x" * 64
    client.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    client.auth.update_user({"password": longest})
    fresh = _client(stack)
    with pytest.raises(AuthApiError, match="Invalid login credentials"):
        fresh.auth.sign_in_with_password({"email": member.email, "password": longest + "y"})
    assert fresh.auth.sign_in_with_password({"email": member.email, "password": longest}).session


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/verify?type=signup&token=%00", b"", {303, 400}),
        ("GET", "/verify?type=signup&token=%F0%9F%92%A9", b"", {303}),
        ("GET", "/verify?type=signup&token=x&redirect_to=http://127.0.0.1/%C3%BC", b"", {303}),
        ("POST", "/recover", b"[" * 5000 + b"]" * 5000, {400}),
        ("POST", "/recover", b'{"email":' * 200 + b"1" + b"}" * 200, {400}),
        ("POST", "/recover", b'{"email":"a@example.com\\ud800"}', {400}),
        ("POST", "/otp", b'{"email":"b@example.com","data":{"a":1e999}}', {400}),
        ("POST", "/token?grant_type=refresh_token", b'{"refresh_token":"aaaaaaaaaaa\\u0000"}', {400}),
        ("POST", "/signup", b"\xff\xfe", {400}),
        ("DELETE", "/token", b"", {405}),
        ("HEAD", "/verify?type=signup&token=x", b"", {405}),
    ],
)
def test_nonsense_is_rejected_and_never_a_server_error(
    stack: Stack, method: str, path: str, content: bytes, status: set[int]
) -> None:
    response = plain_http.request(
        method, f"{stack.url}/auth/v1{path}", headers={"apikey": stack.anon_key}, content=content
    )
    assert response.status_code in status, response.text


def test_a_lost_password_is_replaced_and_ends_other_sessions(
    client: Client, stack: Stack, member: Member, mailbox: Mailbox
) -> None:
    client.auth.reset_password_for_email(
        member.email, {"redirect_to": f"{stack.values['SITE_URL']}/reset-password"}
    )
    tokens = _follow(mailbox.opened_by(mailbox.wait_for(member.email, "password")))
    assert tokens["type"] == "recovery"
    client.auth.set_session(tokens["access_token"], tokens["refresh_token"])
    client.auth.update_user({"password": NEW_PASSWORD})
    assert "changed" in mailbox.wait_for(member.email, "changed")["subject"]
    deleted = member.http.get("/auth/v1/user")
    assert deleted.status_code == 403, "the session from before is over"
    fresh = _client(stack)
    with pytest.raises(AuthApiError, match="Invalid login credentials"):
        fresh.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    assert fresh.auth.sign_in_with_password({"email": member.email, "password": NEW_PASSWORD}).session


@pytest.mark.threat("T80")
def test_an_unknown_address_gets_the_same_response(client: Client, mailbox: Mailbox) -> None:
    email = f"nobody-{uuid.uuid4().hex}@example.com"
    client.auth.reset_password_for_email(email)
    assert mailbox.to(email) == []


@pytest.mark.threat("T83")
def test_a_new_address_needs_both_to_agree(
    client: Client, stack: Stack, member: Member, mailbox: Mailbox
) -> None:
    new = f"new-{uuid.uuid4().hex[:12]}@example.com"
    client.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    pending = client.auth.update_user({"email": new})
    assert pending
    assert (pending.user.email, pending.user.new_email) == (member.email, new)
    to_new = mailbox.opened_by(mailbox.wait_for(new))
    to_old = mailbox.opened_by(mailbox.wait_for(member.email, "address"))
    assert _follow(to_new)["message"].startswith("Confirmation link accepted")
    fresh = _client(stack)
    with pytest.raises(AuthApiError, match="Invalid login credentials"):
        fresh.auth.sign_in_with_password({"email": new, "password": PASSWORD})
    assert _follow(to_old)["type"] == "email_change"
    assert fresh.auth.sign_in_with_password({"email": new, "password": PASSWORD}).user
    assert new in mailbox.wait_for(member.email, "was changed")["html"], "the old address is told"
    stored = fresh.table("profiles").select("email").eq("user_id", member.user_id).single().execute()
    assert stored.data["email"] == new


@pytest.mark.threat("T83", "T09")
def test_an_address_that_has_an_owner_cannot_be_taken(
    client: Client, member: Member, referrer: Member
) -> None:
    client.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    with pytest.raises(AuthApiError, match="already been registered"):
        client.auth.update_user({"email": referrer.email.upper()})


@pytest.mark.threat("T84")
def test_a_second_factor_is_set_up_and_asked_for(
    client: Client, stack: Stack, member: Member, mailbox: Mailbox
) -> None:
    client.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    factor = client.auth.mfa.enroll({"factor_type": "totp", "friendly_name": "phone"})
    assert factor.totp
    assert factor.totp.uri.startswith("otpauth://totp/")
    assert factor.totp.qr_code.startswith("data:image/svg+xml")
    code = pyotp.TOTP(factor.totp.secret).now()
    client.auth.mfa.challenge_and_verify({"factor_id": factor.id, "code": code})
    levels = client.auth.mfa.get_authenticator_assurance_level()
    assert (levels.current_level, levels.next_level) == ("aal2", "aal2")
    assert mailbox.wait_for(member.email, "authenticator was added")

    again = _client(stack)
    again.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    levels = again.auth.mfa.get_authenticator_assurance_level()
    assert (levels.current_level, levels.next_level) == ("aal1", "aal2")
    again.auth.mfa.challenge_and_verify(
        {"factor_id": factor.id, "code": pyotp.TOTP(factor.totp.secret).now()}
    )
    again.auth.mfa.unenroll({"factor_id": factor.id})
    assert mailbox.wait_for(member.email, "authenticator was removed")


@pytest.mark.threat("T07", "T08")
def test_metadata_gives_no_rights(client: Client, member: Member) -> None:
    client.auth.sign_in_with_password({"email": member.email, "password": PASSWORD})
    client.auth.update_user({"data": {"role": "service_role", "colour": "blue", "username": None}})
    user = client.auth.get_user()
    assert user
    assert (user.user.role, user.user.user_metadata["colour"]) == ("authenticated", "blue")
    assert "username" not in user.user.user_metadata


# Wishes of a sign-up that only others may grant.
WISHES: dict[str, Any] = {
    "id": "00000000-0000-4000-8000-000000000001",
    "user_id": "00000000-0000-4000-8000-000000000001",
    "role": "platform_admin",
    "account_status": "disabled",
    "package_value": 1000,
    "cash_in_amount": 1000,
    "available_balance": 1000,
    "admin_notes": "trusted",
    "trc20_wallet_address": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8",
    "email": "else@example.com",
    "created_at": "2001-01-01T00:00:00Z",
    "app_metadata": {"role": "service_role"},
}


@pytest.mark.threat("T07")
def test_a_sign_up_takes_three_fields_and_no_more(stack: Stack, owner: Owner, referrer: Member) -> None:
    name = f"t_{secrets.token_hex(5)}"
    email = f"{name}@example.com"
    data = {"username": name, "display_name": "Twelve", "referrer_id": referrer.profile_id, **WISHES}
    response = plain_http.post(
        f"{stack.url}/auth/v1/signup",
        headers={"apikey": stack.anon_key},
        json={"email": email, "password": PASSWORD, "data": data, "role": "service_role", "aud": "x"},
        timeout=20,
    )
    assert response.status_code == 200, response.text
    user = plain_http.put(
        f"{stack.url}/auth/v1/admin/users/{response.json()['id']}",
        headers={"apikey": stack.service_key, "authorization": f"Bearer {stack.service_key}"},
        json={"email_confirm": True},
        timeout=20,
    ).json()
    assert (user["role"], user["aud"]) == ("authenticated", "authenticated")
    assert "role" not in user["app_metadata"]
    profile = owner.execute("select * from private.profiles where user_id = %s", [user["id"]]).fetchone()
    assert profile
    assert str(user["id"]) != WISHES["user_id"]
    assert str(profile["id"]) != WISHES["id"]
    assert (profile["username"], profile["email"], profile["account_status"]) == (name, email, "active")
    assert (profile["package_value"], profile["cash_in_amount"]) == (0, 0)
    assert profile["admin_notes"] is None
    assert not profile["trc20_wallet_address"]
    assert profile["created_at"].year > 2001
