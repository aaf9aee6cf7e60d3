"""The database calls of the screens, as one list for the query plan test and the benchmark.

A call is named as the web app names it: `rpc/NAME`, `table/NAME` or `function/NAME` (an edge function).
`web_calls()` reads the web app's sources, so that a call missing here is found.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, LiteralString

import psycopg

Who = Literal["member", "administrator", "anonymous"]
Facts = dict[str, Any]
WEB = Path(__file__).parents[2] / "web" / "src"
ADMINISTRATOR = "00000000-0000-4000-8000-0000000000ad"
Filters = dict[str, str]
# A page is named by where it stands in the whole list.
PAGES = {"first": 0.0, "few": 0.1, "middle": 0.5, "last": 1.0}
PAGE_ROWS = 25
LISTED: dict[str, LiteralString] = {
    "rpc/list_members": "select count(*) from private.profiles",
    "rpc/list_subscriptions": "select count(*) from public.bot_subscriptions",
    "function/admin-list-deposits": "select count(*) from public.deposits",
    "function/admin-list-withdrawals": "select count(*) from public.withdrawals",
    "function/admin-get-transactions": "select count(*) from public.transactions",
}
LISTS: tuple[Filters, ...] = (
    {"page": "first"},
    {"page": "middle"},
    {"page": "last"},
    {"search": "kof"},
    {"search": "kofi_weber_7"},
    {"search": "no such text anywhere"},
)


@dataclass(frozen=True)
class Call:
    """One request of a screen, as SQL with the names of facts as parameters."""

    wire: str
    who: Who
    sql: LiteralString
    note: str = ""
    writes: bool = False
    filters: Filters | None = None

    @property
    def name(self) -> str:
        """What a report prints."""
        return f"{self.wire} {self.note}".strip()


def _lists(wire: str, sql: LiteralString, *more: Filters) -> list[Call]:
    """Return the calls of a paged list: first, middle and last page, searches, and its own filters."""
    return [
        Call(
            wire,
            "administrator",
            sql,
            " ".join(f"{k} {v}" for k, v in filters.items()) or "everything",
            filters=filters,
        )
        for filters in (*LISTS, *more)
    ]


CALLS: list[Call] = [
    Call("rpc/get_mail_choices", "member", "select public.get_mail_choices()"),
    Call(
        "rpc/set_mail_choice",
        "member",
        "select public.set_mail_choice('deposit_approved', false)",
        writes=True,
    ),
    Call("rpc/cancel_email_change", "member", "select public.cancel_email_change()", writes=True),
    Call("rpc/get_email_change", "member", "select public.get_email_change()"),
    Call("rpc/get_my_sessions", "member", "select public.get_my_sessions()"),
    Call("rpc/end_session", "member", "select public.end_session(gen_random_uuid())", writes=True),
    Call("rpc/end_other_sessions", "member", "select public.end_other_sessions()", writes=True),
    Call("function/close-account", "member", "select edge.start_closing(%(user_id)s, true)", writes=True),
    Call(
        "function/admin-update-subscription",
        "administrator",
        "select public.update_subscription(%(subscription)s, 'suspended', 'A reason')",
        writes=True,
    ),
    Call(
        "function/admin-remove-factors",
        "administrator",
        "select public.start_factor_removal(%(profile_id)s, 'A reason')",
        writes=True,
    ),
    Call(
        "function/admin-reveal-mt5-password",
        "administrator",
        "select * from edge.encrypted_mt5_password(%(admin_id)s, %(subscription)s)",
        writes=True,
    ),
    Call(
        "table/lesson_progress",
        "member",
        "insert into public.lesson_progress (user_id, lesson_id) values (%(user_id)s, 'earning')",
        "save",
        writes=True,
    ),
    Call("rpc/get_platform", "anonymous", "select public.get_platform()"),
    Call("rpc/get_income_disclosure", "anonymous", "select public.get_income_disclosure()"),
    Call("rpc/get_sponsor", "anonymous", "select * from public.get_sponsor(%(profile_id)s::text)", "by id"),
    Call("rpc/get_sponsor", "anonymous", "select * from public.get_sponsor(%(username)s)", "by name"),
    Call("rpc/is_username_available", "anonymous", "select public.is_username_available('nobody_yet')"),
    Call("rpc/get_my_account_status", "member", "select public.get_my_account_status()"),
    Call("rpc/get_member_dashboard", "member", "select public.get_member_dashboard()"),
    Call("rpc/get_earnings", "member", "select public.get_earnings('30d')", "30d"),
    Call("rpc/get_earnings", "member", "select public.get_earnings('all')", "all"),
    Call("rpc/get_network_summary", "member", "select public.get_network_summary()"),
    Call("rpc/get_team_growth", "member", "select public.get_team_growth('30d')", "30d"),
    Call("rpc/get_team_growth", "member", "select public.get_team_growth('all')", "all"),
    Call("rpc/get_team_tree", "member", "select public.get_team_tree()"),
    Call("rpc/get_team_tree", "member", "select public.get_team_tree(null, 50, 50)", "second page"),
    Call("rpc/get_team_tree", "administrator", "select public.get_team_tree()", "company"),
    Call("rpc/get_team_tree", "administrator", "select public.get_team_tree(%(profile_id)s)", "any member"),
    Call("rpc/search_team", "member", "select public.search_team('kof')", "frequent"),
    Call("rpc/search_team", "member", "select public.search_team('kofi_weber_77')", "rare"),
    Call("rpc/search_team", "member", "select public.search_team('ko')", "two letters"),
    Call("rpc/get_pairings", "member", "select public.get_pairings()"),
    Call("rpc/get_transaction_history", "member", "select public.get_transaction_history()"),
    Call(
        "rpc/get_transaction_history",
        "member",
        "select public.get_transaction_history('pairing bonus')",
        "type",
    ),
    Call(
        "rpc/get_transaction_history",
        "member",
        "select public.get_transaction_history(p_before => %(cursor)s)",
        "later page",
    ),
    Call(
        "rpc/get_transaction_history",
        "member",
        "select public.get_transaction_history('withdrawal', p_limit => 100)",
        "withdrawals",
    ),
    Call(
        "rpc/get_statement",
        "member",
        "select public.get_statement((now() at time zone 'UTC')::date, 0, 0)",
        "now",
    ),
    Call(
        "rpc/get_statement",
        "member",
        "select public.get_statement(%(joined)s)",
        "of the first month",
    ),
    Call("rpc/get_notifications", "member", "select public.get_notifications()"),
    Call("rpc/get_deposit_options", "member", "select public.get_deposit_options()"),
    Call("rpc/get_withdraw_options", "member", "select public.get_withdraw_options()"),
    Call(
        "rpc/get_user_bot_subscriptions",
        "member",
        "select * from public.get_user_bot_subscriptions(%(user_id)s)",
    ),
    Call("rpc/mark_notifications_read", "member", "select public.mark_notifications_read()", writes=True),
    Call(
        "rpc/add_deposit_reference",
        "member",
        "select public.add_deposit_reference(%(own_pending)s, 'another')",
        writes=True,
    ),
    Call("rpc/cancel_request", "member", "select public.cancel_request(%(own_pending)s)", writes=True),
    Call("table/profiles", "member", "select * from public.profiles where user_id = %(user_id)s", "own"),
    Call("table/profiles", "member", "select * from public.profiles where id = %(profile_id)s", "by id"),
    Call(
        "table/profiles", "member", "select * from public.profiles where username = %(username)s", "by name"
    ),
    Call(
        "table/profiles",
        "member",
        "select * from public.profiles where referrer_id = %(profile_id)s order by created_at limit 1000",
        "children",
    ),
    Call(
        "table/profiles",
        "member",
        "update public.profiles set trc20_wallet_address = trc20_wallet_address where user_id = %(user_id)s",
        "save",
        writes=True,
    ),
    *[
        Call(
            f"table/{table}",
            "member",
            f"select * from public.{table} where user_id = %(user_id)s order by {order} desc limit 1000",
        )
        for table, order in (
            ("deposits", "created_at"),
            ("withdrawals", "created_at"),
            ("transactions", "created_at"),
            ("bonuses", "created_at"),
            ("bot_subscriptions", "subscribed_at"),
            ("notifications", "created_at"),
            ("lesson_progress", "done_at"),
        )
    ],
    Call(
        "table/bonuses",
        "member",
        "select * from public.bonuses where source_user_id = %(user_id)s",
        "as source",
    ),
    Call("table/deposits", "member", "select * from public.deposits where id = %(own_pending)s", "by id"),
    Call(
        "table/withdrawals", "member", "select id from public.withdrawals where id = %(own_pending)s", "by id"
    ),
    Call("function/sync-all-mlm-bonuses", "member", "select public.sync_bonuses()", writes=True),
    Call("function/admin-auth", "administrator", "select public.touch_admin_session()", writes=True),
    Call("rpc/touch_admin_session", "administrator", "select public.touch_admin_session()", writes=True),
    Call(
        "rpc/get_admin_dashboard_stats", "administrator", "select * from public.get_admin_dashboard_stats()"
    ),
    Call("rpc/get_admin_overview", "administrator", "select public.get_admin_overview()"),
    Call("rpc/get_flows", "administrator", "select public.get_flows('30d')", "30d"),
    Call("rpc/get_flows", "administrator", "select public.get_flows('all')", "all"),
    Call("rpc/get_coverage", "administrator", "select public.get_coverage()"),
    Call("rpc/get_coverage_history", "administrator", "select public.get_coverage_history()"),
    Call("rpc/get_admin_notices", "administrator", "select public.get_admin_notices()"),
    Call(
        "rpc/mark_admin_notices_read", "administrator", "select public.mark_admin_notices_read()", writes=True
    ),
    Call("rpc/get_member", "administrator", "select public.get_member(%(profile_id)s)"),
    *_lists(
        "rpc/list_members",
        "select public.list_members(%(filters)s)",
        {"verified": "false"},
        {"verified": "true"},
        {"status": "active"},
        {"status": "suspended"},
        {"package": "50", "page": "few"},
        {"sort": "username.asc", "page": "middle"},
        {"sort": "package_value.desc", "page": "middle"},
    ),
    Call(
        "rpc/get_request_changes",
        "administrator",
        "select public.get_request_changes('deposits', array[%(pending_deposit)s]::uuid[])",
    ),
    *_lists(
        "function/admin-list-deposits",
        "select public.list_deposits(%(filters)s)",
        {},
        {"status": "approved", "page": "middle"},
        {"sort": "amount.desc", "page": "middle"},
        {"sort": "username.asc"},
    ),
    *_lists(
        "function/admin-list-withdrawals",
        "select public.list_withdrawals(%(filters)s)",
        {},
        {"status": "pending"},
        {"status": "unpaid"},
        {"status": "paid", "page": "middle"},
        {"sort": "username.asc"},
    ),
    *_lists(
        "function/admin-get-transactions",
        "select public.list_transactions(%(filters)s)",
        {},
        {"type": "bonus", "page": "few"},
        {"search": "abcd"},
    ),
    *_lists("rpc/list_subscriptions", "select public.list_subscriptions(%(filters)s)", {"status": "active"}),
    Call("rpc/list_corrections", "administrator", "select public.list_corrections()"),
    Call("rpc/list_alarms", "administrator", "select public.list_alarms('{}')"),
    Call(
        "rpc/acknowledge_alarm",
        "administrator",
        "select public.acknowledge_alarm(gen_random_uuid(), 'A reason')",
        writes=True,
    ),
    Call("function/admin-audit", "administrator", "select public.list_audit('{}')"),
    Call(
        "function/admin-audit",
        "administrator",
        "select public.list_audit(jsonb_build_object('from', current_date - 300, 'to', current_date - 285))",
        "days",
    ),
    Call(
        "function/admin-audit", "administrator", 'select public.list_audit(\'{"action": "bot"}\')', "action"
    ),
    Call(
        "function/admin-audit",
        "administrator",
        "select public.list_audit(jsonb_build_object('search', left(%(profile_id)s::text, 13)))",
        "search id",
    ),
    Call(
        "function/admin-audit",
        "administrator",
        "select public.list_audit(jsonb_build_object('search', %(username)s::text))",
        "search member",
    ),
    Call(
        "function/admin-audit",
        "administrator",
        "select public.list_audit(jsonb_build_object('objectId', %(profile_id)s::text))",
        "object",
    ),
    Call("function/admin-settings", "administrator", "select public.list_settings()"),
    Call("function/admin-settings", "administrator", "select public.get_readiness()", "readiness"),
    Call("function/admin-accounts", "administrator", "select public.list_administrators()"),
    Call("function/admin-jobs", "administrator", "select public.list_jobs()"),
    Call(
        "function/admin-get-receipt",
        "administrator",
        "select public.find_receipt(%(receipt_url)s)",
        writes=True,
    ),
    Call(
        "function/admin-approve-deposit",
        "administrator",
        "select public.decide_deposit(%(pending_deposit)s, 'approve', null, null)",
        writes=True,
    ),
    Call(
        "function/admin-approve-deposit",
        "administrator",
        "select public.decide_deposit(%(pending_deposit)s, 'ask_rest', null, 1)",
        "rest",
        writes=True,
    ),
    Call(
        "function/admin-approve-withdrawal",
        "administrator",
        "select public.decide_withdrawal(%(pending_withdrawal)s, 'approve', null, null)",
        writes=True,
    ),
    Call(
        "function/admin-propose-correction",
        "administrator",
        "select public.propose_correction('set_package', %(profile_id)s, 0, 'A reason')",
        writes=True,
    ),
    Call(
        "function/admin-confirm-correction",
        "administrator",
        "select public.confirm_correction(gen_random_uuid())",
        writes=True,
    ),
    Call(
        "rpc/discard_correction",
        "administrator",
        "select public.discard_correction(gen_random_uuid())",
        writes=True,
    ),
    Call(
        "function/admin-update-member",
        "administrator",
        "select public.update_member(%(profile_id)s, 'suspended', 'A note', 'A reason')",
        writes=True,
    ),
    Call(
        "rpc/restore_member",
        "administrator",
        "select public.restore_member(%(profile_id)s, 'A reason')",
        writes=True,
    ),
    Call(
        "function/admin-export", "administrator", "select public.note_export('deposits', '{}')", writes=True
    ),
    Call(
        "function/bot-subscription",
        "member",
        "select edge.subscribe_bot(%(user_id)s, gen_random_uuid(), 'Scout', 's', 'l', 8, 'k', 'x')",
        writes=True,
    ),
]


def web_calls() -> set[str]:
    """Every call in the web app's sources, in the notation of `Call.wire`."""
    text = "\n".join(
        path.read_text()
        for path in sorted(WEB.rglob("*.ts*"))
        if ".test." not in path.name and path.name != "database.types.ts"
    )
    found = {f"rpc/{name}" for name in re.findall(r"""(?:\.rpc\(\s*|/rpc/)['"`]?(\w+)""", text)}
    found |= {f"table/{name}" for name in re.findall(r"""(?<!storage)\.from\(\s*['"`](\w+)""", text)}
    found |= {
        f"function/{name}"
        for name in re.findall(r"""\bcallFunction(?:<[^()]*>)?\(\s*[^'"`]*?['"`]([\w-]+)""", text)
    }
    return found


