"""Rows that nobody needs any more are purged, at the start of the service and hourly."""

import time
from typing import Any

import psycopg
import pytest

from tests.support.own_auth import PASSWORD, OwnAuth, bearer, own_auth, signed_in
from tests.support.stack import Stack

pytestmark = pytest.mark.embedded_only("purges by rules of its own")


def test_what_is_too_old_to_matter_is_purged(stack: Stack, auth_database: str) -> None:
    """At the start of the service, and hourly; in a database of its own, where no other instance does it."""
    with own_auth(stack, DATABASE_URL=auth_database) as auth:
        ada = auth.new_user(PASSWORD)
        auth.http.post("/admin/generate_link", headers=bearer(auth.service_key), json=_recovery(ada))
        signed_in(auth, ada)
    old = {
        "attempts": (
            "subject",
            "insert into auth.attempts select kind, %s, 1, now() - age from "
            "(values ('totp', interval '16 minutes'), ('code', '25 hours')) as t (kind, age)",
        ),
        "mail_counts": (
            "subject",
            "insert into auth.mail_counts values (%s, 1, now() - interval '61 minutes')",
        ),
        "notices": (
            "recipient",
            "insert into auth.notices (notice, recipient, data, instance, created_at, next_attempt_at) "
            "values ('x', %s, '{}', gen_random_uuid(), now() - interval '8 days', now() + interval '1 day')",
        ),
        "flow_state": (
            "user_id",
            "insert into auth.flow_state (id, user_id, auth_code, code_challenge_method, code_challenge, "
            "provider_type, authentication_method, created_at) values "
            "(gen_random_uuid(), %s, 'x', 'plain', 'x', 'email', 'recovery', now() - interval '25 hours')",
        ),
        "one_time_tokens": (
            "user_id",
            "update auth.one_time_tokens set created_at = now() - interval '25 hours' where user_id = %s",
        ),
        "earlier_sign_ups": (
            "user_id",
            "insert into auth.earlier_sign_ups (user_id, identity_data, created_at, confirmation_sent_at) "
            "values (%s, '{}', now(), now() - interval '25 hours')",
        ),
        "known_addresses": (
            "user_id",
            "update auth.known_addresses set seen_at = now() - interval '91 days' where user_id = %s",
        ),
    }
    with psycopg.connect(auth_database, autocommit=True) as db:
        for _, statement in old.values():
            assert db.execute(statement, [ada["id"]]).rowcount >= 1
        db.execute("insert into auth.attempts values ('code', 'alive', 1, now() - interval '23 hours')")

        def left() -> list[str]:
            counts = {
                table: f"select 1 from auth.{table} where {column} = %s limit 1"
                for table, (column, _) in old.items()
            }
            return [table for table, query in counts.items() if db.execute(query, [ada["id"]]).fetchone()]

        with own_auth(stack, DATABASE_URL=auth_database):
            until = time.monotonic() + 20
            while left() and time.monotonic() < until:
                time.sleep(0.02)
        assert left() == []
        assert db.execute("select from auth.attempts where subject = 'alive'").rowcount == 1


@pytest.mark.parametrize(
    ("settings", "days"), [({}, 365), ({"GOTRUE_SESSIONS_INACTIVITY_TIMEOUT": "720h"}, 60)]
)
def test_what_sessions_leave_behind_is_purged_by_its_age(
    stack: Stack, auth_database: str, settings: dict[str, str], days: int
) -> None:
    """Used refresh tokens after 30 days, the audit log after 90, sessions after 30 more or a year."""
    with own_auth(stack, DATABASE_URL=auth_database) as auth:
        ada = auth.new_user(PASSWORD)
        first, idle, alive = (signed_in(auth, ada)["refresh_token"] for _ in range(3))
        second = _refreshed(auth, first)
        newest = _refreshed(auth, second)
        left_by_a_tab = _refreshed(auth, first)
    with psycopg.connect(auth_database, autocommit=True) as db:
        late, early = days + 1, days - 1
        ages = ((first, 31), (second, 29), (left_by_a_tab, late), (idle, late), (alive, early))
        for token, age in ages:
            aged = "update auth.refresh_tokens set updated_at = now() - make_interval(days => %s) "
            assert db.execute(f"{aged} where token = %s", [age, token]).rowcount == 1
        unused = (
            "update auth.sessions set created_at = created_at - make_interval(days => %s)"
            " where id = (select session_id from auth.refresh_tokens where token = %s)"
        )
        for token, age in ((idle, late), (alive, early)):
            assert db.execute(unused, [age, token]).rowcount == 1
        db.execute(
            "update auth.audit_log_entries set created_at = now() - case payload ->> 'action' "
            "when 'login' then interval '91 days' else interval '89 days' end"
        )

        def left() -> tuple[set[str], set[str]]:
            tokens = db.execute("select token from auth.refresh_tokens").fetchall()
            actions = db.execute("select payload ->> 'action' from auth.audit_log_entries").fetchall()
            return {token for (token,) in tokens}, {"login", "token_refreshed"} & {
                name for (name,) in actions
            }

        assert left() == ({first, second, newest, left_by_a_tab, idle, alive}, {"login", "token_refreshed"})
        due = ({second, newest, left_by_a_tab, alive}, {"token_refreshed"})
        with own_auth(stack, DATABASE_URL=auth_database, **settings) as auth:
            until = time.monotonic() + 20
            while left() != due and time.monotonic() < until:
                time.sleep(0.02)
            assert left() == due
            assert db.execute("select from auth.sessions").rowcount == 2, "nobody came back to the third"
            body = {"refresh_token": alive}
            back = auth.http.post("/token?grant_type=refresh_token", json=body).json()
            assert back.get("error_code") == ("session_expired" if settings else None), (
                "who was away for less"
            )
            assert _refreshed(auth, newest), "a session needs none of its used tokens"


def _refreshed(auth: OwnAuth, token: str) -> str:
    response = auth.http.post("/token?grant_type=refresh_token", json={"refresh_token": token})
    return str(response.raise_for_status().json()["refresh_token"])


def _recovery(user: dict[str, Any]) -> dict[str, str]:
    return {"type": "recovery", "email": user["email"]}
