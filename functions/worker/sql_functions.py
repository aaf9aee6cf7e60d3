"""Calls the functions of schema jobs, in which the work of most jobs is done."""

from typing import Any, Literal

from functions.core.database import Pool, transaction

JobFunction = Literal[
    "audit_head",
    "check_alarms",
    "check_audit_anchor",
    "check_backups",
    "check_deposit_address",
    "check_disks",
    "check_ledger",
    "check_schema",
    "create_missing_profiles",
    "delete_unconfirmed_users",
    "end_dead_job",
    "expire_admin_sessions",
    "mark_webhook",
    "notify_earnings",
    "prepare_audit_log",
    "prepare_days",
    "publish_disclosure",
    "purge",
    "purge_messages",
    "reconcile",
    "report_installation",
    "roll_up_counters",
    "roll_up_networks",
    "snapshot_coverage",
]


async def call(pool: Pool, function: JobFunction, *arguments: object) -> Any:
    """Call one function in a transaction of its own and return its result."""
    placeholders = ", ".join(["%s"] * len(arguments))
    async with transaction(pool) as connection:
        cursor = await connection.execute(f"select jobs.{function}({placeholders}) as result", arguments)
        row = await cursor.fetchone()
    return row["result"] if row else None
