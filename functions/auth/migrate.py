"""Brings schema auth to GoTrue's newest known shape, as the role that owns it."""

import logging
from pathlib import Path

import psycopg

from functions.core.migrations import apply_missing, migrating

SCHEMA = Path(__file__).parent / "schema"
# This service's own tables, which a real GoTrue ignores.
MIGRATIONS = Path(__file__).parent / "migrations"

# A real GoTrue started on this database finds its own migrations recorded and runs none of them.
VERSIONS = """
00 20210710035447 20210722035447 20210730183235 20210909172000 20210927181326 20211122151130 20211124214934
20211202183645 20220114185221 20220114185340 20220224000811 20220323170000 20220429102000 20220531120530
20220614074223 20220811173540 20221003041349 20221003041400 20221011041400 20221020193600 20221021073300
20221021082433 20221027105023 20221114143122 20221114143410 20221125140132 20221208132122 20221215195500
20221215195800 20221215195900 20230116124310 20230116124412 20230131181311 20230322519590 20230402418590
20230411005111 20230508135423 20230523124323 20230818113222 20230914180801 20231027141322 20231114161723
20231117164230 20240115144230 20240214120130 20240306115329 20240314092811 20240427152123 20240612123726
20240729123726 20240802193726 20240806073726 20241009103726 20250717082212 20250731150234 20250804100000
20250901200500 20250903112500 20250904133000 20250925093508 20251007112900 20251104100000 20251111201300
20251201000000 20260115000000 20260121000000 20260219120000 20260302000000 20260625000000
""".split()  # noqa: SIM905

log = logging.getLogger("auth.migrate")


class SchemaTooOldError(Exception):
    """Schema auth was made by an older GoTrue; that one must migrate it to its newest version first."""


def migrate(database_url: str) -> None:
    """Create what is missing; run as often as you like.

    Raises:
        SchemaTooOldError: the tables exist but some of GoTrue's migrations never ran on them.
    """
    with migrating(database_url, "auth") as connection:
        if connection.execute("select to_regclass('auth.schema_migrations')").fetchone() == (None,):
            _create(connection)
        else:
            _check(connection)
        apply_missing(connection, MIGRATIONS, "auth")


def _create(connection: psycopg.Connection) -> None:
    for name in ("0010_types", "0020_members", "0030_disabled_features", "0040_grants"):
        connection.execute((SCHEMA / f"{name}.sql").read_bytes())
    connection.execute("insert into auth.schema_migrations (version) select unnest(%s::text[])", [VERSIONS])
    log.info("schema auth created")


def _check(connection: psycopg.Connection) -> None:
    known = {version for (version,) in connection.execute("select version from auth.schema_migrations")}
    missing = [version for version in VERSIONS if version not in known]
    if missing:
        raise SchemaTooOldError(
            f"Schema auth lacks GoTrue's migration {missing[0]} and {len(missing) - 1} more: "
            "let the GoTrue that made it migrate first."
        )
