"""The tables of the worker's queue that an earlier version of procrastinate made become those of this one."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from functions.worker import job_queue
from launcher.host.tools import PYTHON, UV
from tests.support.own_database import empty_database
from tests.support.stack import Stack

# One that lacks migrations of the locked version.
EARLIER = "3.2.2"
CATALOG = """
select 'column', c.oid::regclass || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || case when a.attnotnull then ' not null' else '' end
    || coalesce(' ' || pg_get_expr(d.adbin, d.adrelid), '')
from pg_class as c
inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef as d on a.attrelid = d.adrelid and a.attnum = d.adnum
where c.relnamespace = 'procrastinate'::regnamespace and c.relkind in ('r', 'c')
union all
select 'constraint', n.conrelid::regclass || ' ' || pg_get_constraintdef(n.oid)
from pg_constraint as n where n.connamespace = 'procrastinate'::regnamespace and n.contype <> 'n'
union all
select 'index', pg_get_indexdef(i.indexrelid) from pg_index as i
inner join pg_class as c on i.indrelid = c.oid where c.relnamespace = 'procrastinate'::regnamespace
union all
select 'function', regexp_replace(pg_get_functiondef(p.oid), '\\s+', ' ', 'g')
from pg_proc as p where p.pronamespace = 'procrastinate'::regnamespace
union all
select 'trigger', pg_get_triggerdef(t.oid) from pg_trigger as t
inner join pg_class as c on t.tgrelid = c.oid
where c.relnamespace = 'procrastinate'::regnamespace and not t.tgisinternal
union all
select 'enum', e.enumtypid::regtype || ' ' || string_agg(e.enumlabel, ', ' order by e.enumsortorder)
from pg_enum as e inner join pg_type as y on e.enumtypid = y.oid
where y.typnamespace = 'procrastinate'::regnamespace group by e.enumtypid
union all
select 'grant', c.oid::regclass || ' ' || coalesce(c.relacl::text, '') from pg_class as c
where c.relnamespace = 'procrastinate'::regnamespace and c.relkind = 'r'
union all
select 'applied', m.name from procrastinate.applied_migrations as m
"""


@contextmanager
def queue_database(stack: Stack, *files: Traversable) -> Iterator[str]:
    """Yield the address of a database of its own with the queue's schema, in which these files were run."""
    with empty_database(stack) as address:
        url = make_conninfo(address, options=job_queue.SEARCH_PATH)
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute("create schema procrastinate")
            for file in files:
                owner.execute(file.read_text().encode())
        yield url


def catalog(url: str) -> set[tuple[str, str]]:
    """Return everything that is in the queue's schema, and which migrations are recorded."""
    with psycopg.connect(url) as owner:
        return set(owner.execute(CATALOG).fetchall())


def install(url: str) -> None:
    """Do what every start of the worker does."""
    asyncio.run(job_queue.install(url))


@pytest.fixture
def fresh(stack: Stack) -> set[tuple[str, str]]:
    """Return what a first start makes."""
    with queue_database(stack) as url:
        install(url)
        made = catalog(url)
        install(url)
        assert catalog(url) == made
    return made


def record(url: str, names: list[str]) -> None:
    """Record migrations as applied, as the worker did when it applied them."""
    with psycopg.connect(url) as owner:
        owner.execute(
            "create table applied_migrations (name text primary key, applied_at timestamptz"
            " not null default clock_timestamp())"
        )
        owner.execute("insert into applied_migrations (name) select unnest(%s::text[])", [names])


def test_all_migrations_make_what_a_first_start_makes(stack: Stack, fresh: set[tuple[str, str]]) -> None:
    first, *_ = job_queue._migrations()
    with queue_database(stack, job_queue.SQL_FILES / "migrations" / first) as url:
        record(url, [first])
        install(url)
        assert catalog(url) ^ fresh == set()


@pytest.mark.long
def test_a_queue_of_an_earlier_version_is_migrated_with_its_jobs(
    stack: Stack, tmp_path: Path, fresh: set[tuple[str, str]]
) -> None:
    earlier = f"procrastinate=={EARLIER}"
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--python", PYTHON, "--target", tmp_path, earlier],
        check=True,
    )
    files = tmp_path / "procrastinate" / "sql"
    names = sorted(path.name for path in (files / "migrations").glob("*.sql"))
    assert names == job_queue._migrations()[: len(names)]
    assert names != job_queue._migrations()
    with queue_database(stack, files / "schema.sql") as url:
        record(url, names)
        with psycopg.connect(url) as owner:
            owner.execute("insert into procrastinate_jobs (queue_name, task_name) values ('a', 'waiting')")
        install(url)
        assert catalog(url) ^ fresh == set()
        with psycopg.connect(url) as owner:
            found = owner.execute("select task_name, status::text from procrastinate_jobs").fetchall()
        assert found == [("waiting", "todo")]


def test_a_queue_from_before_migrations_were_recorded_has_those_of_its_version(
    stack: Stack, fresh: set[tuple[str, str]]
) -> None:
    with queue_database(stack, job_queue.SQL_FILES / "schema.sql") as url:
        with psycopg.connect(url) as owner:
            owner.execute(job_queue.PIN_SEARCH_PATH.encode())
        install(url)
        assert catalog(url) ^ fresh == set()


def test_a_migration_that_fails_leaves_those_before_it_and_is_tried_again(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = job_queue.SQL_FILES
    with queue_database(stack) as url:
        install(url)
        before = catalog(url)
        shutil.copytree(str(original), tmp_path / "sql")
        monkeypatch.setattr(job_queue, "SQL_FILES", tmp_path / "sql")
        good, bad = (tmp_path / "sql" / "migrations" / f"99.00.00_0{number}_next.sql" for number in (1, 2))
        good.write_text("alter table procrastinate_jobs add column next integer;")
        half = "alter table procrastinate_jobs add column half integer;"
        # It fails at its record.
        bad.write_text(f"{half} insert into applied_migrations (name) values ('{bad.name}');")
        with pytest.raises(psycopg.errors.UniqueViolation):
            install(url)
        added = {text for _, text in catalog(url) - before}
        assert added == {"procrastinate_jobs.next integer", good.name}
        bad.write_text(half)
        install(url)
        assert {bad.name, "procrastinate_jobs.half integer"} <= {text for _, text in catalog(url) - before}
