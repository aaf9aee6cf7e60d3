"""The state machine of the stateful tests: the same steps in the reference model and in the database.

A step that crashes is first done on a connection that is terminated before its commit, then again with the
same ids.
"""

import random
import uuid
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.isolated_db_client import IsolatedDbClient
from tests.support.reference_model import RATES, Person, ReferenceModel
from tests.support.states import set_member
from tests.support.wallet import wallet_of

STORED = """
select
    p.user_id::text, p.package_value, p.cash_in_amount, t.available_balance, t.requestable_amount,
    p.account_status::text, p.hold_until is not null as on_hold,
    array(
        select d.amount::numeric from public.deposits as d
        where d.user_id = p.user_id and d.status = 'pending' order by 1
    ) as deposits,
    array(
        select w.amount::numeric from public.withdrawals as w
        where w.user_id = p.user_id and w.status = 'pending' order by 1
    ) as withdrawals,
    p.trc20_wallet_address
from private.profiles as p inner join private.totals as t on t.user_id = p.user_id
where p.user_id = any(%s)
"""
SIZES = sorted(RATES)
who = st.integers(0, 30)
crash = st.booleans()
amounts = st.one_of(
    st.sampled_from([Decimal(size) for size in SIZES]),
    st.decimals(min_value=0, max_value=1500, places=2),
)
# The clock stands still, at the same or another time, or runs again.
clocks = st.sampled_from([None, *(timedelta(seconds=n) for n in (0, -2, 2, -3600, 3600, -90000, 90000))])
# By how much less arrived than was claimed, or more.
differences = st.sampled_from(
    [Decimal(n) for n in ("0", "0.01", "1.50", "5", "5.01", "20", "60", "-4.99", "-5.01")]
)
# A fraction of the available balance, sometimes a little more than all of it.
shares = st.sampled_from([Decimal(n) for n in ("0.2", "0.5", "0.9", "1", "1", "1.01")])


