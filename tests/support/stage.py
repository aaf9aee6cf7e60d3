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

FAMILY = Path(__file__).with_name("family.sql")
WALLET = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
MONEY_LOCK = "select pg_advisory_xact_lock(private.lock_key('money'))"
AUDIT_LOCK = "select pg_advisory_xact_lock(private.lock_key('audit_log'))"
PATIENCE_SECONDS = 20
Family = dict[str, str]
Connection = psycopg.Connection[tuple[Any, ...]]


ACT = (
    "select set_config('stage.turnstile', %s, true), set_config('request.jwt.claims', %s, true),"
    " set_config('role', %s, true)"
)


@dataclass(frozen=True)
class Outcome:
    """The results of some calls, and the state of the members afterwards."""

    answers: tuple[str, ...]
    state: Any


@dataclass(frozen=True)
class Call:
    """One statement of one actor: a member's label, an administrator, or the system."""

    actor: str
    query: str
    arguments: tuple[object, ...] = ()


class Session:
    """A connection in the background: begins, runs a call, and waits to be committed."""

    def __init__(self, url: str, stage: "Stage") -> None:
        self.connection = psycopg.connect(url, autocommit=True, row_factory=tuple_row)
        self.pid = self.connection.info.backend_pid
        self.stage = stage
        self._thread = ThreadPoolExecutor(1)

    def start(
        self, family: Family, call: Call, turnstile: int | None = None, commit: bool = False
    ) -> Future[str]:
        """Begin and run a call; stop before its first row when there is a barrier."""
        return self._thread.submit(self._perform, family, call, turnstile, commit)

    def _perform(self, family: Family, call: Call, turnstile: int | None, commit: bool) -> str:
        try:
            self.connection.execute("begin")
            claims, role = self.stage.claims(family, call.actor)
            self.connection.execute(ACT, ["" if turnstile is None else str(turnstile), claims, role])
            answer = _answer(self.connection.execute(call.query, call.arguments))
        except psycopg.Error as error:
            if self.connection.closed:
                raise
            self.connection.execute("rollback")
            return code_of(error)
        if commit:
            self.connection.execute("commit")
        return answer

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


def _answer(cursor: psycopg.Cursor[tuple[Any, ...]]) -> str:
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


class Stage:
    """Creates groups of fixture members, reads their state, and controls the sessions."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.director = psycopg.connect(url, autocommit=True, row_factory=tuple_row)
        if not self._value("select exists (select from pg_namespace where nspname = 'stage')"):
            self.director.execute(FAMILY.read_bytes())
        rows = self.director.execute("select name, id::text from stage.administrators").fetchall()
        self.administrators: dict[str, str] = dict(rows)
        self._turnstiles = itertools.count(1000)

    def __enter__(self) -> "Stage":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.director.close()

    def _value(self, query: str, *arguments: object) -> Any:
        row = self.director.execute(query, arguments).fetchone()
        return row[0] if row else None

    def families(self, count: int) -> list[Family]:
        """Create groups of fixture members, as fixture_members.sql describes them."""
        return [
            dict(row[0]) for row in self.director.execute("select stage.families(%s)", [count]).fetchall()
        ]

    def state(self, family: Family, on: Connection | None = None) -> Any:
        """Return the whole state of the members, without ids and times."""
        row = (on or self.director).execute("select stage.state(%s)", [Jsonb(family)]).fetchone()
        return row[0] if row else None

    def violations(self) -> list[tuple[str, str]]:
        """Return the violations that the ledger checks find."""
        return list(self.director.execute("select rule, object from private.check_ledger()").fetchall())

    def claims(self, family: Family, actor: str) -> tuple[str, str]:
        """Return claims and role of an actor; the system has none."""
        if actor == "system":
            return "", "none"
        administrator = self.administrators.get(actor)
        role = "platform_admin" if administrator else "authenticated"
        claims = {"sub": administrator or family[actor], "role": role, "aal": "aal2", "aud": "authenticated"}
        return orjson.dumps(claims).decode(), role

    def one_after_the_other(self, family: Family, calls: list[Call]) -> "Outcome":
        """Return the results of calls run in this order, alone; everything is rolled back."""
        answers = []
        with self.director.transaction(force_rollback=True):
            for call in calls:
                claims, role = self.claims(family, call.actor)
                try:
                    with self.director.transaction():
                        self.director.execute(ACT, ["", claims, role])
                        answers.append(_answer(self.director.execute(call.query, call.arguments)))
                        self.director.execute(ACT, ["", "", "none"])
                except psycopg.Error as error:
                    answers.append(code_of(error))
            return Outcome(tuple(answers), self.state(family))

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
        number = next(self._turnstiles)
        self.director.execute("select pg_advisory_lock(%s)", [number])
        try:
            yield number
        finally:
            self.director.execute("select pg_advisory_unlock(%s)", [number])

    @contextmanager
    def holding(self, *queries: str, family: Family) -> Iterator[None]:
        """Hold locks in a transaction of the director inside the block; %s is the members' ids."""
        ids = [value for key, value in family.items() if f"{key}_profile" in family]
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

    def settle(self, session: Session, work: Future[Any]) -> bool:
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


