"""Deletes what sessions leave behind: used refresh tokens, rows of the audit log, and ended ones."""

from datetime import timedelta
from typing import LiteralString

from functions.core.database import Pool

# Reusing a token ends its session. A purged token opens nothing and ends nothing.
_KEEP_USED_TOKENS = timedelta(days=30)
# As long as the addresses of sign-ins: it holds those too.
_KEEP_AUDIT_LOG = timedelta(days=90)
# Clients that come back within that time learn that the session expired. One that reached its greatest age
# is not used any more either.
_KEEP_ENDED_SESSIONS = timedelta(days=30)
_KEEP_IDLE_SESSIONS = timedelta(days=365)
_ROWS_AT_ONCE = 10_000

_USED_TOKENS = """
    delete from auth.refresh_tokens where id in (
        select id from auth.refresh_tokens where revoked and updated_at < now() - %(age)s
        order by updated_at limit %(most)s for update skip locked)
"""
_AUDIT_LOG = """
    delete from auth.audit_log_entries where id in (
        select id from auth.audit_log_entries where created_at < now() - %(age)s
        order by created_at limit %(most)s for update skip locked)
"""
# By their unused tokens they are found. Of two tabs one may have left such a token in a session that goes on.
_IDLE_SESSIONS = """
    delete from auth.sessions where id in (
        select s.id from auth.refresh_tokens as t join auth.sessions as s on t.session_id = s.id
        where not t.revoked and t.updated_at < now() - %(age)s
            and coalesce(s.refreshed_at at time zone 'utc', s.created_at) < now() - %(age)s
        order by t.updated_at limit %(most)s)
"""


async def purge_old(pool: Pool, inactivity_timeout: timedelta) -> None:
    """Delete used tokens after 30 days, audit rows after 90, and sessions 30 days after they ended.

    Args:
        inactivity_timeout: when an unused session ends; without one (0) it is deleted after a year.
    """
    await _purge(pool, _USED_TOKENS, _KEEP_USED_TOKENS)
    await _purge(pool, _AUDIT_LOG, _KEEP_AUDIT_LOG)
    idle_for = inactivity_timeout + _KEEP_ENDED_SESSIONS if inactivity_timeout else _KEEP_IDLE_SESSIONS
    await _purge(pool, _IDLE_SESSIONS, idle_for)


async def _purge(pool: Pool, statement: LiteralString, age: timedelta) -> None:
    """Run it until few are left: each time in a transaction of its own that nobody waits for long."""
    deleted = _ROWS_AT_ONCE
    while deleted == _ROWS_AT_ONCE:
        async with pool.connection() as connection:
            deleted = (await connection.execute(statement, {"age": age, "most": _ROWS_AT_ONCE})).rowcount
