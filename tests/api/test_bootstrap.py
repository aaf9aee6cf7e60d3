"""The commands of a new installation: generated passwords, first people, and no second first."""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable

from tests.support.people import People
from tests.support.stack import Stack


def bootstrap(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the launcher does."""
    environment = {
        **os.environ,
        "DATABASE_URL": stack.database_url,
        "AUTH_INTERNAL_URL": f"{stack.url}/auth/v1",
        "STORAGE_INTERNAL_URL": f"{stack.url}/storage/v1",
        "SUPABASE_SERVICE_ROLE_KEY": stack.service_key,
    }
    command = [sys.executable, "-m", "functions.edge.bootstrap", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def lines_of(response: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in response.splitlines())


def test_there_is_one_first_administrator(stack: Stack, count_rows: Callable[[str], int]) -> None:
    email = f"second-{secrets.token_hex(4)}@example.com"
    again = bootstrap(stack, "first-administrator", "--email", email, "--name", "Second")
    assert again.returncode == 1
    assert again.stdout == ""
    assert again.stderr.startswith("There is a super administrator already.")
    assert count_rows(f"private.admin_users where email = '{email}'") == 0


def test_a_root_member_can_sign_in_and_refer(stack: Stack, people: People) -> None:
    name = f"root_{secrets.token_hex(4)}"
    email = f"{name}@example.com"
    made = bootstrap(stack, "root-member", "--email", email, "--username", name, "--name", "First Member")
    assert made.returncode == 0, made.stderr
    lines = lines_of(made.stdout)
    root = people.sign_in(email, lines["MEMBER_PASSWORD"])
    assert root.profile_id == lines["REFERRAL_CODE"]
    assert root.rows("profiles", f"id=eq.{root.profile_id}").json()[0]["referrer_id"] is None
    assert people.member(root.profile_id).username


def test_a_root_member_needs_a_free_name(stack: Stack, count_rows: Callable[[str], int]) -> None:
    email = f"root_{secrets.token_hex(4)}@example.com"
    rejected = bootstrap(stack, "root-member", "--email", email, "--username", "mara_l", "--name", "Copy")
    assert (rejected.returncode, rejected.stdout) == (1, "")
    assert "Traceback" not in rejected.stderr
    assert count_rows(f"auth.users where email = '{email}'") == 0


def test_passwords_are_never_the_same(stack: Stack) -> None:
    demo = {value for key, value in stack.values.items() if key.startswith("DEMO_") and "PASSWORD" in key}
    assert len(demo) == len([key for key in stack.values if key.startswith("DEMO_") and "PASSWORD" in key])
    assert all(len(password) >= 16 for password in demo)
