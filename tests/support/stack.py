"""The running stack that the tests talk to, as `make up` wrote it into its env file."""

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_ENV = ".stack/env"


@dataclass(frozen=True)
class Stack:
    """Addresses and keys of one stack; `values` holds every line of its env file."""

    url: str
    anon_key: str
    service_key: str
    database_url: str
    mail_url: str
    values: dict[str, str]

    @classmethod
    def read(cls) -> "Stack":
        """Read the file that STACK_ENV names, or that of the ordinary stack."""
        values = env_of(_env())
        return cls(
            url=values["SUPABASE_URL"],
            anon_key=values["SUPABASE_ANON_KEY"],
            service_key=values["SUPABASE_SERVICE_ROLE_KEY"],
            database_url=values["DATABASE_URL"],
            mail_url=values["MAIL_URL"],
            values=values,
        )


def stack_state() -> Path:
    """Return the state folder of the stack under test."""
    return _env().resolve().parent


def _env() -> Path:
    return Path(os.environ.get("STACK_ENV", DEFAULT_ENV))


def service_env(name: str) -> dict[str, str]:
    """Return the environment of one of the stack's services."""
    exported = env_of(stack_state() / "services" / f"{name}.sh").items()
    return {key.removeprefix("export "): value for key, value in exported}


def env_of(path: Path) -> dict[str, str]:
    """KEY=value lines; empty lines and comments are skipped, quotes taken off."""
    pairs = (
        line.split("=", 1)
        for line in path.read_text().splitlines()
        if "=" in line and not line.lstrip().startswith("#")
    )
    return {key.strip(): value.strip().strip("'\"") for key, value in pairs}
