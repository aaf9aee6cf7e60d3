"""The stack's keys and passwords: made once by make_keys.py, read here."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from settings import ROOT, Settings
from terminal import run
from tools import PYTHON


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
        algorithm = "ES256" if self._settings.reference else "RS256"
        run([PYTHON, ROOT / "supabase" / "stack" / "make_keys.py", self.folder, algorithm], log)

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
