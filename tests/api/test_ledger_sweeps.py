"""A swept ledger: what is committed late is not missed, and of two runs at once one is left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.own_database import own_database
from tests.support.stack import Stack

Connection = psycopg.Connection[tuple[Any, ...]]
# Everybody is too many, and a slice is nobody: what is found was found as a change.
SWEPT = """
    create or replace function private.whole_check_limit() returns integer
        language plpgsql immutable parallel safe set search_path = '' as 'begin return 0; end';
    create or replace function private.slice_size(
        out members integer, out entries bigint, out at_once integer, out at_most interval
    ) language plpgsql stable set search_path = ''
        as 'begin members := 0; entries := 0; at_once := 1; at_most := interval ''1 hour''; end';
"""
CHECK = "select jobs.check_ledger()"
JOIN = "select actors.join_as(%s)"
MISCOUNT = """
    set local session_replication_role = replica;
    update private.totals set reentry_amount = 1 where user_id = (select actors.user_id('{name}'));
    set local session_replication_role = origin;
"""
LAST = "select round, no from private.ledger_slices order by round desc, no desc limit 1"
NOTES = "select count(*) from private.ledger_changes"
LINK = "select private.link_entries()"
WRITE = "select private.audit('system', %s, null, null)"
FORGE = """
    set session_replication_role = replica;
    update private.audit_log set actor = 'member' where action = 'test.late';
    set session_replication_role = origin;
"""


@pytest.fixture(scope="module")
def address(stack: Stack) -> Iterator[str]:
    """Yield a database of a member whose ledger is swept."""
    with own_database(stack) as url:
        with psycopg.connect(url, autocommit=True) as opened:
            opened.execute(SWEPT)
            opened.execute(JOIN, ["first"])
            opened.execute(LINK)
            assert found(opened) == {}
        yield url


@contextmanager
def two(address: str) -> Iterator[tuple[Connection, Connection]]:
    """Yield a connection that commits each statement, and one that does not."""
    with psycopg.connect(address, autocommit=True) as early, psycopg.connect(address) as late:
        yield early, late


def found(connection: Connection) -> Any:
    """Run a check; return its violations by rule."""
    row = connection.execute(CHECK).fetchone()
    assert row
    return row[0]


def notes(connection: Connection) -> Any:
    """Return how many notes of changes this connection sees."""
    row = connection.execute(NOTES).fetchone()
    assert row
    return row[0]


def test_a_change_that_is_committed_late_is_looked_at_by_the_next_check(address: str) -> None:
    with two(address) as (early, late):
        late.execute(JOIN, ["late"])
        late.execute(MISCOUNT.format(name="late"))
        early.execute(JOIN, ["early"])
        assert found(early) == {}, "it is not there yet"
        assert notes(early) == 0, "and what was written after it has been looked at"
        late.commit()
        assert notes(early) > 0
        assert found(early) == {"I07": 1}


def test_an_entry_that_is_committed_late_is_looked_at_as_a_new_one(address: str) -> None:
    with two(address) as (early, late):
        late.execute(WRITE, ["test.late"])
        early.execute(WRITE, ["test.early"])
        early.execute(LINK)
        assert "I26" not in found(early)
        late.commit()
        early.execute(LINK)
        early.execute(FORGE)
        assert "I26" in found(early), "although its id is lower than one that was looked at"


def test_of_two_runs_one_leaves_it_to_the_other(address: str) -> None:
    with two(address) as (early, late):
        early.execute("set lock_timeout = '1 s'")
        before = found(early)
        assert found(late) == before
        mine = late.execute(LAST).fetchone()
        assert found(early) == before, "what the last one found"
        assert early.execute(LAST).fetchone() < mine  # type: ignore[operator]
        late.commit()
        assert early.execute(LAST).fetchone() == mine
        found(early)
        assert early.execute(LAST).fetchone() > mine, "it goes on after the other"  # type: ignore[operator]
