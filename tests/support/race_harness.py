"""The race harness: connections that run one operation on money each, and stop where a test wants them.

A barrier is an advisory lock: the director holds it, a session that reaches it waits. PostgreSQL reports
which sessions wait, so a test knows that one waits before it lets the other continue.
"""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson
import psycopg
from psycopg.rows import tuple_row
from psycopg.types.json import Jsonb

from tests.support.wallet import wallet_of

FIXTURE_MEMBERS = [Path(__file__).with_name(name) for name in ("wallet.sql", "fixture_members.sql")]
MONEY_LOCK = "select pg_advisory_xact_lock(private.lock_key('money'))"
AUDIT_LOCK = "select pg_advisory_xact_lock(private.lock_key('audit_log'))"
PATIENCE_SECONDS = 60
MemberGroup = dict[str, str]
Connection = psycopg.Connection[tuple[Any, ...]]


ACT = (
    "select set_config('race.barrier', %s, true), set_config('request.jwt.claims', %s, true),"
    " set_config('role', %s, true)"
)


@dataclass(frozen=True)
class Result:
    """The results of some calls, and the state of the members afterwards."""

    results: tuple[str, ...]
    state: Any


@dataclass(frozen=True)
class Call:
    """One statement of one actor: a member's label, an administrator, or the system."""

    actor: str
    query: str
    arguments: tuple[object, ...] = ()


class Session:
    """A connection in the background: begins, runs a call, and waits to be committed."""

    def __init__(self, url: str, harness: "RaceHarness") -> None:
        self.connection = psycopg.connect(url, autocommit=True, row_factory=tuple_row)
        self.pid = self.connection.info.backend_pid
        self.harness = harness
        self._thread = ThreadPoolExecutor(1)

    def start(
        self, group: MemberGroup, call: Call, barrier: int | None = None, commit: bool = False
    ) -> Future[str]:
        """Begin and run a call; stop before its first row when there is a barrier."""
        return self._thread.submit(self._perform, group, call, barrier, commit)

    def _perform(self, group: MemberGroup, call: Call, barrier: int | None, commit: bool) -> str:
        try:
            self.connection.execute("begin")
            claims, role = self.harness.claims(group, call.actor)
            self.connection.execute(ACT, ["" if barrier is None else str(barrier), claims, role])
            result = _result_of(self.connection.execute(call.query, call.arguments))
        except psycopg.Error as error:
            if self.connection.closed:
                raise
            self.connection.execute("rollback")
            return code_of(error)
        if commit:
            self.connection.execute("commit")
        return result

    def commit(self) -> Future[None]:
        """Commit the last call."""
        return self._thread.submit(self._end, "commit")

    def rollback(self) -> None:
        """Roll the last call back."""
        self._thread.submit(self._end, "rollback").result(PATIENCE_SECONDS)

    def _end(self, how: str) -> None:
        if not self.connection.closed and self.connection.info.transaction_status.name != "IDLE":
            self.connection.execute(how)

    def close(self) -> None:
        """Close the connection."""
        self._thread.shutdown()
        self.connection.close()


def _result_of(cursor: psycopg.Cursor[tuple[Any, ...]]) -> str:
    """Return the result of a call: done, done before, or no row written."""
    if cursor.description is None:
        return "done" if cursor.rowcount else "nothing"
    row = cursor.fetchone()
    return "already" if row and isinstance(row[0], dict) and row[0].get("already") else "done"


def code_of(error: psycopg.Error) -> str:
    """Return the product's error code, else PostgreSQL's."""
    if error.sqlstate == "PGRST":
        return str(orjson.loads(error.diag.message_primary or "{}")["code"])
    return str(error.sqlstate)