class Screens:
    """A principal on one superuser connection that takes the principal's role for each request."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.members = self._one("select count(*) from private.profiles")
        self.top_referrer = self._one("select no from private.positions order by children desc limit 1")
        self._listed = {wire: self._one(count) for wire, count in LISTED.items()}
        self._session = self._sign_in()

    def _one(self, query: LiteralString, parameters: Any = None) -> Any:
        row = self.connection.execute(query, parameters).fetchone()
        return row[0] if row else None

    def _sign_in(self) -> str:
        self.connection.execute(
            "with made as ("
            "insert into private.admin_users (id, email, full_name, role, password_hash) "
            "values (%s, 'screens@admins.test', 'Screens', 'super_admin', '$argon2id$none') "
            "on conflict do nothing returning id, role"
            ") select from made",
            [ADMINISTRATOR],
        )
        self.connection.execute("select private.backfill_states()")
        return str(
            self._one(
                "select session_token"
                " from edge.start_admin_session(%s, '127.0.0.1', 'screens', sha256('screens'))",
                [ADMINISTRATOR],
            )
        )

    def facts(self, no: int) -> Facts:
        """Return the arguments that calls about this member need."""
        row = self.connection.execute(
            """
            select
                p.id, p.user_id, p.username,
                coalesce(
                    (
                        select d.id from public.deposits as d
                        where d.user_id = p.user_id and d.status = 'pending' limit 1
                    ), gen_random_uuid()
                ),
                coalesce(
                    (select d.receipt_url from public.deposits as d where d.user_id = p.user_id limit 1), ''
                ),
                (
                    select private.encode_cursor(t.created_at, t.id) from public.transactions as t
                    where t.user_id = p.user_id order by t.created_at desc offset 2 limit 1
                ),
                date_trunc('month', p.created_at at time zone 'UTC')::date
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
            where o.no = %s
            """,
            [no],
        ).fetchone()
        assert row
        names = ("profile_id", "user_id", "username", "own_pending", "receipt_url", "cursor", "joined")
        return dict(zip(names, row, strict=True)) | {
            "pending_deposit": self._one(
                "select id from public.deposits where status = 'pending' order by created_at limit 1"
            ),
            "pending_withdrawal": self._one(
                "select id from public.withdrawals where status = 'pending' order by created_at limit 1"
            ),
            "subscription": self._one(
                "select id from public.bot_subscriptions where status = 'active' limit 1"
            ),
            "admin_id": ADMINISTRATOR,
        }

    def act(self, who: Who, user_id: object) -> None:
        """From here on the connection is this person's; the gate lets them in, as PostgREST would ask it."""
        role = {"member": "authenticated", "administrator": "platform_admin", "anonymous": "anon"}[who]
        claims = {"sub": str(user_id), "role": role, "aud": "authenticated"}
        if who == "administrator":
            claims |= {"sub": ADMINISTRATOR, "sid": self._session, "jti": "screens"}
        self.connection.execute(
            "select set_config('request.jwt.claims', %s, false), set_config('request.headers', %s, false)",
            [json.dumps(claims), json.dumps({"x-real-ip": "203.0.113.7"})],
        )
        self.connection.execute(f"set role {role}")

    def leave(self) -> None:
        """Become the superuser again."""
        self.connection.execute("reset role")

    def _page(self, wire: str, name: str) -> int:
        pages: int = math.ceil(PAGES[name] * self._listed[wire] / PAGE_ROWS)
        return max(1, pages)

    def ask(self, call: Call, facts: Facts) -> list[Any]:
        """Make one call and return its rows."""
        filters = {k: self._page(call.wire, v) if k == "page" else v for k, v in (call.filters or {}).items()}
        response = self.connection.execute(call.sql, facts | {"filters": json.dumps(filters)})
        return response.fetchall() if response.description else []
