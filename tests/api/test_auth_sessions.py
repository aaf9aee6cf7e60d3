"""Sessions: refresh tokens are swapped once, signing out ends what it says, the second factor holds."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import bcrypt
import httpx
import psycopg
import pyotp
import pytest

from tests.support import plain_http
from tests.support.people import PASSWORD, Administrator, ApiClient, Member, People
from tests.support.principals import claims_of
from tests.support.stack import Stack

Session = dict[str, Any]


class Auth:
    """The auth service as raw HTTP, with the public key."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.http = plain_http.client(
            base_url=f"{stack.url}/auth/v1", headers={"apikey": stack.anon_key}, timeout=30
        )

    def sign_in(self, member: Member) -> Session:
        """One more session of a member."""
        body = {"email": member.email, "password": PASSWORD}
        return dict(self.http.post("/token?grant_type=password", json=body).raise_for_status().json())

    def refresh(self, token: str) -> httpx.Response:
        """Swap a refresh token."""
        return self.http.post("/token?grant_type=refresh_token", json={"refresh_token": token})

    def user(self, token: str) -> int:
        """Return the status of GET /user with an access token."""
        return self.http.get("/user", headers={"authorization": f"Bearer {token}"}).status_code

    def post(self, path: str, token: str, body: Any = None) -> httpx.Response:
        """POST as the owner of a token."""
        return self.http.post(path, headers={"authorization": f"Bearer {token}"}, json=body or {})


@pytest.fixture(scope="module")
def auth(stack: Stack) -> Auth:
    """Return the stack's auth service."""
    return Auth(stack)


@pytest.fixture
def elapse(stack: Stack) -> Any:
    """Lets time pass for a session's used refresh tokens."""

    def pass_by(session_of: str) -> None:
        with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
            connection.execute(
                "update auth.refresh_tokens set updated_at = updated_at - interval '11 seconds' "
                "where revoked and session_id = "
                "(select session_id from auth.refresh_tokens where token = %s)",
                [session_of],
            )

    return pass_by


def test_a_chain_stays_one_session(auth: Auth, member: Member) -> None:
    session = auth.sign_in(member)
    for _ in range(3):
        session = auth.refresh(session["refresh_token"]).raise_for_status().json()
    assert auth.user(session["access_token"]) == 200
    assert session["user"]["id"] == member.user_id


def test_parallel_refreshes_get_one_child(auth: Auth, member: Member) -> None:
    token = auth.sign_in(member)["refresh_token"]
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda _: auth.refresh(token), range(6)))
    assert [response.status_code for response in responses] == [200] * 6
    assert len({response.json()["refresh_token"] for response in responses}) == 1


def test_a_client_that_lost_the_response_gets_the_same_child_for_a_month(
    auth: Auth, member: Member, elapse: Any
) -> None:
    first = auth.sign_in(member)["refresh_token"]
    child = auth.refresh(first).json()["refresh_token"]
    elapse(child)
    assert auth.refresh(first).json()["refresh_token"] == child


@pytest.mark.threat("T76")
@pytest.mark.embedded_only("keeps the session of a token that was used again")
def test_a_stolen_token_used_late_ends_the_session(auth: Auth, member: Member, elapse: Any) -> None:
    first = auth.sign_in(member)
    second = auth.refresh(first["refresh_token"]).json()
    third = auth.refresh(second["refresh_token"]).json()
    elapse(third["refresh_token"])
    stolen = auth.refresh(first["refresh_token"])
    assert (stolen.status_code, stolen.json()["error_code"]) == (400, "refresh_token_already_used")
    assert auth.refresh(third["refresh_token"]).status_code == 400, "the owner signs in anew"
    assert auth.user(third["access_token"]) == 403
    assert ApiClient(auth.stack, third["access_token"]).rows("profiles", "select=id").status_code in {
        401,
        403,
    }