class RaceHarness:
    """Creates groups of fixture members, reads their state, and controls the sessions."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.director = psycopg.connect(url, autocommit=True, row_factory=tuple_row)
        if not self._value("select exists (select from pg_namespace where nspname = 'race')"):
            self.director.execute(b"".join(file.read_bytes() for file in FIXTURE_MEMBERS))
        rows = self.director.execute("select name, id::text from race.administrators").fetchall()
        self.administrators: dict[str, str] = dict(rows)
        self._barriers = itertools.count(1000)

    def __enter__(self) -> "RaceHarness":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.director.close()

    def _value(self, query: str, *arguments: object) -> Any:
        row = self.director.execute(query, arguments).fetchone()
        return row[0] if row else None

    def prove(self, *members: str) -> None:
        """Let administrators and these members have signed in now: a proof lasts ten minutes."""
        self.director.execute(
            "update private.admin_session_activity set started_at = clock_timestamp()"
            " where session_token::text = any(%s) and started_at < clock_timestamp() - interval '3 minutes'",
            [list(self.administrators.values())],
        )
        self.director.execute(
            "update auth.mfa_amr_claims set updated_at = clock_timestamp()"
            " where session_id::text = any(%s) and updated_at < clock_timestamp() - interval '3 minutes'",
            [list(members)],
        )

    def groups(self, count: int) -> list[MemberGroup]:
        """Create groups of fixture members, as fixture_members.sql describes them."""
        self.prove()
        return [dict(row[0]) for row in self.director.execute("select race.groups(%s)", [count]).fetchall()]

    def state(self, group: MemberGroup, on: Connection | None = None) -> Any:
        """Return the whole state of the members, without ids and times."""
        row = (on or self.director).execute("select race.state(%s)", [Jsonb(group)]).fetchone()
        return row[0] if row else None

    def violations(self) -> list[tuple[str, str]]:
        """Return the violations that the ledger checks find."""
        return list(self.director.execute("select rule, object from private.check_ledger()").fetchall())

    def claims(self, group: MemberGroup, actor: str) -> tuple[str, str]:
        """Return claims and role of an actor; the system has none."""
        if actor == "system":
            return "", "none"
        administrator = self.administrators.get(actor)
        role = "platform_admin" if administrator else "authenticated"
        subject = administrator or group[actor]
        claims: dict[str, Any] = {"sub": subject, "role": role, "aud": "authenticated"}
        if administrator:
            claims |= {"sid": administrator, "jti": actor}
        else:
            # The group was made, or proved, in the last nine minutes.
            entry = {"method": "password", "timestamp": int(time.time()) - 540}
            claims |= {"session_id": subject, "aal": "aal1", "amr": [entry]}
        return orjson.dumps(claims).decode(), role

    def one_after_the_other(self, group: MemberGroup, calls: list[Call]) -> "Result":
        """Return the results of calls run in this order, alone; everything is rolled back."""
        results = []
        self.prove(*group.values())
        with self.director.transaction(force_rollback=True):
            for call in calls:
                claims, role = self.claims(group, call.actor)
                try:
                    with self.director.transaction():
                        self.director.execute(ACT, ["", claims, role])
                        results.append(_result_of(self.director.execute(call.query, call.arguments)))
                        self.director.execute(ACT, ["", "", "none"])
                except psycopg.Error as error:
                    results.append(code_of(error))
            return Result(tuple(results), self.state(group))

    @contextmanager
    def sessions(self, count: int) -> Iterator[list[Session]]:
        """Yield new sessions."""
        opened = [Session(self.url, self) for _ in range(count)]
        try:
            yield opened
        finally:
            for session in opened:
                session.close()

    @contextmanager
    def closed(self) -> Iterator[int]:
        """Yield a barrier that no session passes inside the block."""
        number = next(self._barriers)
        self.director.execute("select pg_advisory_lock(%s)", [number])
        try:
            yield number
        finally:
            self.director.execute("select pg_advisory_unlock(%s)", [number])

    @contextmanager
    def holding(self, *queries: str, group: MemberGroup) -> Iterator[None]:
        """Hold locks in a transaction of the director inside the block; %s is the members' ids."""
        ids = [value for key, value in group.items() if f"{key}_profile" in group]
        self.director.execute("begin")
        try:
            for query in queries:
                self.director.execute(query, {"ids": ids})
            yield
        finally:
            self.director.execute("rollback")

    def waits(self, session: Session) -> bool:
        """Whether a session waits for a lock now."""
        return bool(self._value("select cardinality(pg_blocking_pids(%s)) > 0", session.pid))

    def wait_until_done_or_blocked(self, session: Session, work: Future[Any]) -> bool:
        """Wait until a session is done or waits for a lock; return whether it waits."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not work.done():
            if self.waits(session):
                return True
            assert time.monotonic() < deadline, "neither done nor waiting for a lock"
            time.sleep(0.0005)
        return False

    def wait_for_event(self, session: Session, event: str) -> None:
        """Wait until PostgreSQL says that a session waits for this."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        query = "select wait_event from pg_stat_activity where pid = %s"
        while self._value(query, session.pid) != event:
            assert time.monotonic() < deadline, f"never waited for {event}"
            time.sleep(0.0005)

    def holds_advisory(self, session: Session, name: str) -> bool:
        """Whether a session has an advisory lock of the product."""
        query = (
            "select exists (select from pg_locks where pid = %s and locktype = 'advisory'"
            " and objid = private.lock_key(%s)::oid and classid = 0 and granted)"
        )
        return bool(self._value(query, session.pid, name))


