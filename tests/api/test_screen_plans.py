"""No statement that a screen causes reads a growing table from end to end, or walks an index of one.

Plans are taken from auto_explain, which reports every statement as it ran, those inside functions too, on
a network large enough that the planner has a reason to choose; with plans made for the parameters and with
generic ones, because a connection of PostgREST comes to use both. Everything is rolled back.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from tests.bench import network
from tests.support.screens import CALLS, Call, Facts, Screens, web_calls

SIZE = "11k"
# As if reading a table from end to end cost what it costs at a million members. What an index saves is left
# as it is, so a scan that is still planned has nothing to replace it.
SETTINGS = "set seq_page_cost = 100"
PLAN_MODES = ("force_custom_plan", "force_generic_plan")
# Whatever is not named here counts as growing with members, a new table too.
SMALL = {
    "private.packages": "five",
    "private.mail_topics": "fixed",
    "private.settings": "fixed",
    "private.counters": "fixed",
    "private.backup_state": "one row",
    "private.reconcile_state": "one row",
    "private.last_decision": "one row",
    "private.ledger_check_state": "one row",
    "private.alarms": "what is open, and what was",
    "private.admin_users": "administrators",
    "private.admin_session_activity": "administrators",
    "private.admin_notice_reads": "administrators",
    "public.admin_sessions": "administrators",
    "private.corrections": "corrections by two administrators",
    "private.coverage_days": "a row a day",
    "private.flow_days": "a row a day",
    "private.income_disclosures": "a row a day",
    "private.counter_deltas": "emptied every minute",
    "private.flow_deltas": "emptied every minute",
    "private.network_deltas": "emptied every minute",
    "procrastinate.procrastinate_jobs": "what waits, and what failed within a month",
    "procrastinate.procrastinate_events": "of those jobs",
    "storage.buckets": "fixed",
    "private.bonus_revision_seq": "a sequence",
    "private.audit_log_2": "the next partition, empty",
    "private.team_days_2": "the next year, empty",
    "private.earning_days_2": "the next year, empty",
}
EXCEPTIONS = {
    ("rpc/list_members search kof", "private.profiles"): "a frequent text: ends with the 10,001st match",
    ("function/admin-settings readiness", "public.deposits"): "exists: ends with the first row",
    ("function/admin-settings readiness", "public.withdrawals"): "exists: ends with the first row",
}
# Called by hand, rarely, for what it reads.
READS_EVERYTHING = {"rpc/rebuild_counters"}
# Rows that one call may read of one growing table of 11,000 members, whatever the way.
ROWS = 1000
BY_NUMBER = "a page by its number skips the rows before it"
COUNT_OF_FILTER = "the total of a filter is counted"
FREQUENT = "a frequent text: collects up to 10,001 matches"
READS_MORE = {
    "function/admin-audit": COUNT_OF_FILTER,
    "function/admin-get-transactions everything": "an export",
    "function/admin-get-transactions page middle": BY_NUMBER,
    "function/admin-get-transactions search kof": FREQUENT,
    "function/admin-get-transactions type bonus page few": BY_NUMBER,
    "function/admin-list-deposits everything": "an export",
    "function/admin-list-deposits page middle": BY_NUMBER,
    "function/admin-list-deposits search kof": FREQUENT,
    "function/admin-list-deposits sort amount.desc page middle": BY_NUMBER,
    "function/admin-list-deposits status approved page middle": BY_NUMBER,
    "function/admin-list-withdrawals sort username.asc": "members in order until the page is full",
    "rpc/list_members package 50 page few": COUNT_OF_FILTER,
    "rpc/list_members page middle": BY_NUMBER,
    "rpc/list_members search kof": FREQUENT,
    "rpc/list_members sort package_value.desc page middle": BY_NUMBER,
    "rpc/list_members sort username.asc page middle": BY_NUMBER,
    "rpc/list_subscriptions search kof": FREQUENT,
    "rpc/search_team frequent": "collects up to 2,001 matches, or walks a team of up to 50,000",
    "rpc/search_team two letters": "walks a team of up to 50,000",
}


@dataclass
class Watched:
    """A connection whose statements report their plans."""

    screens: Screens
    plans: list[dict[str, Any]] = field(default_factory=list)

    def record(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        """Keep a plan that auto_explain reports."""
        _, found, plan = (diagnostic.message_primary or "").partition("plan:\n")
        if found:
            self.plans.append(json.loads(plan))

    def scans(self, call: Call, facts: Facts, modes: Sequence[str] = PLAN_MODES) -> set[str]:
        """Growing tables that this call's statements read from end to end."""
        connection = self.screens.connection
        found = set()
        for mode in modes:
            with connection.transaction(force_rollback=True):
                connection.execute(f"set local plan_cache_mode = {mode}")  # type: ignore[arg-type]  # ours
                self.screens.act(call.who, facts["user_id"])
                if " edge." in call.sql:
                    self.screens.leave()
                self.plans.clear()
                try:
                    self.screens.ask(call, facts)
                except psycopg.Error as error:
                    # An error is a response too; its statements ran.
                    if error.sqlstate != "PGRST":
                        raise
            found |= {
                f"{table} ({mode}): {query}"
                for table, query in sequential(self.plans)
                if (call.name, table) not in EXCEPTIONS
            }
            if call.name not in READS_MORE:
                found |= {
                    f"{count:,} rows of {table} ({mode})"
                    for table, count in rows_read(self.plans).items()
                    if count > ROWS
                }
        return found