@pytest.mark.threat("T75")
@pytest.mark.parametrize(
    ("scope", "here", "there"), [("global", 403, 403), ("local", 403, 200), ("others", 200, 403)]
)
def test_signing_out_ends_what_it_says(auth: Auth, member: Member, scope: str, here: int, there: int) -> None:
    mine, other = auth.sign_in(member), auth.sign_in(member)
    assert auth.post(f"/logout?scope={scope}", mine["access_token"]).status_code == 204
    assert (auth.user(mine["access_token"]), auth.user(other["access_token"])) == (here, there)
    ended = [session for session, status in ((mine, here), (other, there)) if status == 403]
    for session in ended:
        assert auth.refresh(session["refresh_token"]).json()["error_code"] == "refresh_token_not_found"
        everywhere = ApiClient(auth.stack, session["access_token"])
        assert everywhere.rows("profiles", "select=id").status_code in {401, 403}
        assert everywhere.function("sync-all-mlm-bonuses").status_code in {401, 403}


def test_signing_out_while_refreshing_never_fails_oddly(auth: Auth, member: Member) -> None:
    for _ in range(5):
        session = auth.sign_in(member)
        with ThreadPoolExecutor(2) as pool:
            refreshed = pool.submit(auth.refresh, session["refresh_token"])
            ended = pool.submit(auth.post, "/logout?scope=local", session["access_token"])
        assert ended.result().status_code == 204
        assert refreshed.result().status_code in {200, 400}


def verify(auth: Auth, token: str, factor_id: str, secret: str) -> httpx.Response:
    """Show a code of a factor."""
    challenge = auth.post(f"/factors/{factor_id}/challenge", token).json()
    body = {"challenge_id": challenge["id"], "code": pyotp.TOTP(secret).now()}
    return auth.post(f"/factors/{factor_id}/verify", token, body)


class TestSecondFactor:
    """An authenticator app: enrolled, challenged, removed."""

    @pytest.fixture
    def verified(self, auth: Auth, member: Member) -> dict[str, Any]:
        """Return a session at aal2, the session it came from, and the factor."""
        before = auth.sign_in(member)
        factor = auth.post(
            "/factors", before["access_token"], {"factor_type": "totp", "friendly_name": "phone"}
        ).json()
        after = verify(auth, before["access_token"], factor["id"], factor["totp"]["secret"])
        return {"before": before, "after": after.raise_for_status().json(), "factor": factor}

    @pytest.mark.threat("T84")
    @pytest.mark.embedded_only("lets a token from before the second factor go on")
    def test_the_refresh_token_from_before_is_worth_nothing(
        self, auth: Auth, verified: dict[str, Any]
    ) -> None:
        old = auth.refresh(verified["before"]["refresh_token"])
        assert (old.status_code, old.json()["error_code"]) == (400, "refresh_token_not_found")
        assert auth.refresh(verified["after"]["refresh_token"]).status_code == 200

    @pytest.mark.threat("T84")
    def test_a_new_sign_in_must_step_up_before_anything_else(
        self, auth: Auth, member: Member, verified: dict[str, Any]
    ) -> None:
        again = auth.sign_in(member)["access_token"]
        client = ApiClient(auth.stack, again)
        rejected = client.rows("profiles", "select=id")
        assert (rejected.status_code, rejected.json()["code"]) == (403, "aal2_required")
        for change in ({"password": "another-lantern-5"}, {"email": f"new-{member.email}"}):
            changed = auth.http.put("/user", headers={"authorization": f"Bearer {again}"}, json=change)
            assert (changed.status_code, changed.json()["error_code"]) == (401, "insufficient_aal")
        removed = auth.http.delete(
            f"/factors/{verified['factor']['id']}", headers={"authorization": f"Bearer {again}"}
        )
        assert (removed.status_code, removed.json()["error_code"]) == (422, "insufficient_aal")

    def test_sessions_of_a_lower_level_end(self, auth: Auth, member: Member) -> None:
        bystander, stepping = auth.sign_in(member), auth.sign_in(member)
        factor = auth.post(
            "/factors", stepping["access_token"], {"factor_type": "totp", "friendly_name": "phone"}
        ).json()
        verify(auth, stepping["access_token"], factor["id"], factor["totp"]["secret"])
        assert auth.user(bystander["access_token"]) == 403

    def test_removing_it_takes_the_session_back(self, auth: Auth, verified: dict[str, Any]) -> None:
        token = verified["after"]["access_token"]
        deleted = auth.http.delete(
            f"/factors/{verified['factor']['id']}", headers={"authorization": f"Bearer {token}"}
        )
        assert deleted.status_code == 200
        fresh = auth.refresh(verified["after"]["refresh_token"]).raise_for_status().json()
        assert "factors" not in fresh["user"]
        levels = [claims_of(each["access_token"])["aal"] for each in (verified["after"], fresh)]
        assert levels == ["aal2", "aal1"]

    def test_a_challenge_is_used_once(self, auth: Auth, verified: dict[str, Any]) -> None:
        token, factor = verified["after"]["access_token"], verified["factor"]
        challenge = auth.post(f"/factors/{factor['id']}/challenge", token).json()
        body = {"challenge_id": challenge["id"], "code": pyotp.TOTP(factor["totp"]["secret"]).now()}
        assert auth.post(f"/factors/{factor['id']}/verify", token, body).status_code == 200
        again = auth.post(f"/factors/{factor['id']}/verify", token, body)
        assert (again.status_code, again.json()["error_code"]) == (422, "mfa_ip_address_mismatch")


