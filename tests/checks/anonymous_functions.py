"""The product's functions that anyone may call, which the gateway knows without asking."""

import re

from launcher.database.schema import Database
from launcher.settings import ROOT

FILE = ROOT / "supabase" / "services" / "gateway.env"
LINE = re.compile(r"^ANON_FUNCTIONS=.*$", re.MULTILINE)


def generate(database: Database) -> str:
    """Return the gateway's settings with the functions that role anon is granted."""
    rows = database.rows(
        "select substr(path, 6) from private.open_to_anyone() where path ^@ '/rpc/' order by 1"
    )
    return LINE.sub(f"ANON_FUNCTIONS={'|'.join(name for (name,) in rows)}", FILE.read_text())


def failure(database: Database) -> str:
    """Return how to correct the committed file; empty when it is up to date."""
    if FILE.read_text() == generate(database):
        return ""
    return f"{FILE.relative_to(ROOT)} is not what the migrations make.\nTo correct it: make generate"