def sequential(plans: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Growing tables with a sequential scan, and the statement."""
    for plan in plans:
        nodes = [plan["Plan"]]
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", [])
            table = f"{node.get('Schema')}.{node.get('Relation Name')}"
            if node["Node Type"] == "Seq Scan" and node["Schema"] != "pg_catalog" and table not in SMALL:
                yield table, " ".join(plan["Query Text"].split())[:300]


def rows_read(plans: list[dict[str, Any]]) -> Counter[str]:
    """Return how many rows of each growing table the statements scanned, filtered rows included."""
    found: Counter[str] = Counter()
    for plan in plans:
        nodes = [plan["Plan"]]
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", [])
            table = f"{node.get('Schema')}.{node.get('Relation Name')}"
            if "Relation Name" in node and node["Schema"] != "pg_catalog" and table not in SMALL:
                removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
                found[table] += (node["Actual Rows"] + removed) * node["Actual Loops"]
    return found


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    """Yield a network of its own on the stack's cluster."""
    network.drop(f"bench_{SIZE}")
    with psycopg.connect(network.make(SIZE), autocommit=True) as connection:
        connection.execute("select jobs.publish_disclosure(), jobs.snapshot_coverage()")
        # An empty table costs nothing to read from end to end.
        connection.execute(
            "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at) "
            "select gen_random_uuid(), id, 'totp', 'unverified', now(), now() from auth.users"
        )
        connection.execute("analyze auth.mfa_factors")
        watched = Watched(Screens(connection))
        connection.execute(SETTINGS)
        connection.execute("load 'auto_explain'")
        connection.execute(
            "set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; "
            "set auto_explain.log_analyze = on; set auto_explain.log_timing = off; "
            "set auto_explain.log_verbose = on; set auto_explain.log_format = json; "
            "set auto_explain.log_level = notice"
        )
        connection.add_notice_handler(watched.record)
        yield watched
    network.drop(f"bench_{SIZE}")


def test_the_list_of_calls_is_complete() -> None:
    assert web_calls() - {call.wire for call in CALLS} == READS_EVERYTHING


def _scans_of_all(watched: Watched, member: int, mode: str) -> dict[str, list[str]]:
    found = {}
    facts = watched.screens.facts(member)
    # A decision that was rolled back has moved the sequence that says whether to compare at all.
    watched.screens.connection.execute("select jobs.reconcile()")
    for call in sorted(CALLS, key=lambda call: call.wire != "function/sync-all-mlm-bonuses"):
        if scans := watched.scans(call, facts, [mode]):
            found[call.name] = sorted(scans)
    return found


def test_no_screen_reads_a_growing_table_from_end_to_end(watched: Watched) -> None:
    """By plans for any parameters for who has the largest team, by plans for theirs for another member."""
    custom, generic = PLAN_MODES
    found = _scans_of_all(watched, watched.screens.top_referrer, generic)
    found |= _scans_of_all(watched, watched.screens.members // 3, custom)
    assert not found, json.dumps(found, indent=2)


@pytest.mark.long
def test_nor_with_the_other_plans(watched: Watched) -> None:
    custom, generic = PLAN_MODES
    found = _scans_of_all(watched, watched.screens.top_referrer, custom)
    found |= _scans_of_all(watched, watched.screens.members // 3, generic)
    assert not found, json.dumps(found, indent=2)


def test_a_missing_index_would_be_seen(watched: Watched) -> None:
    facts = watched.screens.facts(watched.screens.top_referrer)
    bonuses = next(call for call in CALLS if call.wire == "table/bonuses")
    with watched.screens.connection.transaction(force_rollback=True):
        watched.screens.leave()
        watched.screens.connection.execute("drop index public.bonuses_user_idx")
        assert any("public.bonuses" in scan for scan in watched.scans(bonuses, facts))


def test_an_index_that_is_walked_would_be_seen(watched: Watched) -> None:
    facts = watched.screens.facts(watched.screens.members // 3)
    history = next(call for call in CALLS if call.name == "rpc/get_transaction_history")
    with watched.screens.connection.transaction(force_rollback=True):
        watched.screens.leave()
        watched.screens.connection.execute("drop index public.deposits_effect_idx, public.deposits_user_idx")
        assert any("rows of public.deposits" in scan for scan in watched.scans(history, facts))
