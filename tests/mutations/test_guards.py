"""Every guard is in the list, every error is raised and its text tested, and a sample of mutants is killed.

The whole list takes minutes: `make mutations`.
"""

import re
from pathlib import Path

import pytest

from tests.mutations import coverage, guards, run, services, sources
from tests.mutations.run import Row
from tests.support.stack import Stack

# Money first: what one line less would cost at once.
SAMPLE = (
    "call private.credit_deposit in public.decide_deposit(uuid,text,text,numeric)",
    "condition: pending withdrawals reserve the balance",
    "policy: public.withdrawals insert_own",
    "error insufficient_available_balance in private.check_payable(public.withdrawals,private.profiles)",
    "error reference_used in private.deposits_credit_once()",
)
# A lock that is not free needs a second connection: tests/api/test_locks.py, test_rpc_limits.py,
# test_table_locks.py.
RAISED_WHEN_LOCKED = {
    "pre_request.check_request()",
    "private.lock_audit_log()",
    "private.lock_member(uuid)",
    "private.lock_members(uuid[])",
    "private.lock_money()",
    "private.lock_receipt(text)",
    "private.lock_request(uuid)",
    "private.lock_requests()",
    "private.lock_sums()",
    "private.restore_rows(uuid)",
    "private.take_place(text)",
    "public.acknowledge_alarm(uuid,text)",
    "public.change_setting(text,jsonb)",
    "public.update_administrator(uuid,text,text,boolean)",
}


@pytest.fixture(scope="module")
def url() -> str:
    """Return the superuser URL of the stack's database."""
    return Stack.read().values["DATABASE_ADMIN_URL"]


def test_the_list_names_every_guard_and_nothing_else(url: str) -> None:
    wrong = run.difference(run.guards_of(url), run.listed())
    assert not wrong, "\n".join([*wrong, "Each new guard needs a test: make mutations FIND=1"])


def test_every_test_that_is_named_exists(url: str) -> None:
    rows = [
        *run.assigned(run.guards_of(url), run.listed()),
        *run.assigned(sources.read(), run.listed(services.LIST)),
    ]
    tests = [row.test for row in rows]
    named = {match for test in tests for match in re.findall(r"(tests/[\w/]+\.\w+)((?:::\w+)*)", test)}
    assert len(named) > 100
    assert [test for test in sorted(named) if not _exists(*test)] == []


def _exists(file: str, names: str) -> bool:
    path = run.ROOT / file
    text = path.read_text() if path.exists() else None
    wanted = names.split("::")[1:]
    return text is not None and all(re.search(rf"(def|class) {name}\b", text) for name in wanted)


def test_a_sample_of_mutants_is_killed(url: str) -> None:
    rows = [row for row in run.assigned(run.guards_of(url), run.listed()) if row.guard in SAMPLE]
    assert {row.guard for row in rows} == set(SAMPLE)
    known = {guard.name: guard for guard in run.guards_of(url)}
    assert {row.guard: failure for row, failure in run.run_rows(known, rows, url) if failure} == {}


def test_a_mutant_without_a_test_survives(url: str) -> None:
    """The run itself: an unrelated file stays green without the guard."""
    name = "trigger: public.withdrawals _100_immutable"
    known = {guard.name: guard for guard in run.guards_of(url)}
    row = Row(name, "tests/db/lessons.sql", "")
    assert [failure for _, failure in run.run_rows(known, [row], url)] == ["still green"]


def test_every_error_is_raised() -> None:
    statements = coverage.measured()
    errors = [s for s in statements if s.source.startswith("perform private.raise_")]
    assert len(errors) > 100
    assert [s for s in errors if not s.ran and s.function not in RAISED_WHEN_LOCKED] == []


def test_every_sentence_stands_in_a_test(url: str) -> None:
    files = [*Path(run.ROOT / "tests/db").glob("*.sql"), *Path(run.ROOT / "tests/api").glob("*.py")]
    tests = "\n".join(file.read_text().replace("''", "'") for file in files)
    with run.catalogue_of(url) as connection:
        texts = list(guards.sentences(connection))
    assert len(texts) > 100
    patterns = {sentence: re.escape(sentence).replace("%s", ".+") for _, sentence in texts}
    assert [(name, s) for name, s in texts if not re.search(patterns[s], tests)] == []
