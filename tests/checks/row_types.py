"""The web's row types, which are made from the database."""

from launcher.database.schema import Database, cli_environment
from launcher.host.tools import SUPABASE
from launcher.settings import ROOT
from launcher.terminal import run

FILE = ROOT / "web" / "src" / "lib" / "database.types.ts"


def generate(database: Database) -> str:
    """Return row types of schema public, formatted as the web's other sources."""
    url = f"--db-url={database.keys.database_url('postgres')}"
    arguments = ["gen", "types", "--lang=typescript", url, "--schema=public"]
    raw = run([SUPABASE, *arguments], database.log, cwd=ROOT, env=cli_environment())
    prettier = ROOT / "web" / "node_modules" / ".bin" / "prettier"
    return run([prettier, "--stdin-filepath", FILE], database.log, cwd=ROOT / "web", stdin=raw)


def failure(database: Database) -> str:
    """Return how to correct the committed file; empty when it is up to date."""
    if FILE.read_text() == generate(database):
        return ""
    return f"{FILE.relative_to(ROOT)} is not what the migrations make.\nTo correct it: make generate"
