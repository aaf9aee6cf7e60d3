"""The reference model: the compensation plan in plain Python, to compare the database with.

Written from the plan's wording alone. It stores no sums and no positions; it computes everything from the
referrals and the deposits that count.
"""

from dataclasses import dataclass, field
from decimal import Decimal

RATES = {50: Decimal(10), 100: Decimal(20), 250: Decimal(30), 500: Decimal(40), 1000: Decimal(50)}
PERCENT = Decimal(100)
MINIMUM = Decimal(100)
PENDING_LIMIT = 5

Bonus = tuple[str, str, str, int | None]


@dataclass
class Person:
    """A member: the referrer, the direct referrals in their order, and the money that counts."""

    name: str
    referrer: "Person | None"
    children: list["Person"] = field(default_factory=list)
    deposits: dict[str, Decimal] = field(default_factory=dict)
    pending: dict[str, Decimal] = field(default_factory=dict)
    # Deposits that were requested to complete a package: no package, whatever their size.
    completing: set[str] = field(default_factory=set)
    # Pending deposits whose rest was asked for, and whether its reference came.
    rests: dict[str, bool] = field(default_factory=dict)
    withdrawn: dict[str, Decimal] = field(default_factory=dict)
    asked: dict[str, Decimal] = field(default_factory=dict)
    status: str = "active"
    on_hold: bool = False
    set_to: int = 0
    replaced: set[str] = field(default_factory=set)
    # Place of the decision that funded the member, the last one, among all decisions.
    funded_at: int | None = None

    @property
    def cash_in(self) -> Decimal:
        """All approved deposits that count."""
        return sum(self.deposits.values(), Decimal(0))

    @property
    def package(self) -> int:
        """The largest approved deposit that bought a package, or what a correction has set since."""
        bought = self.deposits.keys() - self.replaced - self.completing
        return max([self.set_to, *(int(self.deposits[d]) for d in bought if self.deposits[d] in RATES)])

    def completes(self, amount: Decimal) -> bool:
        """Whether a deposit is a part of what is missing of the package; no deposit is below a dollar."""
        missing = self.package - self.cash_in
        return missing > 0 and amount <= max(missing, Decimal(1))

    @property
    def funded_package(self) -> int:
        """The package, when it is fully paid."""
        return self.package if self.cash_in >= self.package else 0

    def set_package(self, value: int) -> None:
        """Apply a correction: it replaces the value; later approvals raise it."""
        self.set_to, self.replaced = value, set(self.deposits)

    def close(self) -> None:
        """Close the account: place, money and bonuses stay, pending requests do not."""
        self.status, self.on_hold = "disabled", False
        self.pending.clear()
        self.rests.clear()
        self.asked.clear()