def operations(group: MemberGroup) -> dict[str, Call]:
    """Return every operation on money that can be started on one group of members, by name."""
    decide_deposit = "select public.decide_deposit(%s, %s)"
    decide_withdrawal = "select public.decide_withdrawal(%s, %s)"
    confirm = "select public.confirm_correction(%s)"
    status = "select public.update_member(%s, 'suspended', null, 'race')"
    return {
        "request a deposit": Call(
            "member",
            "insert into public.deposits (id, user_id, amount, reference_number, receipt_url)"
            " values (%s, %s, 9.25, %s, %s) on conflict (id) do nothing",
            (group["new_deposit"], group["member"], group["new_deposit"], group["receipt"]),
        ),
        "approve a first package": Call("ada", decide_deposit, (group["first"], "approve")),
        "approve an upgrade": Call("ada", decide_deposit, (group["upgrade"], "approve")),
        "approve a cash-in": Call("ada", decide_deposit, (group["cash_in"], "approve")),
        "approve what arrived in parts": Call(
            "ada", "select public.decide_deposit(%s, 'approve', null, 118.50)", (group["short"],)
        ),
        "ask for the rest of the upgrade": Call(
            "bea", "select public.decide_deposit(%s, 'ask_rest', null, 400)", (group["upgrade"],)
        ),
        "add the reference of a rest": Call(
            "member", "select public.add_deposit_reference(%s, %s)", (group["short"], group["new"])
        ),
        "reject the upgrade": Call("bea", decide_deposit, (group["upgrade"], "reject")),
        "request a withdrawal": Call(
            "member",
            "insert into public.withdrawals (id, user_id, amount, wallet_address)"
            " values (%s, %s, 250, %s) on conflict (id) do nothing",
            (group["new_withdrawal"], group["member"], wallet_of(group["member"])),
        ),
        "approve the withdrawal": Call("ada", decide_withdrawal, (group["asked"], "approve")),
        "reject the withdrawal": Call("bea", decide_withdrawal, (group["asked"], "reject")),
        "record a payout": Call(
            "bea",
            "select public.decide_withdrawal(%s, 'approve', null, %s)",
            (group["unpaid"], group["unpaid"]),
        ),
        "cancel the upgrade": Call("member", "select public.cancel_request(%s)", (group["upgrade"],)),
        "cancel the withdrawal": Call("member", "select public.cancel_request(%s)", (group["asked"],)),
        "void a child's package": Call("bea", confirm, (group["void_deposit"],)),
        "void a withdrawal": Call("bea", confirm, (group["void_withdrawal"],)),
        "set a package": Call("bea", confirm, (group["set_package"],)),
        "reconcile": Call("system", "select private.reconcile()"),
        "rebuild the counters": Call("ada", "select public.rebuild_counters('race')"),
        "suspend": Call("ada", status, (group["member_profile"],)),
        "close": Call("system", "delete from auth.users where id = %s", (group["member"],)),
        "change the e-mail": Call(
            "system",
            "update auth.users set email = %s where id = %s",
            (f"{group['new']}@changed.example", group["member"]),
        ),
        "change the wallet": Call(
            "member",
            "update public.profiles set trc20_wallet_address = 'TDiPZ6fACNywvYszPkJWkP8pJD7p7c93GN'"
            " where user_id = %s",
            (group["member"],),
        ),
        "sign up below": Call(
            "system",
            "insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)"
            " values (%s, %s, now(), %s)",
            (
                group["new"],
                f"{group['new']}@race.example",
                Jsonb(
                    {
                        "username": f"n_{group['new'][:13].replace('-', '')}",
                        "display_name": "new",
                        "referrer_id": group["member_profile"],
                    }
                ),
            ),
        ),
    }
