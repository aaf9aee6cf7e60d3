"""What the public pages are prerendered with: name, packages, rates and limits of a new database."""

from launcher.database.schema import Database
from launcher.settings import ROOT
from launcher.terminal import run

FILE = ROOT / "web" / "src" / "lib" / "built-in-platform.json"


def generate(database: Database) -> str:
    """Return `edge.web_config()` of a migrated database, formatted as the web's other files."""
    [(raw,)] = database.rows("select edge.web_config()::text")
    prettier = ROOT / "web" / "node_modules" / ".bin" / "prettier"
    return run([prettier, "--stdin-filepath", FILE], database.log, cwd=ROOT / "web", stdin=raw)


def failure(database: Database) -> str:
    """Return how to correct the committed file; empty when it is up to date."""
    if FILE.read_text() == generate(database):
        return ""
    return f"{FILE.relative_to(ROOT)} is not what the migrations make.\nTo correct it: make generate"
