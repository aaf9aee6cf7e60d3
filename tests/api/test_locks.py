"""Locks: what must not run in parallel waits for the other transaction.

One connection holds a lock, another does the work with a short lock timeout. What waits gets the error
`try_again`, or times out; what skips locked rows goes on at once.
"""

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.support.own_database import own_database
from tests.support.people import Administrator, Member, People
from tests.support.stack import Stack
from tests.support.wallet import wallet_of

Owner = psycopg.Connection[dict[str, Any]]
TRY_AGAIN = "The server is busy. Try again in a moment."
WAITED_IN_VAIN = "55P03"
LOCKS = {
    "money": "select pg_advisory_xact_lock(private.lock_key('money'))",
    "audit": "select pg_advisory_xact_lock(private.lock_key('audit_log'))",
    "disclosure": "select pg_advisory_xact_lock(private.lock_key('income_disclosure'))",
    "reconcile": "select pg_advisory_xact_lock(private.lock_key('reconcile'))",
    "ledger_check": "select pg_advisory_xact_lock(private.lock_key('ledger_check'))",
    "networks": "select pg_advisory_xact_lock(private.lock_key('networks'))",
    "receipt": "select pg_advisory_xact_lock(private.lock_key('receipt'), hashtext(%(receipt)s))",
    "request": "select pg_advisory_xact_lock(private.lock_key('request'), hashtext(%(request)s::uuid::text))",
    # What every request holds until it is committed.
    "deposits": "lock table public.deposits in row exclusive mode",
    "withdrawals": "lock table public.withdrawals in row exclusive mode",
    **{
        name: f"select 1 from private.profiles where user_id = %({name})s for no key update"
        for name in ("member", "referrer", "earner")
    },
    "administrators": "select 1 from private.admin_users where id = %(other_admin)s for no key update",
    "setting": "select 1 from private.settings where key = 'risk.version' for no key update",
    "alarm": "select 1 from private.alarms where id = %(alarm)s for no key update",
    # As a migration has it.
    "profiles": "lock table private.profiles in access exclusive mode",
}
ADD_REFERRAL = (
    "select private.create_profile(gen_random_uuid(), 'x@locks.test', 'locks_test', 'x', %(member_profile)s)"
)
SUBSCRIBE = "select edge.subscribe_bot(%(member)s, gen_random_uuid(), 'Scout', 's', 'l', 1, 'k', 'secret')"
RENAME = "update public.profiles set display_name = 'Other' where user_id = %(member)s"
SUSPEND = "select public.update_member(%(member_profile)s, 'suspended', null, 'x')"
# What is done, as whom, and each lock that keeps it out.
WAITS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a deposit is decided": (
        "finance",
        "select public.decide_deposit(%(deposit)s, 'approve')",
        ("money", "member", "referrer", "earner"),
    ),
    "a withdrawal is decided": (
        "finance",
        "select public.decide_withdrawal(%(withdrawal)s, 'approve')",
        ("money", "earner"),
    ),
    "a correction is confirmed": (
        "finance",
        "select public.confirm_correction(%(correction)s)",
        ("money", "member", "referrer", "earner"),
    ),
    "a correction is discarded": (
        "finance",
        "select public.discard_correction(%(correction)s)",
        ("money",),
    ),
    "a repair of rows is proposed": (
        "super_admin",
        "select public.propose_correction('repair_rows', %(member_profile)s, null, 'x')",
        ("money", "member", "networks"),
    ),
    "entries are linked": ("owner", "select private.link_entries()", ("audit",)),
    "a partition is made": ("owner", "select jobs.prepare_audit_log()", ("audit",)),
    "bonuses are reconciled": ("owner", "select private.reconcile()", ("money",)),
    "counters are rebuilt": ("super_admin", "select public.rebuild_counters('x')", ("money", "networks")),
    "demo mode is left": ("super_admin", "select public.leave_demo()", ("money", "deposits", "withdrawals")),
    "a deposit is requested": (
        "member",
        "insert into public.deposits (id, amount, user_id) values (%(request)s, 50, %(member)s)",
        ("member", "request"),
    ),
    "a receipt is named": (
        "owner",
        "select private.check_receipt(%(member)s::uuid, %(receipt)s, true)",
        ("receipt",),
    ),
    "a receipt is removed": ("owner", "delete from storage.objects where name = %(receipt)s", ("receipt",)),
    "a withdrawal is requested": (
        "earner",
        "insert into public.withdrawals (id, user_id, amount, wallet_address)"
        " values (%(request)s, %(earner)s, 100, 'x')",
        ("earner", "request"),
    ),
    "a reference is added": (
        "member",
        "select public.add_deposit_reference(%(deposit)s, 'x')",
        ("member",),
    ),
    "a request is taken back": ("earner", "select public.cancel_request(%(withdrawal)s)", ("earner",)),
    "a name is changed": ("member", RENAME, ("member",)),
    "a member is suspended": ("finance", SUSPEND, ("member",)),
    "a member is restored": (
        "super_admin",
        "select public.restore_member(%(member_profile)s, 'x')",
        ("member",),
    ),
    "a setting is changed": (
        "super_admin",
        "select public.change_setting('risk.version', '\"2\"')",
        ("setting",),
    ),
    "an administrator is changed": (
        "super_admin",
        "select public.update_administrator(%(admin)s, 'Other Name', null, null)",
        ("administrators",),
    ),
    "an alarm is acknowledged": (
        "super_admin",
        "select public.acknowledge_alarm(%(alarm)s, 'x')",
        ("alarm",),
    ),
    "a request is checked": ("member", "select pre_request.check_request()", ("profiles",)),
    "an account is closed": ("owner", "select private.close_profile(%(member)s)", ("member",)),
    "a bot is subscribed": ("owner", SUBSCRIBE, ("member",)),
    "a bot is unsubscribed": ("owner", "select edge.unsubscribe_bot(%(member)s, 'Ranger')", ("member",)),
}