def operations(family: Family) -> dict[str, Call]:
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
            (family["new_deposit"], family["member"], family["new_deposit"], family["receipt"]),
        ),
        "approve a first package": Call("ada", decide_deposit, (family["first"], "approve")),
        "approve an upgrade": Call("ada", decide_deposit, (family["upgrade"], "approve")),
        "approve a cash-in": Call("ada", decide_deposit, (family["cash_in"], "approve")),
        "reject the upgrade": Call("bea", decide_deposit, (family["upgrade"], "reject")),
        "request a withdrawal": Call(
            "member",
            "insert into public.withdrawals (id, user_id, amount, wallet_address)"
            " values (%s, %s, 250, %s) on conflict (id) do nothing",
            (family["new_withdrawal"], family["member"], WALLET),
        ),
        "approve the withdrawal": Call("ada", decide_withdrawal, (family["asked"], "approve")),
        "reject the withdrawal": Call("bea", decide_withdrawal, (family["asked"], "reject")),
        "record a payout": Call(
            "bea", "select public.decide_withdrawal(%s, 'approve', null, 'paid')", (family["unpaid"],)
        ),
        "cancel the upgrade": Call("member", "select public.cancel_request(%s)", (family["upgrade"],)),
        "cancel the withdrawal": Call("member", "select public.cancel_request(%s)", (family["asked"],)),
        "void a child's package": Call("bea", confirm, (family["void_deposit"],)),
        "void a withdrawal": Call("bea", confirm, (family["void_withdrawal"],)),
        "set a package": Call("bea", confirm, (family["set_package"],)),
        "reconcile": Call("system", "select private.reconcile()"),
        "suspend": Call("ada", status, (family["member_profile"],)),
        "close": Call("system", "delete from auth.users where id = %s", (family["member"],)),
        "change the e-mail": Call(
            "system",
            "update auth.users set email = %s where id = %s",
            (f"{family['new']}@changed.example", family["member"]),
        ),
        "change the wallet": Call(
            "member",
            "update public.profiles set trc20_wallet_address = 'TDiPZ6fACNywvYszPkJWkP8pJD7p7c93GN'"
            " where user_id = %s",
            (family["member"],),
        ),
        "sign up below": Call(
            "system",
            "insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)"
            " values (%s, %s, now(), %s)",
            (
                family["new"],
                f"{family['new']}@stage.example",
                Jsonb(
                    {
                        "username": f"n_{family['new'][:13].replace('-', '')}",
                        "display_name": "new",
                        "referrer_id": family["member_profile"],
                    }
                ),
            ),
        ),
    }
