"""Every guard of the services and the gateway is in the list, and a sample of mutants is killed.

The whole list takes half an hour: `make mutations`.
"""

from tests.mutations import run, services, sources
from tests.mutations.run import Row

SAMPLE = 20


def test_the_list_names_every_guard_and_nothing_else() -> None:
    wrong = run.difference([guard.name for guard in sources.read()], run.listed(services.LIST), services.LIST)
    assert not wrong, "\n".join([*wrong, "Each new guard needs a test: make mutations FIND=1"])


def test_a_sample_of_mutants_is_killed() -> None:
    """Some of the list, spread over it."""
    tested = [row for row in run.listed(services.LIST) if row.test]
    rows = tested[:: len(tested) // SAMPLE][:SAMPLE]
    known = {guard.name: guard for guard in sources.read()}
    assert {row.guard: failure for row, failure in services.run_rows(known, rows) if failure} == {}


def test_a_mutant_without_a_test_survives() -> None:
    """The run itself: an unrelated test stays green without the guard."""
    known = {guard.name: guard for guard in sources.read()}
    name = next(row.guard for row in run.listed(services.LIST) if row.test and "functions/auth" in row.guard)
    row = Row(name, "tests/api/test_token_verifier.py", "")
    assert [failure for _, failure in services.run_rows(known, [row])] == ["still green"]