SUPPORT = Path(__file__).parents[1] / "support"
MAKE_READY = """
set local client_min_messages = warning;
alter table private.settings disable trigger user;
update private.settings as s set value = v.value
from (values
    ('operator.name', '"Operator"'::jsonb), ('operator.address', '"Street 1"'),
    ('operator.countries', '["EE"]'), ('support.email', '"help@operator.example"'),
    ('deposit.address', '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"'),
    ('terms.text', (select to_jsonb(string_agg('clause ' || n, ' ')) from generate_series(1, 60) as n)),
    ('risk.text', (select to_jsonb(string_agg('hazard ' || n, ' ')) from generate_series(1, 20) as n)),
    ('terms.version', '"1"'), ('risk.version', '"1"'), ('mail.ready', 'true'), ('wallet.strict', 'true'),
    ('site.url', '"https://operator.example"'), ('mail.server', '"mail.operator.example:587"')
) as v (key, value)
where s.key = v.key;
alter table private.settings enable trigger user;
update private.admin_users set totp_key_id = 'k', totp_secret = 'x', totp_confirmed_at = now();
update private.backup_state set reported_at = now(), database_at = now(), files_at = now(), proven_at = now();
select actors.join_as('ymir');
select actors.join_as('freya', 'ymir');
select actors.complete('freya');
"""


