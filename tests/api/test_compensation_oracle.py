"""Histories that nobody thought of: the database against the plan in plain Python, to the cent.

Hypothesis invents who joins below whom, who deposits, asks, decides and corrects, in any order. After every
history the stored bonuses, balances and packages must be the plan's, a full reconcile must find nothing to
change, and the books must agree. Everything happens in one transaction that is rolled back.
"""

import secrets
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import orjson
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from tests.support.plan import Person, Plan
from tests.support.stack import Stack

WALLET = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
Connection = psycopg.Connection[dict[str, Any]]

amounts = st.one_of(
    st.sampled_from([Decimal(size) for size in (50, 100, 250, 500, 1000)]),
    st.decimals(min_value=0, max_value=2000, places=2),
)
someone = st.integers(0, 1000)
step = st.one_of(
    st.tuples(st.just("join"), someone, amounts),
    st.tuples(st.just("pay"), someone, st.sampled_from([Decimal(s) for s in (50, 100, 250, 500, 1000)])),
    st.tuples(st.just("deposit"), someone, amounts),
    st.tuples(st.just("decide_deposit"), someone, amounts),
    st.tuples(st.just("withdraw"), someone, amounts),
    st.tuples(st.just("decide_withdrawal"), someone, amounts),
    st.tuples(st.just("void"), someone, amounts),
    st.tuples(st.just("block"), someone, amounts),
)


class Company:
    """The database under test, spoken to as members and administrators."""

    def __init__(self, connection: Connection) -> None:
        self.db = connection
        self.users: dict[str, str] = {}
        self.profiles: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.admins = [self._administrator("super_admin"), self._administrator("finance_admin")]

    def _administrator(self, role: str) -> str:
        email = f"{secrets.token_hex(6)}@oracle.test"
        return str(
            self.value("select private.create_administrator(%s, 'Oracle', %s, '$argon2id$x')", email, role)
        )

    def value(self, query: str, *arguments: object) -> Any:
        """The single value of a query."""
        row = self.db.execute(query, arguments).fetchone()
        assert row is not None
        return next(iter(row.values()))

    def attempt(self, claims: dict[str, str], query: str, *arguments: object) -> str | None:
        """Run a statement as a role; the code of its refusal, or None when it was done."""
        try:
            with self.db.transaction():
                self.db.execute(
                    "select set_config('request.jwt.claims', %s, true), set_config('role', %s, true)",
                    [orjson.dumps(claims).decode(), claims["role"]],
                )
                self.db.execute(query, arguments)
                self.db.execute("select set_config('role', 'none', true)")
        except psycopg.Error as error:
            if error.sqlstate != "PGRST":
                raise
            return str(orjson.loads(error.diag.message_primary or "{}")["code"])
        return None

    def as_admin(self, number: int, query: str, *arguments: object) -> str | None:
        """A statement of an administrator: 0 proposes corrections, 1 decides."""
        return self.attempt({"sub": self.admins[number], "role": "platform_admin"}, query, *arguments)

    def as_member(self, person: Person, query: str, *arguments: object) -> str | None:
        """A statement of a member."""
        return self.attempt({"sub": self.users[person.name], "role": "authenticated"}, query, *arguments)

    def join(self, person: Person) -> None:
        """A confirmed member with a wallet."""
        user, username = str(uuid.uuid4()), f"o_{secrets.token_hex(8)}"
        sponsor = self.profiles[person.sponsor.name] if person.sponsor else None
        profile = self.value(
            "select private.add_profile(%s, %s, %s, 'Oracle', %s)",
            user,
            f"{username}@oracle.test",
            username,
            sponsor,
        )
        self.db.execute(
            "update private.profiles set trc20_wallet_address = %s where user_id = %s", [WALLET, user]
        )
        self.users[person.name], self.profiles[person.name] = user, str(profile)
        self.names[user] = person.name

    def deposit(self, person: Person, amount: Decimal) -> tuple[str, str | None]:
        """Claim a deposit with a receipt of its own; the id, and the refusal if there was one."""
        user, deposit = self.users[person.name], str(uuid.uuid4())
        name = f"{user}/{10**12 + secrets.randbelow(10**12)}.png"
        # Receipts are limited in number; these people had all the time they wanted.
        self.db.execute("set local session_replication_role = replica")
        self.db.execute(
            "insert into storage.objects (bucket_id, name, owner_id, metadata)"
            " values ('receipts', %s, %s, '{}')",
            [name, user],
        )
        self.db.execute("set local session_replication_role = origin")
        return deposit, self.as_member(
            person,
            "insert into public.deposits (id, user_id, amount, reference_number, receipt_url)"
            " values (%s, %s, %s, %s, %s)",
            deposit,
            user,
            amount,
            secrets.token_hex(32),
            f"http://localhost/storage/v1/object/public/receipts/{name}",
        )

    def bonuses(self) -> dict[tuple[str, str, str, int | None], Decimal]:
        """The stored bonuses of these members, in the plan's words."""
        rows = self.db.execute(
            "select b.user_id::text, p.user_id::text as subject, b.bonus_type::text, b.pair_number, b.amount"
            " from public.bonuses as b join private.positions as p on p.no = b.subject_no"
            " where b.user_id = any(%s) and b.amount > 0",
            [list(self.users.values())],
        ).fetchall()
        return {
            (self.names[r["user_id"]], r["bonus_type"], self.names[r["subject"]], r["pair_number"]): r[
                "amount"
            ]
            for r in rows
        }


