"""The stack's keys and passwords: made once by make_keys.py, read here."""

import json
import math
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from settings import ADMIN_SESSION_SECONDS, ROOT, TOKEN_SECONDS, Settings
from terminal import Stop, run
from tools import PYTHON

# Whose tokens a key signs: its file, how long a token of it is good, and the option that names it.
MEMBERS = "members"
ADMINISTRATORS = "administrators"
SIGNING = {MEMBERS: "auth.json", ADMINISTRATORS: "admin.json"}
GOOD_FOR = {MEMBERS: TOKEN_SECONDS, ADMINISTRATORS: ADMIN_SESSION_SECONDS}


class Keys:
    """The keys folder of a stack (0700; every file 0600)."""

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.state / "keys"
        self.jwks = self.folder / "jwks.json"
        self.admin = self.folder / "admin.json"
        self.secrets = self.folder / "secrets.json"
        self._settings = settings

    def make(self, log: Path) -> None:
        """Make what is missing."""
        self._run(log)

    def sign_with_a_new_one(self, log: Path, whose: str) -> None:
        """Let a new key sign tokens; those of the former ones are good until they expire."""
        self._run(log, "new", whose)

    def retire_former(self, log: Path, whose: str, *, now: bool) -> None:
        """Trust no former key any more.

        Raises:
            Stop: tokens of a former key may still be in use, and `now` does not say that they shall end.
        """
        left = (self.folder / SIGNING[whose]).stat().st_mtime + GOOD_FOR[whose] - time.time()
        if left > 0 and not now:
            option = " --administrators" if whose == ADMINISTRATORS else ""
            raise Stop(
                f"Tokens of the former key are good for another {math.ceil(left / 60)} minutes. Run it again "
                f"then,\n  or now if that key has leaked: python3 supabase/stack keys retire{option} --now"
            )
        self._run(log, "retire", whose)

    def _run(self, log: Path, *change: str) -> None:
        algorithm = "ES256" if self._settings.reference else "RS256"
        run([PYTHON, ROOT / "supabase" / "stack" / "make_keys.py", self.folder, algorithm, *change], log)

    @cached_property
    def values(self) -> dict[str, str]:
        """Shared secrets, the two API keys and the passwords of the database's roles."""
        values: dict[str, str] = json.loads((self.folder / "credentials.json").read_text())
        return values

    @cached_property
    def gotrue(self) -> str:
        """The auth service's private keys, as GOTRUE_JWT_KEYS wants them."""
        keys: list[dict[str, Any]] = json.loads((self.folder / "gotrue.json").read_text())
        return json.dumps(keys, separators=(",", ":"))

    def database_url(self, role: str) -> str:
        """libpq URL of a database role."""
        password = self.values[f"PASSWORD_{role}"]
        return f"postgresql://{role}:{password}@{self._settings.address('postgres')}/postgres"
