"""`make migration`: where the schema files and the migrations differ, and the migration that closes the gap.

sql/schema is the truth, sql/migrations what installations have been given. Both are played into databases of
their own, in clusters of their own, and compared by the stock CLI's diff and by what that does not see.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from launcher.database.schema import Database, cli_environment
from launcher.host.tools import SUPABASE
from launcher.settings import ROOT
from launcher.terminal import Stop, ending_in_words, run
from tests.support import throwaway
from tests.support.throwaway import AuthoredDatabase

MIGRATIONS = ROOT / "sql" / "migrations"
QUOTED = re.compile(r'"(\w+)"\."(\w+)"')
DIFFERS = (
    "sql/schema and sql/migrations differ. Are the schema files right? Run make migration NAME=...\n"
    "Is a migration? Write what they lack into the schema files."
)
MADE = re.compile(r"create (?:or replace )?(?:table|view|function|type|domain|sequence) (\w+\.\w+)")
NAME = re.compile(r"[a-z][a-z0-9_]*")
# What the daily check compares the schema with.
RECORD = "select private.record_schema();"
# What the CLI prints of two databases that are equal.
NO_CHANGES = "No schema changes found"
PARAMETER_RIGHT = 'set on parameter "pgrst.db_pre_request"'


class Comparison:
    """A database that the migrations made, and one that the schema files made."""

    def __init__(self, migrated: Database, authored: AuthoredDatabase) -> None:
        self.migrated, self.authored = migrated, authored

    def statements(self) -> str:
        """Return what would bring the migrations to the schema files, as SQL to review."""
        return self._diff(self.migrated, self.authored)

    def failure(self) -> str:
        """Return how the two differ, where it stands and how to correct it; empty when they do not."""
        statements = self.statements() or self._diff(self.authored, self.migrated)
        places = [f"see {place}" for place in self._places(statements)]
        text = "\n".join(part for part in (statements, *places, *self.unseen()) if part)
        return text and f"{text}\n{DIFFERS}"

    def _places(self, statements: str) -> list[str]:
        """Return file and line at which the schema files make what the statements name."""
        names = {".".join(pair) for pair in QUOTED.findall(statements)}
        return [
            f"{file.name}:{number}"
            for file in sorted(self.authored.schema.glob("*.sql"))
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if (made := MADE.match(line)) and made[1] in names
        ]

    def unseen(self) -> list[str]:
        """Return differences that the diff cannot write: each needs a statement by hand."""
        query = Path(__file__).with_name("unseen.sql").read_text()
        there, here = (set(database.rows(query)) for database in (self.migrated, self.authored))
        found = [(title, f"only in the schema files: {line}") for title, line in here - there]
        found += [(title, f"only in the migrations: {line}") for title, line in there - here]
        return [f"{title}: {line}" for title, line in sorted(found)]

    def _diff(self, source: Database, target: Database) -> str:
        ends = (("from", source), ("to", target))
        urls = [f"--{end}={database.keys.database_url('postgres')}" for end, database in ends]
        command: list[str | Path] = [SUPABASE, "db", "diff", *urls, "--strict-coverage", "--yes"]
        with _without_right(source), _without_right(target):
            text = run(command, source.log, cwd=ROOT, env=cli_environment()).strip()
        return "" if text == NO_CHANGES else text


@contextmanager
def _without_right(database: Database) -> Iterator[None]:
    """Take the one right away that bootstrap gives and a strict diff fails to read."""
    database.execute(f"revoke {PARAMETER_RIGHT} from postgres")
    try:
        yield
    finally:
        database.execute(f"grant {PARAMETER_RIGHT} to postgres")


def require_name(name: str) -> None:
    """Stop unless a migration may be called so."""
    if not NAME.fullmatch(name):
        raise Stop(
            "Say in a few words what changes, for example: make migration NAME=add_tracking_to_deposits"
        )


def write_migration(name: str, statements: str, unseen: list[str], now: datetime, folder: Path) -> Path:
    """Write the next migration; where no diff can write anything it lists what to write by hand."""
    path = folder / f"{now.astimezone(UTC):%Y%m%d%H%M%S}_{name}.sql"
    text = statements or "\n".join(f"-- by hand: {line}" for line in unseen)
    path.write_text(f"{text}\n\n{RECORD}\n")
    return path


def migration(name: str) -> int:
    """Write the next migration; return 1 when it does not bring everything about."""
    require_name(name)
    with throwaway.both_databases() as (migrated, authored):
        comparison = Comparison(migrated, authored)
        statements, by_hand = comparison.statements(), comparison.unseen()
        if not statements and not by_hand:
            print("\n  The migrations already make what sql/schema says.")
            return 0
        path = write_migration(name, statements, by_hand, datetime.now(UTC), MIGRATIONS)
        print(f"\n  wrote {path.relative_to(ROOT)}\n  Read it, and say above it why.")
        migrated.push()
        left = comparison.failure()
    if left:
        print(f"\n  What it does not bring about, and you write into it by hand:\n{left}")
    return 1 if left else 0


if __name__ == "__main__":
    ending_in_words(lambda: migration(sys.argv[1]))
