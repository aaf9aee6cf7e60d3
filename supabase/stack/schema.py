"""The schema files against the migrations: what tells them apart, and the migration that closes the gap.

sql/schema is the truth, sql/migrations what installations have been given. Both are played into databases of
their own, in clusters of their own, and compared by the stock CLI's diff and by what that does not see.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from migrate import SCHEMA, Database, cli_environment
from settings import ROOT
from terminal import Stop, run
from tools import SUPABASE

MIGRATIONS = ROOT / "sql" / "migrations"
QUOTED = re.compile(r'"(\w+)"\."(\w+)"')
MADE = re.compile(r"create (?:or replace )?(?:table|view|function|type|domain|sequence) (\w+\.\w+)")
NAME = re.compile(r"[a-z][a-z0-9_]*")
BASELINE = "baseline"
# What the CLI prints of two databases that are equal.
NO_CHANGES = "No schema changes found"
PARAMETER_RIGHT = 'set on parameter "pgrst.db_pre_request"'
BASELINE_HEADER = """\
-- Generated from sql/schema by `make baseline`; never edit it. A change edits the schema file of its noun,
-- and `make migration` writes the next file of this folder.

set check_function_bodies = off;
"""
# What the diff neither sees nor writes, one text a line. Reference rows are those that the product needs
# before anybody has used it.
UNSEEN = {
    "role settings": """
        select format('alter role %I set %s', coalesce(r.rolname, '(all)'), s.setting)
        from pg_catalog.pg_db_role_setting as d
        left join pg_catalog.pg_roles as r on r.oid = d.setrole
        cross join lateral unnest(d.setconfig) as s (setting)""",
    "memberships": """
        select format('grant %I to %I', m.roleid::regrole::text, m.member::regrole::text)
        from pg_catalog.pg_auth_members as m""",
    "roles": """
        select format('%I login=%s inherit=%s: %s', r.rolname, r.rolcanlogin, r.rolinherit,
            pg_catalog.shobj_description(r.oid, 'pg_authid'))
        from pg_catalog.pg_roles as r where r.rolname !~ '^pg_'""",
    "columns (place, statistics, storage)": """
        select format('%s.%I: %s %s %s', a.attrelid::regclass, a.attname,
            row_number() over (partition by a.attrelid order by a.attnum), a.attstattarget, a.attstorage)
        from pg_catalog.pg_attribute as a
        inner join pg_catalog.pg_class as c on c.oid = a.attrelid and c.relkind = 'r'
        where a.attnum > 0 and not a.attisdropped
            and c.relnamespace::regnamespace::text in ('public', 'private')""",
    "rows of private.settings": "select to_jsonb(s) - 'updated_at' from private.settings as s",
    "rows of private.packages": "select to_jsonb(p) from private.packages as p",
    "rows of private.mail_topics": "select to_jsonb(t) from private.mail_topics as t",
    "rows of private.counters": "select to_jsonb(c) from private.counters as c",
    "rows of storage.buckets": """
        select to_jsonb(b) - array['created_at', 'updated_at'] from storage.buckets as b""",
}


class Comparison:
    """A database that the migrations made, and one that the schema files made."""

    def __init__(self, migrated: Database, authored: Database) -> None:
        self.migrated, self.authored = migrated, authored

    def statements(self) -> str:
        """What would bring the migrations to the schema files, as SQL to review; empty when nothing would."""
        return self._diff(self.migrated, self.authored)

    def complaint(self) -> str:
        """What tells the two apart, where it stands and how to mend it; empty when nothing does."""
        statements = self.statements() or self._diff(self.authored, self.migrated)
        places = [f"see {place}" for place in self._places(statements)]
        text = "\n".join(part for part in (statements, *places, *self.unseen()) if part)
        return text and f"{text}\nsql/schema and sql/migrations differ. To mend it: make migration NAME=..."

    def _places(self, statements: str) -> list[str]:
        """File and line at which the schema files make what the statements name."""
        names = {".".join(pair) for pair in QUOTED.findall(statements)}
        return [
            f"{file.name}:{number}"
            for file in sorted(self.authored.schema.glob("*.sql"))
            for number, line in enumerate(file.read_text().splitlines(), 1)
            if (made := MADE.match(line)) and made[1] in names
        ]

    def unseen(self) -> list[str]:
        """Differences that the diff cannot write: each needs a statement by hand."""
        found = []
        for title, query in UNSEEN.items():
            there, here = (set(d.execute(query).splitlines()) for d in (self.migrated, self.authored))
            found += [f"{title}: only in the schema files: {line}" for line in sorted(here - there)]
            found += [f"{title}: only in the migrations: {line}" for line in sorted(there - here)]
        return found

    def _diff(self, source: Database, target: Database) -> str:
        ends = (("from", source), ("to", target))
        urls = [f"--{end}={database.keys.database_url('postgres')}" for end, database in ends]
        command: list[str | Path] = [SUPABASE, "db", "diff", *urls, "--strict-coverage", "--yes"]
        with _without_right(source), _without_right(target):
            text = run(command, source.log, cwd=ROOT, env=cli_environment()).strip()
        return "" if text == NO_CHANGES else text


@contextmanager
def _without_right(database: Database) -> Iterator[None]:
    """Take the one right away that bootstrap gives and a strict diff refuses to meet."""
    database.execute(f"revoke {PARAMETER_RIGHT} from postgres")
    try:
        yield
    finally:
        database.execute(f"grant {PARAMETER_RIGHT} to postgres")


def files() -> list[Path]:
    """The schema files in the order in which they build."""
    return sorted(SCHEMA.glob("*.sql"))


def write_baseline(now: datetime) -> Path:
    """Replace all migrations by one that is the schema files; before 1.0.0 alone."""
    for old in MIGRATIONS.glob("*.sql"):
        old.unlink()
    path = MIGRATIONS / f"{now.astimezone(UTC):%Y%m%d%H%M%S}_{BASELINE}.sql"
    path.write_text("\n".join([BASELINE_HEADER, *(file.read_text() for file in files())]))
    return path


def checked_name(name: str) -> str:
    """The name of a migration as it is asked for.

    Raises:
        Stop: it is none.
    """
    if NAME.fullmatch(name):
        return name
    raise Stop("Say in a few words what changes, for example: make migration NAME=add_tracking_to_deposits")


def write_migration(name: str, statements: str, unseen: list[str], now: datetime, folder: Path) -> Path:
    """Write the next migration; where no diff can write anything it lists what to write by hand."""
    path = folder / f"{now.astimezone(UTC):%Y%m%d%H%M%S}_{name}.sql"
    path.write_text((statements or "\n".join(f"-- by hand: {line}" for line in unseen)) + "\n")
    return path