class ReferenceModel:
    """A forest of members and what each of them is owed; it counts decisions and has no clock."""

    def __init__(self) -> None:
        self.people: list[Person] = []
        self.decisions = 0

    def join(self, referrer: Person | None) -> Person:
        """Add a new member, the youngest below the referrer."""
        person = Person(f"p{len(self.people)}", referrer)
        self.people.append(person)
        if referrer:
            referrer.children.append(person)
        return person

    def decided(self, person: Person) -> None:
        """Note a decision about a member's package or money: it may fund the member, or the opposite."""
        self.decisions += 1
        if not person.funded_package:
            person.funded_at = None
        elif person.funded_at is None:
            person.funded_at = self.decisions

    def completers(self) -> dict[tuple[str, int], str]:
        """Return who completed each paying pair, by owner and pair number: the child funded later."""
        found = {}
        for person in self.people:
            pairs = zip(person.children[0::2], person.children[1::2], strict=False)
            for number, pair in enumerate(pairs, start=1):
                if person.package and all(child.funded_at for child in pair):
                    found[person.name, number] = max(pair, key=lambda child: child.funded_at or 0).name
        return found

    def bonuses(self) -> dict[Bonus, Decimal]:
        """Every bonus by (earner, kind, child or pair owner, pair number), above zero."""
        owed: dict[Bonus, Decimal] = {}
        for person in self.people:
            if person.referrer:
                share = Decimal(person.funded_package) * 5 / PERCENT
                owed[person.referrer.name, "referral", person.name, None] = share
            pairs = zip(person.children[0::2], person.children[1::2], strict=False)
            for number, (left, right) in enumerate(pairs, start=1):
                if not (left.funded_package and right.funded_package):
                    continue
                volume = Decimal(left.funded_package + right.funded_package)
                rate = RATES.get(person.package, Decimal(0))
                owed[person.name, "pairing", person.name, number] = volume * rate / PERCENT
                if person.referrer:
                    owed[person.referrer.name, "override", person.name, number] = volume / PERCENT
        return {key: amount for key, amount in owed.items() if amount > 0}

    def earned(self, person: Person) -> Decimal:
        """Return the sum of a member's bonuses."""
        return sum((a for key, a in self.bonuses().items() if key[0] == person.name), Decimal(0))

    def available(self, person: Person) -> Decimal:
        """max(0, bonuses - approved withdrawals)."""
        return max(Decimal(0), self.earned(person) - sum(person.withdrawn.values(), Decimal(0)))

    def requestable(self, person: Person) -> Decimal:
        """Return the available balance: pending requests are reserved."""
        taken = sum(person.withdrawn.values(), Decimal(0)) + sum(person.asked.values(), Decimal(0))
        return max(Decimal(0), self.earned(person) - taken)

    def deposit_error(self, person: Person, amount: Decimal) -> str | None:
        """Return the error code of a new deposit, if any."""
        if person.status != "active":
            return f"account_{person.status}"
        if not Decimal(1) <= amount <= Decimal(10_000_000):
            return "invalid_amount"
        if not person.package and amount not in RATES:
            return "package_required"
        if person.package and amount in RATES and amount <= person.package and not person.completes(amount):
            return "downgrade"
        return "too_many_pending" if len(person.pending) >= PENDING_LIMIT else None

    @staticmethod
    def tolerance(amount: Decimal) -> Decimal:
        """By how much what arrived may differ from a claim that is approved."""
        return min(Decimal(5), amount / 10)

    def arrival_error(self, person: Person, deposit: str, arrived: Decimal | None) -> str | None:
        """Return the error code of an approval that says how much arrived, if any."""
        if arrived is None:
            return "received_amount_required" if deposit in person.rests else None
        if not Decimal("0.01") <= arrived <= Decimal(10_000_000):
            return "invalid_amount"
        claimed = person.pending[deposit]
        return "amount_differs" if abs(arrived - claimed) > self.tolerance(claimed) else None

    def asking_error(self, person: Person, deposit: str, arrived: Decimal) -> str | None:
        """Return the error code of asking for the rest, if any; one administrator asks."""
        if not Decimal("0.01") <= arrived <= Decimal(10_000_000):
            return "invalid_amount"
        claimed = person.pending[deposit]
        return "nothing_missing" if arrived >= claimed - self.tolerance(claimed) else None

    def reference_error(self, person: Person, deposit: str) -> str | None:
        """Return the error code of adding the reference of a rest, if any."""
        if person.status not in ("active", "pending"):
            return f"account_{person.status}"
        return None if person.rests.get(deposit) is False else "rest_not_asked"

    def withdrawal_error(self, person: Person, amount: Decimal) -> str | None:
        """Return the error code of a new withdrawal: status, amount, balance, minimum, verification."""
        if person.status != "active":
            return f"account_{person.status}"
        if not Decimal(0) < amount <= Decimal(10_000_000):
            return "invalid_amount"
        if amount > self.requestable(person):
            return "insufficient_balance"
        if amount < MINIMUM:
            return "below_minimum"
        return None if person.funded_package else "not_verified"

    def approval_error(self, person: Person, amount: Decimal) -> str | None:
        """Return the error code of approving a withdrawal, if any."""
        if person.status in ("suspended", "disabled"):
            return "account_blocked"
        if person.on_hold:
            return "on_hold"
        paid = sum(person.withdrawn.values(), Decimal(0))
        return "insufficient_available_balance" if amount > self.earned(person) - paid else None
