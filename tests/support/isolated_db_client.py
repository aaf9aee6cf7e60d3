"""A database client on a copy of its own, with statements that crash and statements at the same moment."""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from tests.support.db_client import DbClient

WAITING = """
select count(*) from pg_locks
where locktype = 'advisory' and objid = private.lock_key('money')::oid and not granted
    and database = (select oid from pg_database where datname = current_database())
"""


class IsolatedDbClient(DbClient):
    """When `crashing`, a statement is first run on a connection that is terminated before the commit."""

    crashing = False
    # What private.clock() says on every connection, as a setting; empty: the time of the machine.
    clock = ""

    def __init__(self, url: str, source: str) -> None:
        self.home = psycopg.connect(url, autocommit=True)
        self.name = f"history_{secrets.token_hex(4)}"
        self.home.execute(f"create database {self.name} template {source}")
        self.url = make_conninfo(url, dbname=self.name)
        super().__init__(psycopg.connect(self.url, autocommit=True, row_factory=dict_row))

    def close(self) -> None:
        """Drop the database."""
        self.db.close()
        self.home.execute(f"drop database {self.name} with (force)")
        self.home.close()

    def attempt(self, claims: dict[str, Any], query: str, *arguments: object) -> str | None:
        """Run a statement as a role, after a crashed attempt when `crashing` is set."""
        if self.crashing:
            self.crashing = False
            doomed = self._connect()
            with suppress(psycopg.Error):
                self.act(doomed, claims, query, *arguments)
            self.value("select pg_terminate_backend(%s, 5000)", doomed.info.backend_pid)
            doomed.close()
        return super().attempt(claims, query, *arguments)

    def at_once(self, *calls: tuple[dict[str, str], str, str]) -> list[str | None]:
        """Run statements on connections of their own: all wait for the money lock before one goes on."""
        with psycopg.connect(self.url) as blocker, ThreadPoolExecutor(len(calls)) as pool:
            blocker.execute("select pg_advisory_xact_lock(private.lock_key('money'))")
            works = [pool.submit(self._alone, *call) for call in calls]
            while self.value(WAITING) < len(calls):
                assert not any(work.done() for work in works)
                time.sleep(0.0005)
            blocker.rollback()
            return [work.result() for work in works]

    def _alone(self, claims: dict[str, Any], query: str, request: str) -> str | None:
        with self._connect(autocommit=True) as connection:
            return self.attempt_on(connection, claims, query, request)

    def _connect(self, *, autocommit: bool = False) -> psycopg.Connection[dict[str, Any]]:
        options = f"-c app.demo_clock={self.clock}" if self.clock else ""
        return psycopg.connect(self.url, autocommit=autocommit, row_factory=dict_row, options=options)

    def set_clock(self, offset: timedelta | None) -> None:
        """Stop the clock so far from the time of the machine; None lets it run again."""
        self.clock = "" if offset is None else (datetime.now(UTC) + offset).isoformat()
        self.db.execute("select set_config('app.demo_clock', %s, false)", [self.clock])

    def system(self, query: str, *arguments: object) -> None:
        """Run a statement as the owner."""
        self.db.execute(query, arguments)
