"""What tests of administrators' sign-in share: requests of admin-auth, and what they left behind."""

from typing import Any

import pyotp

from tests.support.people import PASSWORD, Administrator, ApiClient, People

NEW_PASSWORD = "another-horse-88"


def login(client: ApiClient, email: str, password: str = PASSWORD, **more: Any) -> Any:
    """Try to sign in; return the response."""
    return client.function("admin-auth", {"action": "login", "email": email, "password": password, **more})


def works(administrator: ApiClient) -> bool:
    """Whether the token still opens functions, and tables likewise."""
    functions = administrator.function("admin-list-deposits", {"page": 1, "pageSize": 1}).status_code
    tables = administrator.rows("admin_sessions").status_code
    assert (functions == 200) == (tables == 200), (functions, tables)
    return functions == 200


def failures(people: People, key: str) -> int:
    """How many count against an account, or an address that is known to one."""
    row = people.owner.execute(
        "select count(*) as n from private.sign_in_failures where key = %s", [key]
    ).fetchone()
    assert row
    return int(row["n"])


def known_address(people: People, administrator: Administrator) -> str:
    """Return what failures of the administrator from here count against, where the account is known."""
    row = people.owner.execute(
        "select private.known_admin_address(%s, address) as key from private.admin_session_activity"
        " where session_token = %s",
        [administrator.email, administrator.session_token],
    ).fetchone()
    assert row
    assert row["key"]
    return str(row["key"])


def signed_in_before(people: People, administrator: Administrator, age: str) -> None:
    """Move the start of the administrator's session back, and its end with it."""
    people.owner.execute(
        "with moved as ("
        "update private.admin_session_activity set started_at = clock_timestamp() - %s::interval"
        " where session_token = %s returning session_token, started_at"
        ") update public.admin_sessions as s set expires_at = m.started_at + interval '8 hours'"
        " from moved as m where s.session_token = m.session_token",
        [age, administrator.session_token],
    )


def change_password(administrator: Administrator, **changes: Any) -> Any:
    """Try to change the own password; return the response."""
    body = {
        "action": "change_password",
        "email": administrator.email,
        "currentPassword": PASSWORD,
        "newPassword": NEW_PASSWORD,
        **changes,
    }
    return administrator.function("admin-auth", body)


def with_two_steps(people: People) -> tuple[Administrator, pyotp.TOTP]:
    """Return an administrator with TOTP enabled; the current code is already used."""
    administrator = people.administrator("finance_admin")
    totp = pyotp.TOTP(administrator.function("admin-auth", {"action": "totp_enroll"}).json()["secret"])
    shown = {"action": "totp_verify", "code": totp.now()}
    administrator.function("admin-auth", shown).raise_for_status()
    return administrator, totp