class TestStolenSession:
    """A session alone gets nothing that needs a proof, whatever the auth service asks."""

    @pytest.fixture
    def later(self, stack: Stack) -> Any:
        """Lets time pass for the sessions of a member, who uses them, and for the factors."""

        def pass_by(member: Member, days: float) -> None:
            with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
                for table, columns, rows in (
                    ("mfa_amr_claims", ("updated_at",), "session_id in (select id from auth.sessions"),
                    ("sessions", ("created_at",), "id in (select id from auth.sessions"),
                    (
                        "mfa_factors",
                        ("created_at", "updated_at"),
                        "user_id in (select user_id from auth.sessions",
                    ),
                ):
                    changes = ", ".join(
                        f"{column} = {column} - make_interval(secs => %(age)s)" for column in columns
                    )
                    connection.execute(
                        f"update auth.{table} set {changes} where {rows} where user_id = %(user)s)",
                        {"age": days * 86400, "user": member.user_id},
                    )

        return pass_by

    def taken(self, auth: Auth, token: str, member: Member) -> set[tuple[int, str]]:
        """Return how each is answered: another wallet, the data, the end of the account."""
        thief = ApiClient(auth.stack, token)
        wallet = {"trc20_wallet_address": "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf"}
        asked = [
            thief.patch("profiles", f"user_id=eq.{member.user_id}", wallet),
            thief.function("download-data"),
            thief.function("close-account", {"confirmed": True}),
        ]
        return {(each.status_code, each.json()["code"]) for each in asked}

    @pytest.mark.threat("T17", "T84")
    def test_with_a_factor_of_the_thief(
        self,
        auth: Auth,
        people: People,
        referrer: Member,
        finance: Administrator,
        later: Any,
    ) -> None:
        member = people.earner(referrer.profile_id, finance)
        session = auth.sign_in(member)
        later(member, 3 / 24)
        session = auth.refresh(session["refresh_token"]).json()
        needs_proof = {(403, "reauthentication_needed")}
        assert self.taken(auth, session["access_token"], member) == needs_proof
        # This stack's auth service asks for no password here, as a real GoTrue does not.
        factor = auth.post("/factors", session["access_token"], {"factor_type": "totp"}).json()
        session = verify(auth, session["access_token"], factor["id"], factor["totp"]["secret"]).json()
        assert claims_of(session["access_token"])["aal"] == "aal2"
        assert self.taken(auth, session["access_token"], member) == needs_proof
        thief = ApiClient(auth.stack, session["access_token"])
        (row,) = thief.insert("withdrawals", member.withdrawal_row(100)).raise_for_status().json()
        body = {"withdrawalId": row["id"], "action": "approve"}
        approved = finance.function("admin-approve-withdrawal", body)
        assert (approved.status_code, approved.json()["code"]) == (409, "on_hold")
        assert "a change of second factor" in approved.json()["error"]
        # The owner comes back with the password, and is asked for the code of another.
        back = ApiClient(auth.stack, auth.sign_in(member)["access_token"])
        ended = back.rpc("end_other_sessions")
        assert (ended.status_code, ended.json()["code"]) == (403, "insufficient_aal")

    @pytest.mark.threat("T17", "T84")
    def test_with_the_factor_of_the_owner(self, auth: Auth, member: Member, later: Any) -> None:
        session = auth.sign_in(member)
        factor = auth.post("/factors", session["access_token"], {"factor_type": "totp"}).json()
        session = verify(auth, session["access_token"], factor["id"], factor["totp"]["secret"]).json()
        # A session that is used.
        session = auth.refresh(session["refresh_token"]).json()
        later(member, 60)
        session = auth.refresh(session["refresh_token"]).json()
        token = session["access_token"]
        assert claims_of(token)["aal"] == "aal2"
        assert self.taken(auth, token, member) == {(403, "reauthentication_needed")}
        headers = {"authorization": f"Bearer {token}"}
        auth.http.delete(f"/factors/{factor['id']}", headers=headers).raise_for_status()
        # The token goes on to say aal2.
        assert self.taken(auth, token, member) == {(403, "reauthentication_needed")}


