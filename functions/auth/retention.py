"""Deletes what sessions leave behind: used refresh tokens, rows of the audit log, and idle ones."""

from datetime import timedelta
from typing import LiteralString

from functions.core.database import Pool

# Of a reuse the session ends; of a token that is not there any more nothing happens, and it opens nothing.
_KEEP_USED_TOKENS = timedelta(days=30)
# As long as the addresses of sign-ins: it holds those too.
_KEEP_AUDIT_LOG = timedelta(days=90)
_KEEP_IDLE_SESSIONS = timedelta(days=365)
_ROWS_AT_ONCE = 10_000

_USED_TOKENS = """
    delete from auth.refresh_tokens where id in (
        select id from auth.refresh_tokens where revoked and updated_at < now() - %s
        order by updated_at limit %s for update skip locked)
"""
_AUDIT_LOG = """
    delete from auth.audit_log_entries where id in (
        select id from auth.audit_log_entries where created_at < now() - %s
        order by created_at limit %s for update skip locked)
"""
# The age of the unused token is the time since its session was last refreshed.
_IDLE_SESSIONS = """
    delete from auth.sessions where id in (
        select session_id from auth.refresh_tokens where not revoked and updated_at < now() - %s
        order by updated_at limit %s)
"""


async def purge_old(pool: Pool) -> None:
    """Delete used tokens after 30 days, audit rows after 90, and sessions when idle for a year."""
    await _purge(pool, _USED_TOKENS, _KEEP_USED_TOKENS)
    await _purge(pool, _AUDIT_LOG, _KEEP_AUDIT_LOG)
    await _purge(pool, _IDLE_SESSIONS, _KEEP_IDLE_SESSIONS)


async def _purge(pool: Pool, statement: LiteralString, age: timedelta) -> None:
    """Run it until few are left: each time in a transaction of its own that nobody waits for long."""
    deleted = _ROWS_AT_ONCE
    while deleted == _ROWS_AT_ONCE:
        async with pool.connection() as connection:
            deleted = (await connection.execute(statement, [age, _ROWS_AT_ONCE])).rowcount
