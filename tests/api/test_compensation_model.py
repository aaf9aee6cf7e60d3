"""Stateful tests: the database against the reference model in plain Python, to the cent.

Hypothesis generates who joins below whom, who deposits, withdraws, decides and corrects, in any order. After
every run the stored bonuses, balances and packages must be the model's, a full reconcile must find nothing to
change, and the ledger checks must pass. Everything happens in one transaction that is rolled back, in a
database of its own: it holds the money lock for the whole run.
"""

import uuid
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from tests.support.db_client import Connection, DbClient
from tests.support.own_database import own_database
from tests.support.reference_model import Person, ReferenceModel
from tests.support.stack import Stack
from tests.support.states import set_member
from tests.support.wallet import wallet_of

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


class MoneyStateMachine:
    """Run the same steps in the reference model and in the database, and compare every result."""

    def __init__(self, client: DbClient) -> None:
        self.model, self.client = ReferenceModel(), client

    def play(self, action: str, number: int, amount: Decimal) -> None:
        """One step by or about one member; members not there yet are skipped."""
        if action == "join" or not self.model.people:
            referrer = (
                self.model.people[number % len(self.model.people)]
                if self.model.people and number % 9
                else None
            )
            self.client.join(self.model.join(referrer))
            return
        person = self.model.people[number % len(self.model.people)]
        getattr(self, f"_{action}")(person, number, amount)

    def _pay(self, person: Person, number: int, amount: Decimal) -> None:
        self._deposit(person, number, amount)
        self._decide_deposit(person, 0, amount)

    def _deposit(self, person: Person, _: int, amount: Decimal) -> None:
        expected = self.model.deposit_error(person, amount)
        deposit, error_code = self.client.deposit(person, amount)
        assert error_code == expected
        if error_code is None:
            person.pending[deposit] = amount

    def _decide_deposit(self, person: Person, number: int, _: Decimal) -> None:
        if not person.pending:
            return
        # Any of the pending ones, not the oldest: the order of decisions must not matter.
        deposit = sorted(person.pending)[number % len(person.pending)]
        amount = person.pending.pop(deposit)
        action = "reject" if number % 5 == 4 else "approve"
        assert self.client.as_admin(1, "select public.decide_deposit(%s, %s)", deposit, action) is None
        if action == "approve":
            person.deposits[deposit] = amount

    def _withdraw(self, person: Person, _: int, amount: Decimal) -> None:
        expected = self.model.withdrawal_error(person, amount)
        withdrawal = str(uuid.uuid4())
        error_code = self.client.as_member(
            person,
            "insert into public.withdrawals (id, user_id, amount, wallet_address) values (%s, %s, %s, %s)",
            withdrawal,
            self.client.users[person.name],
            amount,
            wallet_of(self.client.users[person.name]),
        )
        assert error_code == expected
        if error_code is None:
            person.asked[withdrawal] = amount

    def _decide_withdrawal(self, person: Person, number: int, _: Decimal) -> None:
        if not person.asked:
            return
        withdrawal = sorted(person.asked)[number % len(person.asked)]
        amount = person.asked[withdrawal]
        action = "reject" if number % 5 == 4 else "approve"
        expected = self.model.approval_error(person, amount) if action == "approve" else None
        assert (
            self.client.as_admin(1, "select public.decide_withdrawal(%s, %s)", withdrawal, action) == expected
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
        assert self.client.as_admin(0, propose, deposit) is None
        correction = self.client.value(
            "select id::text from private.corrections where target_id = %s", deposit
        )
        assert self.client.as_admin(1, "select public.confirm_correction(%s)", correction) is None
        del person.deposits[deposit]

    def _block(self, person: Person, _: int, __: Decimal) -> None:
        """Status never changes bonuses: blocked, then free again."""
        before = self.client.bonuses()
        for status in ("suspended", "active"):
            set_member(self.client.db, self.client.users[person.name], account_status=status)
        assert self.client.bonuses() == before

    def compare(self) -> None:
        """Compare everything in the reference model with everything that is stored."""
        assert self.client.bonuses() == self.model.bonuses()
        rows = self.client.db.execute(
            "select p.user_id::text, package_value, cash_in_amount, available_balance, requestable_amount"
            " from private.profiles as p join private.totals as t on t.user_id = p.user_id"
            " where p.user_id = any(%s)",
            [list(self.client.users.values())],
        ).fetchall()
        stored = {self.client.names[r.pop("user_id")]: tuple(r.values()) for r in rows}
        assert stored == {
            p.name: (p.package, p.cash_in, self.model.available(p), self.model.requestable(p))
            for p in self.model.people
        }
        total = sum(self.model.bonuses().values(), Decimal(0))
        assert total <= Decimal("0.56") * sum(p.funded_package for p in self.model.people)
        assert self.client.value("select private.reconcile()") == 0
        assert self.client.db.execute("select * from private.check_ledger()").fetchall() == []


@pytest.fixture(scope="module")
def superuser(stack: Stack) -> Iterator[Connection]:
    """Yield a connection that may take any role; nothing on it is committed."""
    with (
        own_database(stack) as address,
        psycopg.connect(address, row_factory=dict_row) as connection,
    ):
        yield connection
        connection.rollback()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=10, max_size=60))
def test_any_run_ends_as_the_model_says(superuser: Connection, steps: list[tuple[str, int, Decimal]]) -> None:
    history = MoneyStateMachine(DbClient(superuser))
    try:
        for action, number, amount in steps:
            history.play(action, number, amount)
        history.compare()
    finally:
        superuser.rollback()
