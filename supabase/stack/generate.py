"""The file that is made from the database: the web's row types."""

from migrate import Database, cli_environment
from settings import ROOT
from terminal import run
from tools import SUPABASE

TYPES_FILE = ROOT / "web" / "src" / "lib" / "database.types.ts"


def row_types(database: Database) -> str:
    """Row types of schema public, formatted as the web's other sources."""
    url = database.keys.database_url("postgres")
    arguments = ["gen", "types", "--lang=typescript", f"--db-url={url}", "--schema=public"]
    raw = run([SUPABASE, *arguments], database.log, cwd=ROOT, env=cli_environment())
    prettier = ROOT / "web" / "node_modules" / ".bin" / "prettier"
    return run([prettier, "--stdin-filepath", TYPES_FILE], database.log, cwd=ROOT / "web", stdin=raw)


def drift(database: Database) -> str:
    """Whether the committed file is out of date, and how to mend it; empty when it is not."""
    if TYPES_FILE.read_text() == row_types(database):
        return ""
    return f"{TYPES_FILE.relative_to(ROOT)} is not what the migrations make.\nTo mend it: make generate"