class MoneyStateMachine(RuleBasedStateMachine):
    """The same steps in the reference model and in the database."""

    make_client: Callable[[], IsolatedDbClient]

    def __init__(self) -> None:
        super().__init__()
        self.model, self.client = ReferenceModel(), type(self).make_client()
        self.wallets: dict[str, str] = {}
        self.decided: dict[str, str] = {}

    def teardown(self) -> None:
        """Throw the database away."""
        self.client.close()

    def person(self, number: int) -> Person:
        """One of the members."""
        return self.model.people[number % len(self.model.people)]

    def chosen(self, requests: dict[str, Decimal], number: int) -> str | None:
        """One of some requests."""
        return list(requests)[number % len(requests)] if requests else None

    @initialize()
    def founders(self) -> None:
        """Create a root and a member with two children, all VIP: 1,100 can be withdrawn."""
        for number in (None, 0, 1, 1):
            self.join(None if number is None else self.model.people[number])
            self.deposit(len(self.model.people) - 1, Decimal(1000), False)
            self.decide_deposit(len(self.model.people) - 1, 0, True, False)

    def join(self, referrer: Person | None) -> None:
        """Create a member with a wallet."""
        person = self.model.join(referrer)
        self.client.join(person)
        self.wallets[person.name] = wallet_of(self.client.users[person.name])

    @rule(number=who)
    def sign_up(self, number: int) -> None:
        """Join below any member, also below a blocked one."""
        self.join(self.person(number))

    @rule(number=who, amount=amounts, crashing=crash)
    def deposit(self, number: int, amount: Decimal, crashing: bool) -> None:
        """Request a deposit with a receipt."""
        person = self.person(number)
        expected = self.model.deposit_error(person, amount)
        self.client.crashing = crashing
        deposit, error_code = self.client.deposit(person, amount)
        assert error_code == expected
        if error_code is None:
            person.pending[deposit] = amount
            if person.completes(amount):
                person.completing.add(deposit)

    @rule(
        number=who,
        value=st.sampled_from(SIZES),
        size=st.sampled_from(SIZES),
        then=st.sampled_from([None, *SIZES]),
    )
    def complete(self, number: int, value: int, size: int, then: int | None) -> None:
        """Set a package, deposit a package size, perhaps set another package, approve the deposit."""
        person = self.person(number)
        self.set_package(number, value, False)
        self.deposit(number, Decimal(size), False)
        if then is not None:
            self.set_package(number, then, False)
        self.decide_deposit(number, len(person.pending) - 1, True, False)

    @rule(number=who, pick=who, less=differences, crashing=crash)
    def approve_what_arrived(self, number: int, pick: int, less: Decimal, crashing: bool) -> None:
        """Approve a deposit, and say how much of it arrived: the claim counts, or nothing."""
        person = self.person(number)
        deposit = self.chosen(person.pending, pick)
        if deposit is None:
            return
        arrived = person.pending[deposit] - less
        expected = self.model.arrival_error(person, deposit, arrived)
        query = "select public.decide_deposit(%s, 'approve', null, %s)"
        self.client.crashing = crashing
        assert self.client.as_admin(1, query, deposit, arrived) == expected
        if expected is None:
            person.rests.pop(deposit, None)
            person.deposits[deposit] = person.pending.pop(deposit)
            self.model.decided(person)

    @rule(number=who, pick=who, less=differences, crashing=crash)
    def ask_rest(self, number: int, pick: int, less: Decimal, crashing: bool) -> None:
        """Ask for what is missing of a deposit; it waits as before."""
        person = self.person(number)
        deposit = self.chosen(person.pending, pick)
        if deposit is None:
            return
        arrived = person.pending[deposit] - less
        query = "select public.decide_deposit(%s, 'ask_rest', null, %s)"
        self.client.crashing = crashing
        expected = self.model.asking_error(person, deposit, arrived)
        assert self.client.as_admin(1, query, deposit, arrived) == expected
        if expected is None:
            person.rests[deposit] = False

    @rule(number=who, pick=who, crashing=crash)
    def add_reference(self, number: int, pick: int, crashing: bool) -> None:
        """Add the reference of a rest, once for each time that it was asked for."""
        person = self.person(number)
        deposit = self.chosen(person.pending, pick)
        if deposit is None:
            return
        query = "select public.add_deposit_reference(%s, %s)"
        self.client.crashing = crashing
        expected = self.model.reference_error(person, deposit)
        assert self.client.as_member(person, query, deposit, str(uuid.uuid4())) == expected
        if expected is None:
            person.rests[deposit] = True

    @rule(number=who, pick=who, approve=st.sampled_from([True, True, False]), crashing=crash)
    def decide_deposit(self, number: int, pick: int, approve: bool, crashing: bool) -> None:
        """Any of the pending ones: the order of decisions must not matter."""
        person = self.person(number)
        deposit = self.chosen(person.pending, pick)
        if deposit is None:
            return
        expected = self.model.arrival_error(person, deposit, None) if approve else None
        self.client.crashing = crashing
        assert self.decide("deposit", deposit, approve) == expected
        if expected:
            return
        person.rests.pop(deposit, None)
        amount = person.pending.pop(deposit)
        if approve:
            person.deposits[deposit] = amount
            self.model.decided(person)

    @rule(number=who, size=st.sampled_from(SIZES))
    def buy(self, number: int, size: int) -> None:
        """Request and approve a package: upgrades and pairs follow."""
        person = self.person(number)
        self.deposit(number, Decimal(size), False)
        self.decide_deposit(number, len(person.pending) - 1, True, False)

    @rule(
        number=who,
        sizes=st.permutations(SIZES),
        count=st.integers(2, 4),
        order=st.randoms(use_true_random=False),
    )
    def rush(self, number: int, sizes: list[int], count: int, order: random.Random) -> None:
        """Request several packages for a new member at once; approve them in any order."""
        self.sign_up(number)
        newcomer = len(self.model.people) - 1
        for size in sizes[:count]:
            self.deposit(newcomer, Decimal(size), False)
        while self.model.people[newcomer].pending:
            self.decide_deposit(newcomer, order.randrange(count), True, False)

    @rule(number=who, pick=who)
    def squeeze(self, number: int, pick: int) -> None:
        """Request the whole balance, void a child's package, then approve the withdrawal."""
        person = self.person(number)
        self.withdraw(number, None, Decimal(1), False)
        if person.children:
            self.void_deposit(self.model.people.index(person.children[pick % len(person.children)]), 0, False)
        self.decide_withdrawal(number, len(person.asked) - 1, True, False)

    def decide(self, noun: str, request: str, approve: bool) -> str | None:
        """Decide as the second administrator."""
        action = "approve" if approve else "reject"
        error_code = self.client.as_admin(1, f"select public.decide_{noun}(%s, %s)", request, action)
        if error_code is None:
            self.decided[request] = f"{noun} {action}"
        return error_code

    @precondition(lambda self: self.decided)
    @rule(pick=who, same=st.booleans(), other=st.booleans())
    def decide_again(self, pick: int, same: bool, other: bool) -> None:
        """Repeat a decision: the same administrator gets the same result, any other an error."""
        request = list(self.decided)[pick % len(self.decided)]
        noun, action = self.decided[request].split()
        asked = action if same else {"approve": "reject", "reject": "approve"}[action]
        query = f"select public.decide_{noun}(%s, %s)"
        error_code = self.client.as_admin(0 if other else 1, query, request, asked)
        assert error_code == (None if same and not other else "already_decided")

    @rule(number=who, amount=st.one_of(amounts, st.none()), share=shares, crashing=crash)
    def withdraw(self, number: int, amount: Decimal | None, share: Decimal, crashing: bool) -> None:
        """Request any amount, or a share of the balance."""
        person = self.person(number)
        if amount is None:
            amount = (self.model.requestable(person) * share).quantize(Decimal("0.01"))
        expected = self.model.withdrawal_error(person, amount)
        withdrawal = str(uuid.uuid4())
        self.client.crashing = crashing
        assert self.ask(person, withdrawal, amount) == expected
        if expected is None:
            person.asked[withdrawal] = amount

    def ask(self, person: Person, withdrawal: str, amount: Decimal) -> str | None:
        """Build the request as the member's client sends it."""
        query = (
            "insert into public.withdrawals (id, user_id, amount, wallet_address) values (%s, %s, %s, %s)"
            " on conflict (id) do nothing"
        )
        user = self.client.users[person.name]
        return self.client.as_member(
            person, query, withdrawal, user, amount, self.wallets.get(person.name, "x")
        )

    @rule(number=who, pick=who, more=st.booleans())
    def ask_again(self, number: int, pick: int, more: bool) -> None:
        """Repeat a request with the same id: nothing happens, and other values are rejected."""
        person = self.person(number)
        withdrawal = self.chosen(person.asked, pick)
        if withdrawal is None or self.wallet_of(withdrawal) != self.wallets[person.name]:
            return
        amount = person.asked[withdrawal] + int(more)
        assert self.ask(person, withdrawal, amount) == ("duplicate_request" if more else None)

    def wallet_of(self, withdrawal: str) -> str:
        """Where a withdrawal goes."""
        query = "select wallet_address from public.withdrawals where id = %s"
        return str(self.client.value(query, withdrawal))

    @rule(number=who, pick=who, approve=st.sampled_from([True, True, False]), crashing=crash)
    def decide_withdrawal(self, number: int, pick: int, approve: bool, crashing: bool) -> None:
        """Approve a withdrawal: an error while the member is blocked or on hold or the balance is too low."""
        person = self.person(number)
        withdrawal = self.chosen(person.asked, pick)
        if withdrawal is None:
            return
        amount = person.asked[withdrawal]
        expected = self.model.approval_error(person, amount) if approve else None
        self.client.crashing = crashing
        assert self.decide("withdrawal", withdrawal, approve) == expected
        if expected is None:
            del person.asked[withdrawal]
            if approve:
                person.withdrawn[withdrawal] = amount

    @rule(number=who, pick=who)
    def decide_at_once(self, number: int, pick: int) -> None:
        """One administrator approves while the other rejects: one of them wins."""
        person = self.person(number)
        request = self.chosen({**person.pending, **person.asked}, pick)
        if request is None:
            return
        noun, requests = (
            ("deposit", person.pending) if request in person.pending else ("withdrawal", person.asked)
        )
        expected = (
            self.model.approval_error(person, requests[request])
            if noun == "withdrawal"
            else self.model.arrival_error(person, request, None)
        )
        query = f"select public.decide_{noun}(%s, '{{}}')"
        approved, rejected = self.client.at_once(
            (self.client.admin(1), query.format("approve"), request),
            (self.client.admin(0), query.format("reject"), request),
        )
        amount = requests.pop(request)
        person.rests.pop(request, None)
        if approved is None and expected is None:
            assert rejected == "already_decided"
            (person.deposits if noun == "deposit" else person.withdrawn)[request] = amount
            self.model.decided(person)
        else:
            assert rejected is None
            assert approved in ("already_decided", expected)

    @rule(number=who, pick=who, crashing=crash)
    def cancel(self, number: int, pick: int, crashing: bool) -> None:
        """Cancel a request as its member, also a pending one: that status blocks only new requests."""
        person = self.person(number)
        request = self.chosen({**person.pending, **person.asked}, pick)
        if request is None:
            return
        self.client.crashing = crashing
        error_code = self.client.as_member(person, "select public.cancel_request(%s)", request)
        assert error_code == (None if person.status in ("active", "pending") else f"account_{person.status}")
        if error_code is None:
            person.pending.pop(request, None)
            person.rests.pop(request, None)
            person.asked.pop(request, None)

    @rule(number=who, status=st.sampled_from(["suspended", "disabled", "pending", "active", "active"]))
    def set_status(self, number: int, status: str) -> None:
        """Blocked or free again: no bonus changes."""
        person = self.person(number)
        query = "select public.update_member(%s, %s, null, 'a reason')"
        error_code = self.client.as_admin(0, query, self.client.profiles[person.name], status)
        assert error_code == (None if person.name in self.wallets else "account_closed")
        if error_code is None:
            person.status = status

    @rule(number=who, crashing=crash)
    def change_wallet(self, number: int, crashing: bool) -> None:
        """Withdrawals are on hold from then on."""
        person = self.person(number)
        if person.name not in self.wallets:
            return
        user = self.client.users[person.name]
        wallet = wallet_of(self.wallets[person.name])
        claims = self.client.proved(person)
        query = "update public.profiles set trc20_wallet_address = %s where user_id = %s"
        self.client.crashing = crashing
        assert self.client.attempt(claims, query, wallet, user) is None
        self.wallets[person.name], person.on_hold = wallet, True

    @rule(number=who)
    def a_day_passes(self, number: int) -> None:
        """End the withdrawal hold of one member."""
        person = self.person(number)
        set_member(self.client.db, self.client.users[person.name], hold_reason=None, hold_until=None)
        person.on_hold = False

    @rule(number=who, pick=who, crashing=crash)
    def void_deposit(self, number: int, pick: int, crashing: bool) -> None:
        """Void an approved deposit."""
        person = self.person(number)
        deposit = self.chosen(person.deposits, pick)
        if deposit is not None:
            self.correct("void_deposit", deposit, None, crashing)
            del person.deposits[deposit]
            self.model.decided(person)

    @rule(number=who, pick=who, crashing=crash)
    def void_withdrawal(self, number: int, pick: int, crashing: bool) -> None:
        """Void an approved withdrawal: it counts as available again."""
        person = self.person(number)
        withdrawal = self.chosen(person.withdrawn, pick)
        if withdrawal is not None:
            self.correct("void_withdrawal", withdrawal, None, crashing)
            del person.withdrawn[withdrawal]

    @rule(number=who, value=st.sampled_from([0, *SIZES]), crashing=crash)
    def set_package(self, number: int, value: int, crashing: bool) -> None:
        """Set a package up or down, without cash-in."""
        person = self.person(number)
        if person.name in self.wallets:
            self.correct("set_package", self.client.profiles[person.name], value, crashing)
            person.set_package(value)
            self.model.decided(person)

    @rule(clock=clocks)
    def set_clock(self, clock: timedelta | None) -> None:
        """Step the clock back or forth; what follows happens at one time until the next step."""
        self.client.set_clock(clock)

    @rule(number=who, pick=who, clock=clocks, size=st.sampled_from(SIZES))
    def void_and_fund_again(self, number: int, pick: int, clock: timedelta | None, size: int) -> None:
        """Void a deposit of one of a pair, fund it again by another clock: it completes the pair now."""
        person = self.person(number)
        if not person.children:
            return
        child = self.model.people.index(person.children[pick % len(person.children)])
        self.void_deposit(child, pick, False)
        self.set_clock(clock)
        self.buy(child, size)

    def correct(self, kind: str, target: str, value: int | None, crashing: bool) -> None:
        """Propose a correction as one administrator and confirm it as the other."""
        propose = "select public.propose_correction(%s, %s, %s, 'a reason')"
        assert self.client.as_admin(0, propose, kind, target, value) is None
        query = "select id::text from private.corrections where target_id = %s and confirmed_by is null"
        correction = self.client.value(query, target)
        self.client.crashing = crashing
        assert self.client.as_admin(1, "select public.confirm_correction(%s)", correction) is None

    @rule(number=who)
    def sync(self, number: int) -> None:
        """Synchronise as a member; a full run finds nothing to repair."""
        person = self.person(number)
        assert self.client.as_member(person, "select public.sync_bonuses()") is None
        assert self.client.value("select private.reconcile()") == 0

    @rule(number=st.integers(0, 100))
    def close(self, number: int) -> None:
        """Close an account, rarely."""
        person = self.person(number)
        if number % 10 or person.name not in self.wallets:
            return
        self.client.system("select private.close_profile(%s)", self.client.users[person.name])
        person.close()
        del self.wallets[person.name]

    @invariant()
    def the_database_equals_the_model(self) -> None:
        """Compare bonuses and who caused them, balances, packages, statuses and requests; the checks pass."""
        assert self.client.bonuses() == self.model.bonuses()
        assert self.client.completers() == self.model.completers()
        rows = self.client.db.execute(STORED, [list(self.client.users.values())]).fetchall()
        stored = {self.client.names[row.pop("user_id")]: tuple(row.values()) for row in rows}
        assert stored == {
            p.name: (
                p.package,
                p.cash_in,
                self.model.available(p),
                self.model.requestable(p),
                p.status,
                p.on_hold,
                sorted(p.pending.values()),
                sorted(p.asked.values()),
                self.wallets.get(p.name),
            )
            for p in self.model.people
        }
        assert self.client.db.execute("select * from private.check_ledger()").fetchall() == []