@dataclass(frozen=True)
class Scene:
    """People with requests that wait, and the values that statements name."""

    url: str
    values: dict[str, Any]
    claims: dict[str, tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def scene(
    stack: Stack,
    people: People,
    referrer: Member,
    finance: Administrator,
    super_admin: Administrator,
    owner: Owner,
) -> Scene:
    """Return an earner, a direct referral, and a referral of that one with a pending deposit."""
    earner = people.earner(referrer.profile_id, finance)
    above = people.member(earner.profile_id)
    member = people.member(above.profile_id)
    withdrawal = earner.insert("withdrawals", earner.withdrawal_row(100)).raise_for_status().json()[0]
    proposal = {"p_kind": "set_package", "p_target_id": member.profile_id, "p_value": 50, "p_reason": "locks"}
    correction = super_admin.rpc("propose_correction", proposal).raise_for_status().json()["correction"]
    deposit = member.deposit(50)
    # Over already, so that it warns nobody.
    alarm = owner.execute(
        "insert into private.alarms (kind, object, ended_at) values ('repair', 'locks', now()) returning id"
    ).fetchone()
    values = {
        "member": member.user_id,
        "member_profile": member.profile_id,
        "referrer": above.user_id,
        "earner": earner.user_id,
        "deposit": deposit["id"],
        "receipt": deposit["receipt_url"].split("/receipts/")[1],
        "withdrawal": withdrawal["id"],
        "request": str(uuid.uuid4()),
        "correction": correction["id"],
        "alarm": alarm["id"] if alarm else None,
        "admin": super_admin.admin_id,
        "other_admin": finance.admin_id,
        "session": super_admin.session_token,
    }
    claims: dict[str, tuple[str, dict[str, Any]]] = {"owner": ("none", {})}
    for name, administrator in (("finance", finance), ("super_admin", super_admin)):
        claims[name] = ("platform_admin", administrator.claims)
    for name, person in (("member", member), ("earner", earner)):
        claims[name] = ("authenticated", {"sub": person.user_id})
    return Scene(stack.values["DATABASE_ADMIN_URL"], values, claims)


@contextmanager
def held(scene: Scene, lock: str) -> Iterator[None]:
    """Hold this lock in another transaction."""
    with psycopg.connect(scene.url) as holder:
        holder.execute(lock, scene.values)
        yield
        holder.rollback()


@contextmanager
def impatient(scene: Scene, actor: str = "owner") -> Iterator[Owner]:
    """Yield a second transaction with a lock timeout of a quarter of a second, rolled back at its end."""
    role, claims = scene.claims[actor]
    with psycopg.connect(scene.url, row_factory=dict_row) as connection:
        connection.execute("set local lock_timeout = '250ms'")
        # As the storage service does before it removes a file.
        connection.execute("select set_config('storage.allow_delete_query', 'true', true)")
        connection.execute(
            "select set_config('request.jwt.claims', %s, true)",
            [json.dumps({**claims, "aud": "authenticated"})],
        )
        connection.execute("select set_config('role', %s, true)", [role])
        try:
            yield connection
        finally:
            connection.rollback()


def error_of(rejected: pytest.ExceptionInfo[psycopg.Error]) -> dict[str, Any]:
    """Return the code and text of an error."""
    assert rejected.value.sqlstate == "PGRST"
    return dict(json.loads(rejected.value.diag.message_primary or "{}"))


PAIRS = [(what, lock) for what, (_, _, locks) in WAITS.items() for lock in locks]


@pytest.mark.parametrize(
    ("what", "lock"), PAIRS, ids=[f"{what.replace(' ', '-')}-{lock}" for what, lock in PAIRS]
)
def test_what_waits_gets_try_again(scene: Scene, what: str, lock: str) -> None:
    actor, statement, _ = WAITS[what]
    with held(scene, LOCKS[lock]), impatient(scene, actor) as connection:
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute(statement, scene.values)
        assert (error_of(rejected)["code"], error_of(rejected)["message"]) == ("try_again", TRY_AGAIN)


@pytest.mark.parametrize(
    ("actor", "lock", "statement"),
    [
        pytest.param("owner", LOCKS["member"], ADD_REFERRAL, id="a-member-joins"),
        pytest.param(
            "owner",
            "select pg_advisory_xact_lock(private.lock_key('networks'))",
            "select jobs.roll_up_networks()",
            id="networks-are-rolled-up",
        ),
        pytest.param(
            "owner",
            "select pg_advisory_xact_lock(private.lock_key('networks'))",
            "select jobs.prepare_days()",
            id="a-partition-of-days-is-made",
        ),
        pytest.param(
            "owner",
            "select pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), hashtext(%(member)s))",
            "insert into storage.objects (bucket_id, name, owner_id)"
            " values ('receipts', %(member)s || '/1999999999.png', %(member)s)",
            id="a-receipt-is-stored",
        ),
    ],
)
def test_what_waits_times_out(scene: Scene, actor: str, lock: str, statement: str) -> None:
    with held(scene, lock), impatient(scene, actor) as connection:
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute(statement, scene.values)
        assert rejected.value.sqlstate == WAITED_IN_VAIN


@contextmanager
def acting(url: str, role: str, claims: dict[str, Any]) -> Iterator[Owner]:
    """Yield a transaction under these claims."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute(
            "select set_config('request.jwt.claims', %s, true), set_config('role', %s, true)",
            [json.dumps({**claims, "role": role, "aud": "authenticated"}), role],
        )
        yield connection


def meet(url: str, first: Owner, second: Owner, statement: str, values: dict[str, Any]) -> None:
    """Run the second session until it waits for the first, then commit the first.

    Raises:
        psycopg.Error: the second session's error.
    """
    with ThreadPoolExecutor(1) as pool, psycopg.connect(url, autocommit=True) as watch:
        waiting = pool.submit(second.execute, statement, values)
        query = "select cardinality(pg_blocking_pids(%s)) > 0"
        until = time.monotonic() + 20
        while not waiting.done() and time.monotonic() < until:
            if watch.execute(query, [second.info.backend_pid]).fetchone() == (True,):
                break
            time.sleep(0.02)
        first.commit()
        waiting.result()


@pytest.mark.threat("T26")
@pytest.mark.parametrize("table", ["deposits", "withdrawals"])
def test_of_two_members_with_one_id_the_second_gets_an_error(
    scene: Scene, member: Member, owner: Owner, table: str
) -> None:
    one = ("authenticated", {"sub": scene.values["earner"]})
    other = ("authenticated", {"sub": member.user_id})
    if table == "withdrawals":
        row = member.withdrawal_row(100)
        user = scene.values["earner"]
        values = ({**row, "user_id": user, "wallet_address": wallet_of(user)}, row)
        first_actor, second_actor = one, other
    else:
        row = member.deposit_row(50)
        values = (row, {**row, "user_id": scene.values["earner"]})
        first_actor, second_actor = other, one
    names = ", ".join(row)
    statement = f"insert into public.{table} ({names}) values (%({')s, %('.join(row)})s)"
    with acting(scene.url, *first_actor) as first, acting(scene.url, *second_actor) as second:
        first.execute(statement, values[0])
        with pytest.raises(psycopg.Error) as rejected:
            meet(scene.url, first, second, statement, values[1])
        second.rollback()
    assert error_of(rejected)["code"] == "duplicate_request"
    query = f"select user_id::text from public.{table} where id = %s"
    assert owner.execute(query, [row["id"]]).fetchall() == [{"user_id": values[0]["user_id"]}]
    query = "select count(*) as n from public.transactions where reference_id = %s"
    assert owner.execute(query, [row["id"]]).fetchone() == {"n": 1}


def test_two_super_admins_who_switch_each_other_off_leave_one(
    stack: Stack, people: People, owner: Owner
) -> None:
    one, other = people.administrator("super_admin"), people.administrator("super_admin")
    url = stack.values["DATABASE_ADMIN_URL"]
    switch_off = "select public.update_administrator(%(whom)s, null, null, false)"
    with (
        acting(url, "platform_admin", one.claims) as first,
        acting(url, "platform_admin", other.claims) as second,
    ):
        first.execute(switch_off, {"whom": other.admin_id})
        with pytest.raises(psycopg.Error) as rejected:
            meet(url, first, second, switch_off, {"whom": one.admin_id})
        second.rollback()
    assert error_of(rejected)["code"] == "session_ended"
    query = "select id::text, is_active from private.admin_users where id = any(%s::uuid[])"
    rows = owner.execute(query, [[one.admin_id, other.admin_id]]).fetchall()
    assert {row["id"]: row["is_active"] for row in rows} == {one.admin_id: True, other.admin_id: False}


@pytest.fixture
def ready_to_leave(stack: Stack) -> Iterator[str]:
    """Yield a database with the people of the pgTAP files and no demo, so that demo mode can be left."""
    with own_database(stack) as database:
        with psycopg.connect(database) as connection:
            connection.execute((SUPPORT / "actors.sql").read_text())
            connection.execute(MAKE_READY)
        yield database


def test_a_request_under_way_is_no_money_of_demo_mode_afterwards(ready_to_leave: str) -> None:
    with (
        psycopg.connect(ready_to_leave, row_factory=dict_row) as first,
        psycopg.connect(ready_to_leave, row_factory=dict_row) as second,
    ):
        first.execute("select actors.claims_deposit('freya', 50)")
        second.execute("select actors.act_as('olga')")
        with pytest.raises(psycopg.Error) as rejected:
            meet(ready_to_leave, first, second, "select public.leave_demo()", {})
        second.rollback()
        assert error_of(rejected)["code"] == "not_ready"
        assert error_of(rejected)["message"].startswith("There are deposits or withdrawals from demo mode.")
        row = first.execute(
            "select private.is_demo() as demo, (select count(*) from public.deposits) as deposits"
        ).fetchone()
        assert row == {"demo": True, "deposits": 1}


def test_without_a_request_under_way_demo_mode_ends(ready_to_leave: str) -> None:
    with psycopg.connect(ready_to_leave, row_factory=dict_row) as connection:
        connection.execute("select actors.act_as('olga')")
        connection.execute("select public.leave_demo()")
        connection.execute("select actors.act_as_owner()")
        assert connection.execute("select private.is_demo() as demo").fetchone() == {"demo": False}


READ_DAYS = "select count(*) from private.team_days, private.earning_days"
MAKE_DAYS = "select private.add_day_partition()"


@pytest.mark.parametrize(("first", "second"), [(READ_DAYS, MAKE_DAYS), (MAKE_DAYS, READ_DAYS)])
def test_no_chart_waits_while_days_get_a_partition(scene: Scene, first: str, second: str) -> None:
    with held(scene, first), impatient(scene) as connection:
        connection.execute(second.encode())


def test_a_repair_waits_for_the_member_whose_bonus_is_wrong(scene: Scene) -> None:
    with held(scene, LOCKS["earner"]), impatient(scene) as connection:
        connection.execute("set local session_replication_role = replica")
        connection.execute(
            "update public.bonuses set amount = amount * 2, volume = volume * 2"
            " where user_id = %(earner)s and bonus_type = 'pairing'",
            scene.values,
        )
        connection.execute("set local session_replication_role = origin")
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute("select private.reconcile()")
        assert rejected.value.sqlstate == "PGRST"


def test_a_rebuild_waits_for_the_member_whose_sums_differ(scene: Scene) -> None:
    with held(scene, LOCKS["earner"]), impatient(scene) as connection:
        connection.execute("set local session_replication_role = replica")
        connection.execute(
            "update private.totals set referral_count = 9 where user_id = %(earner)s", scene.values
        )
        connection.execute("set local session_replication_role = origin")
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute("select private.rebuild_sums()")
        assert rejected.value.sqlstate == "PGRST"


def test_the_disclosure_is_published_by_one(scene: Scene) -> None:
    with held(scene, LOCKS["disclosure"]), impatient(scene) as connection:
        connection.execute("set local session_replication_role = replica")
        connection.execute("delete from private.income_disclosures")
        with pytest.raises(psycopg.Error) as rejected:
            connection.execute("select jobs.publish_disclosure()")
        assert rejected.value.sqlstate == WAITED_IN_VAIN


def test_a_second_reconcile_leaves_it_to_the_first(scene: Scene) -> None:
    with held(scene, LOCKS["reconcile"]), impatient(scene) as connection:
        connection.execute("select nextval('private.bonus_revision_seq')")
        connection.execute("update private.reconcile_state set ran_at = null")
        connection.execute("select private.reconcile_if_stale()")
        row = connection.execute("select ran_at from private.reconcile_state").fetchone()
        assert row == {"ran_at": None}


def test_a_second_run_of_the_sweep_leaves_it_to_the_first(scene: Scene) -> None:
    with held(scene, LOCKS["ledger_check"]), impatient(scene) as connection:
        connection.execute("select private.check_ledger_in_parts()")
        assert not connection.execute("select from private.ledger_slices").fetchall()


def test_a_second_long_check_of_everything_leaves_it_to_the_first(scene: Scene) -> None:
    with held(scene, LOCKS["ledger_check"]), impatient(scene) as connection:
        connection.execute(
            "update private.ledger_check_state set check_duration = '1 minute', checked_at = '2026-01-01'"
        )
        connection.execute("select private.check_whole_ledger()")
        assert connection.execute(
            "select from private.ledger_check_state where checked_at = '2026-01-01'"
        ).fetchall()


def test_mail_that_another_worker_holds_is_skipped(scene: Scene, owner: Owner) -> None:
    mail = "private.outbox where recipient = 'locks@example.com'"
    # Not due before it is held: the stack's own worker looks for mail too.
    owner.execute(
        "insert into private.outbox (template, recipient, next_attempt_at)"
        " values ('lock_test', 'locks@example.com', clock_timestamp() + interval '300 ms')"
    )
    with held(scene, f"select 1 from {mail} for update"), impatient(scene) as connection:
        time.sleep(0.35)
        claimed = connection.execute("select recipient from jobs.lease_mail(1000)").fetchall()
        assert {"recipient": "locks@example.com"} not in claimed
    owner.execute(f"delete from {mail}")


def test_earnings_that_another_worker_notifies_of_are_left_to_it(scene: Scene) -> None:
    lock = "select 1 from private.earnings_state for update"
    with held(scene, lock), impatient(scene) as connection:
        assert connection.execute("select jobs.notify_earnings() as sent").fetchone() == {"sent": 0}


def test_a_session_touch_in_progress_is_not_waited_for(scene: Scene, owner: Owner) -> None:
    owner.execute(
        "update private.admin_session_activity set last_seen_at = now() - interval '5 minutes'"
        " where session_token = %(session)s",
        scene.values,
    )
    lock = "select 1 from private.admin_session_activity where session_token = %(session)s for update"
    with held(scene, lock), impatient(scene, "super_admin") as connection:
        connection.execute("select pre_request.check_request()")


def test_the_value_before_is_what_was_there_when_the_setting_changed(scene: Scene, owner: Owner) -> None:
    change = "select public.change_setting('risk.version', %s::jsonb)"
    with psycopg.connect(scene.url) as first, ThreadPoolExecutor(1) as pool:
        first.execute("update private.settings set value = '\"first\"' where key = 'risk.version'")

        def second() -> Any:
            with impatient(scene, "super_admin") as connection:
                connection.execute("set local lock_timeout = '20s'")
                connection.execute(change, ['"second"'])
                connection.execute("select set_config('role', 'none', true)")
                query = (
                    "select payload ->> 'before' as before from private.audit_log"
                    " where action = 'setting.changed' and payload ->> 'key' = 'risk.version'"
                    " order by id desc limit 1"
                )
                return connection.execute(query).fetchone()

        waiting = pool.submit(second)
        behind = "select 1 from pg_stat_activity where %s = any (pg_blocking_pids(pid))"
        while not owner.execute(behind, [first.info.backend_pid]).fetchone():
            assert not waiting.done(), "nobody waited"
            time.sleep(0.01)
        first.commit()
        assert waiting.result() == {"before": '"first"'}
    owner.execute("update private.settings set value = 'null' where key = 'risk.version'")
    owner.execute("select private.audit_setting('system', 'risk.version')")