@pytest.mark.parametrize(
    ("column", "days"), [("refreshed_at", 30), ("created_at", 180)], ids=["not used", "too old"]
)
def test_a_session_ends_for_all_services_at_the_same_moment(
    auth: Auth, member: Member, stack: Stack, column: str, days: int
) -> None:
    session = auth.refresh(auth.sign_in(member)["refresh_token"]).json()
    client = ApiClient(stack, session["access_token"])
    session_id = claims_of(session["access_token"])["session_id"]

    def age(minutes: int) -> None:
        with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
            moved = "created_at = now() - make_interval(days => %(days)s, mins => %(minutes)s)"
            if column == "refreshed_at":
                moved = (
                    f"{moved}, {moved.replace('created_at = now()', column + ' = timezone($$UTC$$, now())')}"
                )
            connection.execute(
                f"update auth.sessions set {moved} where id = %(id)s",
                {"days": days, "minutes": minutes, "id": session_id},
            )

    age(-1)
    listed = {each["id"]: each for each in client.rpc("get_my_sessions").raise_for_status().json()}
    left = datetime.fromisoformat(listed[session_id]["ends_at"]) - datetime.now(UTC)
    assert timedelta(seconds=40) < left < timedelta(seconds=61)
    session = auth.refresh(session["refresh_token"]).raise_for_status().json()
    age(1)
    ended = auth.refresh(session["refresh_token"])
    assert (ended.status_code, ended.json()["error_code"]) == (400, "session_expired")
    rejected = ApiClient(stack, session["access_token"]).rpc("get_my_sessions")
    assert (rejected.status_code, rejected.json()["code"]) == (401, "session_ended")


def test_a_ban_blocks_sign_in_and_refresh_and_keeps_the_session(
    auth: Auth, member: Member, stack: Stack
) -> None:
    session = auth.sign_in(member)
    service = {"apikey": stack.service_key, "authorization": f"Bearer {stack.service_key}"}

    def ban(duration: str) -> None:
        auth.http.put(
            f"/admin/users/{member.user_id}", headers=service, json={"ban_duration": duration}
        ).raise_for_status()

    ban("1h")
    assert auth.refresh(session["refresh_token"]).json()["error_code"] == "user_banned"
    assert auth.user(session["access_token"]) == 403
    ban("none")
    assert auth.refresh(session["refresh_token"]).status_code == 200


def test_sign_in_holds_nothing_up(auth: Auth, member: Member, stack: Stack) -> None:
    session = auth.sign_in(member)
    # Eight times the usual work: half a second.
    slow = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(13, b"2a")).decode()
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
        connection.execute(
            "update auth.users set encrypted_password = %s where id = %s", [slow, member.user_id]
        )
    with ThreadPoolExecutor(2) as pool:
        sign_ins = [pool.submit(auth.sign_in, member) for _ in range(2)]
        assert auth.user(session["access_token"]) == 200
        assert not any(sign_in.done() for sign_in in sign_ins), "a read waits for no password"
        for sign_in in sign_ins:
            sign_in.result()