class History:
    """Plays the same steps in the plan and in the company, and compares every answer."""

    def __init__(self, company: Company) -> None:
        self.plan, self.company = Plan(), company

    def play(self, action: str, number: int, amount: Decimal) -> None:
        """One step by or about one member; members not there yet are skipped."""
        if action == "join" or not self.plan.people:
            sponsor = (
                self.plan.people[number % len(self.plan.people)] if self.plan.people and number % 9 else None
            )
            self.company.join(self.plan.join(sponsor))
            return
        person = self.plan.people[number % len(self.plan.people)]
        getattr(self, f"_{action}")(person, number, amount)

    def _pay(self, person: Person, number: int, amount: Decimal) -> None:
        self._deposit(person, number, amount)
        self._decide_deposit(person, 0, amount)

    def _deposit(self, person: Person, _: int, amount: Decimal) -> None:
        expected = self.plan.deposit_refusal(person, amount)
        deposit, refusal = self.company.deposit(person, amount)
        assert refusal == expected
        if refusal is None:
            person.pending[deposit] = amount

    def _decide_deposit(self, person: Person, number: int, _: Decimal) -> None:
        if not person.pending:
            return
        # Any of the pending ones, not the oldest: the order of decisions must not matter.
        deposit = sorted(person.pending)[number % len(person.pending)]
        amount = person.pending.pop(deposit)
        action = "reject" if number % 5 == 4 else "approve"
        assert self.company.as_admin(1, "select public.decide_deposit(%s, %s)", deposit, action) is None
        if action == "approve":
            person.deposits[deposit] = amount

    def _withdraw(self, person: Person, _: int, amount: Decimal) -> None:
        expected = self.plan.withdrawal_refusal(person, amount)
        withdrawal = str(uuid.uuid4())
        refusal = self.company.as_member(
            person,
            "insert into public.withdrawals (id, user_id, amount, wallet_address) values (%s, %s, %s, %s)",
            withdrawal,
            self.company.users[person.name],
            amount,
            WALLET,
        )
        assert refusal == expected
        if refusal is None:
            person.asked[withdrawal] = amount

    def _decide_withdrawal(self, person: Person, number: int, _: Decimal) -> None:
        if not person.asked:
            return
        withdrawal = sorted(person.asked)[number % len(person.asked)]
        amount = person.asked[withdrawal]
        action = "reject" if number % 5 == 4 else "approve"
        expected = self.plan.approval_refusal(person, amount) if action == "approve" else None
        assert (
            self.company.as_admin(1, "select public.decide_withdrawal(%s, %s)", withdrawal, action)
            == expected
        )
        if expected is None:
            del person.asked[withdrawal]
            if action == "approve":
                person.withdrawn[withdrawal] = amount

    def _void(self, person: Person, number: int, _: Decimal) -> None:
        if not person.deposits:
            return
        deposit = sorted(person.deposits)[number % len(person.deposits)]
        propose = "select public.propose_correction('void_deposit', %s, null, 'oracle')"
        assert self.company.as_admin(0, propose, deposit) is None
        correction = self.company.value(
            "select id::text from private.corrections where target_id = %s", deposit
        )
        assert self.company.as_admin(1, "select public.confirm_correction(%s)", correction) is None
        del person.deposits[deposit]

    def _block(self, person: Person, _: int, __: Decimal) -> None:
        """Status never changes bonuses: blocked, then free again."""
        before = self.company.bonuses()
        for status in ("suspended", "active"):
            self.company.db.execute(
                "update private.profiles set account_status = %s where user_id = %s",
                [status, self.company.users[person.name]],
            )
        assert self.company.bonuses() == before

    def compare(self) -> None:
        """Everything the plan knows, against everything that is stored."""
        assert self.company.bonuses() == self.plan.bonuses()
        rows = self.company.db.execute(
            "select p.user_id::text, package_value, cash_in_amount, available_balance, requestable_amount"
            " from private.profiles as p join private.totals as t on t.user_id = p.user_id"
            " where p.user_id = any(%s)",
            [list(self.company.users.values())],
        ).fetchall()
        stored = {self.company.names[r.pop("user_id")]: tuple(r.values()) for r in rows}
        assert stored == {
            p.name: (p.package, p.cash_in, self.plan.available(p), self.plan.requestable(p))
            for p in self.plan.people
        }
        total = sum(self.plan.bonuses().values(), Decimal(0))
        assert total <= Decimal("0.56") * sum(p.funded_package for p in self.plan.people)
        assert self.company.value("select private.reconcile()") == 0
        assert self.company.db.execute("select * from private.check_books()").fetchall() == []


@pytest.fixture(scope="module")
def superuser(stack: Stack) -> Iterator[Connection]:
    """A connection that may act as anybody; nothing of it is committed."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], row_factory=dict_row) as connection:
        yield connection
        connection.rollback()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=10, max_size=60))
def test_any_history_ends_as_the_plan_says(
    superuser: Connection, steps: list[tuple[str, int, Decimal]]
) -> None:
    history = History(Company(superuser))
    try:
        for action, number, amount in steps:
            history.play(action, number, amount)
        history.compare()
    finally:
        superuser.rollback()
