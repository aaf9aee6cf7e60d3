"""Every edge function and storage operation through the gateway, one after the other: p50 and p95.

Members and requests are created before the clock starts. Run by `make bench`; STACK_ENV names the stack,
SAMPLES the number of requests to each.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import httpx
import psycopg
import pyotp
from psycopg.rows import dict_row

from tests.bench.measure import milliseconds
from tests.bench.report import exit_code, record
from tests.support.bucket_fixture import BucketFixture, open_bucket
from tests.support.files import png
from tests.support.people import PASSWORD, Administrator, Member, People
from tests.support.stack import Stack

# They have no goal of their own: the figures show what became slower.
GOAL = "API"
SAMPLES = int(os.environ.get("SAMPLES", "20"))
RECEIPT = png() + b"\0" * 200_000
Ask = Callable[[], httpx.Response]


def measure(what: str, ask: Ask, samples: int = SAMPLES) -> None:
    """Send one request to warm up, then `samples`; an error ends the benchmark."""
    ask().raise_for_status()
    times = [milliseconds(lambda: ask().raise_for_status()) for _ in range(samples)]
    record(GOAL, f"{what}, p50", statistics.median(times), "ms")
    record(GOAL, f"{what}, p95", statistics.quantiles(times, n=20)[-1], "ms")


class Functions:
    """List the endpoints with the request for each."""

    def __init__(self, people: People, referrer: str) -> None:
        self._people, self._referrer = people, referrer
        self._finance, self._super = (people.administrator(role) for role in ("finance_admin", "super_admin"))
        self._member = people.member(referrer)

    def measure(self) -> None:
        """All of them."""
        member, finance, super_admin = self._member, self._finance, self._super
        measure("sync-all-mlm-bonuses", lambda: member.function("sync-all-mlm-bonuses"))
        for name in ("admin-list-deposits", "admin-list-withdrawals", "admin-get-transactions"):
            measure(f"{name}, everything", partial(finance.function, name))
            measure(f"{name}, a page", partial(finance.function, name, {"page": 1, "pageSize": 25}))
        for name, body in (
            ("admin-accounts", {"action": "list"}),
            ("admin-settings", {"action": "list"}),
            ("admin-settings, readiness", {"action": "readiness"}),
            ("admin-jobs", {"action": "list"}),
            ("admin-audit", {"page": 1, "pageSize": 25}),
            ("admin-export", {"list": "deposits"}),
        ):
            measure(name, partial(super_admin.function, name.split(",")[0], body))
        self._writing(super_admin)
        self._sign_in(super_admin)
        self._bots()
        self._members()
        self._money()

    def _writing(self, super_admin: Administrator) -> None:
        accounts = count()

        def create() -> httpx.Response:
            email = f"bench-{time.time_ns()}-{next(accounts)}@example.com"
            body = {"action": "create", "email": email, "full_name": "Bench", "role": "support_admin"}
            return super_admin.function("admin-accounts", body)

        made = create().raise_for_status().json()["administrator"]["id"]
        measure("admin-accounts, create", create, samples=5)
        names = count()
        measure(
            "admin-accounts, update",
            lambda: super_admin.function(
                "admin-accounts", {"action": "update", "admin_id": made, "full_name": f"Bench {next(names)}"}
            ),
            samples=10,
        )
        measure(
            "admin-accounts, reset_password",
            lambda: super_admin.function("admin-accounts", {"action": "reset_password", "admin_id": made}),
            samples=5,
        )
        limits = (limit for _ in count() for limit in (6, 5))
        change = {"action": "change", "key": "deposit.pending_limit"}
        measure(
            "admin-settings, change",
            lambda: super_admin.function("admin-settings", {**change, "value": next(limits)}),
            samples=9,
        )

    def _sign_in(self, administrator: Administrator) -> None:
        body = {"action": "login", "email": administrator.email, "password": PASSWORD}
        anonymous = self._people.anonymous()
        self._people.owner.execute("delete from private.rate_limits")
        measure("admin-auth, login", lambda: anonymous.function("admin-auth", body), samples=10)

    def _bots(self) -> None:
        bot = {"bot_name": "Scout", "mt5_server": "s", "mt5_login": "1", "mt5_password": "geheim"}
        actions = (action for _ in count() for action in ("subscribe", "unsubscribe"))
        measure(
            "bot-subscription",
            lambda: self._member.function("bot-subscription", {**bot, "action": next(actions)}),
            samples=SAMPLES // 2 * 2 + 1,
        )
        response = self._member.function("bot-subscription", {**bot, "action": next(actions)}).json()
        identity = {"subscriptionId": response["subscription"]["id"]}
        self._people.owner.execute("delete from private.rate_limits")
        measure(
            "admin-reveal-mt5-password",
            lambda: self._finance.function("admin-reveal-mt5-password", identity),
            samples=19,
        )
        states = (state for _ in count() for state in ("suspended", "active"))
        measure(
            "admin-update-subscription",
            lambda: self._finance.function(
                "admin-update-subscription", {**identity, "status": next(states), "reason": "bench"}
            ),
        )

    def _members(self) -> None:
        notes = {"profileId": self._member.profile_id, "admin_notes": "bench", "reason": "bench"}
        measure("admin-update-member", lambda: self._super.function("admin-update-member", notes))
        guarded = iter([self._with_a_factor() for _ in range(5)])

        def remove() -> httpx.Response:
            body = {"profileId": next(guarded).profile_id, "reason": "bench"}
            return self._super.function("admin-remove-factors", body)

        measure("admin-remove-factors", remove, samples=4)

    def _with_a_factor(self) -> Member:
        """Return a member whose second factor is verified."""
        member = self._people.member(self._referrer)
        body = {"factor_type": "totp", "friendly_name": "phone"}
        factor = member.http.post("/auth/v1/factors", json=body).raise_for_status().json()
        path = f"/auth/v1/factors/{factor['id']}"
        challenge = member.http.post(f"{path}/challenge", json={}).raise_for_status().json()
        proof = {"challenge_id": challenge["id"], "code": pyotp.TOTP(factor["totp"]["secret"]).now()}
        member.http.post(f"{path}/verify", json=proof).raise_for_status()
        return member

    def _money(self) -> None:
        deposits = self._waiting_deposits(SAMPLES + 1)
        receipt = {"receiptUrl": deposits[0]["receipt_url"]}
        measure("admin-get-receipt", lambda: self._finance.function("admin-get-receipt", receipt))
        waiting = iter(deposits)
        measure(
            "admin-approve-deposit",
            lambda: self._finance.approve_deposit(next(waiting)["id"]),
        )
        earner = self._people.earner(self._referrer, self._finance)
        requests = iter(
            [earner.insert("withdrawals", earner.withdrawal_row(100)).json()[0] for _ in range(5)]
        )
        measure(
            "admin-approve-withdrawal",
            lambda: self._finance.function(
                "admin-approve-withdrawal", {"withdrawalId": next(requests)["id"], "action": "approve"}
            ),
            samples=4,
        )
        packages: Iterator[int] = iter([500, 250] * SAMPLES)
        target = {"kind": "set_package", "targetId": earner.profile_id, "reason": "bench"}
        proposed: list[str] = []

        def propose() -> httpx.Response:
            response = self._super.function("admin-propose-correction", {**target, "value": next(packages)})
            proposed.append(response.raise_for_status().json()["correction"]["id"])
            return response

        def both() -> httpx.Response:
            propose()
            return self._finance.function("admin-confirm-correction", {"correctionId": proposed[-1]})

        measure("admin-propose-correction and admin-confirm-correction", both, samples=10)

    def _waiting_deposits(self, number: int) -> list[dict[str, str]]:
        """First deposits of new members, five at most of each."""
        made: list[dict[str, str]] = []
        while len(made) < number:
            member: Member = self._people.member(self._referrer)
            made += [member.deposit(50) for _ in range(min(5, number - len(made)))]
        return made


def storage(own_bucket: BucketFixture, member: Member) -> None:
    """Every operation on 200 kB files in a member's own folder; moving and copying with the service key."""
    names = (f"{member.user_id}/{number}.png" for number in count())
    first = next(names)
    own_bucket.put(member, first, RECEIPT).raise_for_status()
    uploaded: list[str] = []

    def upload() -> httpx.Response:
        uploaded.append(next(names))
        return own_bucket.put(member, uploaded[-1], RECEIPT)

    bucket, folder = own_bucket.bucket, member.user_id
    signed = own_bucket.call(member, "POST", f"/object/sign/{bucket}/{first}", {"expiresIn": 600}).json()[
        "signedURL"
    ]
    listed = {"prefix": folder, "limit": 100}
    measure("storage upload of 200 kB", upload)
    measure("storage download", lambda: own_bucket.get(member, first))
    measure("storage range of 1 kB", lambda: own_bucket.get(member, first, range="bytes=0-1023"))
    for what, verb, path, body in (
        ("exists", "HEAD", f"/object/{bucket}/{first}", None),
        ("info", "GET", f"/object/info/{bucket}/{first}", None),
        ("sign", "POST", f"/object/sign/{bucket}/{first}", {"expiresIn": 60}),
        ("signed download", "GET", signed, None),
        ("list", "POST", f"/object/list/{bucket}", listed),
        ("list-v2", "POST", f"/object/list-v2/{bucket}", {"prefix": folder, "limit": 100}),
    ):
        measure(
            f"storage {what}",
            partial(own_bucket.call, member, verb, path, body),
        )
    copies = count()

    def copy() -> httpx.Response:
        keys = {"bucketId": bucket, "sourceKey": first, "destinationKey": f"{folder}/c{next(copies)}.png"}
        return own_bucket.call(own_bucket.service, "POST", "/object/copy", keys)

    moves = count()

    def move() -> httpx.Response:
        number = next(moves)
        keys = {"sourceKey": f"{folder}/c{number}.png", "destinationKey": f"{folder}/m{number}.png"}
        return own_bucket.call(own_bucket.service, "POST", "/object/move", {"bucketId": bucket, **keys})

    measure("storage copy", copy)
    measure("storage move", move)
    measure(
        "storage remove",
        lambda: own_bucket.call(member, "DELETE", f"/object/{bucket}", {"prefixes": [uploaded.pop()]}),
    )


def main() -> int:
    """Measure the functions, then storage."""
    stack = Stack.read()
    started = time.perf_counter()
    with psycopg.connect(stack.database_url, autocommit=True, row_factory=dict_row) as owner:
        people = People(stack, owner)
        referrer = stack.values["DEMO_REFERRAL_CODE"]
        Functions(people, referrer).measure()
        with open_bucket(stack, owner, file_size_limit=1_000_000) as own_bucket:
            storage(own_bucket, people.member(referrer))
    print(f"  measured in {time.perf_counter() - started:.0f} s")
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
