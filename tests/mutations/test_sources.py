"""Every guard of the services and the gateway is in the list, and a sample of mutants is killed.

The whole list takes half an hour: `make mutations`.
"""

import re
import subprocess
import sys

import pytest

from tests.mutations import run, services, sources
from tests.mutations.run import Row

SAMPLE = 20


def _assigned() -> list[Row]:
    return run.assigned(sources.read(), run.listed(services.LIST))


def test_the_list_names_every_guard_and_nothing_else() -> None:
    wrong = run.difference(sources.read(), run.listed(services.LIST), services.LIST)
    assert not wrong, "\n".join([*wrong, "Each new guard needs a test: make mutations FIND=1"])


def test_a_moved_line_keeps_its_row_and_a_changed_one_is_offered_its_new_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after = "the server closed the connection", "the server ended the connection"
    modules = dict(sources._modules())
    text = modules.pop("functions/core/database.py")

    def wrong_with(text: str) -> list[str]:
        monkeypatch.setattr(sources, "_modules", lambda: modules | {"functions/core/moved.py": text})
        return run.difference(sources.read(), run.listed(services.LIST), services.LIST)

    assert wrong_with(text) == []
    unlisted, former = wrong_with(text.replace(before, after))
    assert f"no test kills: raise OperationalError('{after}')" in unlisted
    assert before in former
    assert after in former.partition("begins with: ")[2]


def test_each_row_names_a_test() -> None:
    named = {row.test for row in _assigned() if row.test}
    files = sorted({test.split("::")[0] for test in named})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files]
    collected = subprocess.run(command, cwd=sources.ROOT, text=True, capture_output=True, check=True).stdout
    # Some rows name a file, or a test with all its parameters.
    known = {*collected.splitlines(), *files, *re.findall(r"^(.*?)\[", collected, re.MULTILINE)}
    assert sorted(named - known) == []


def test_a_sample_of_mutants_is_killed() -> None:
    """Some of the list, spread over it."""
    tested = [row for row in _assigned() if row.test]
    rows = tested[:: len(tested) // SAMPLE][:SAMPLE]
    known = {guard.name: guard for guard in sources.read()}
    assert {row.guard: failure for row, failure in services.run_rows(known, rows) if failure} == {}


def test_a_mutant_without_a_test_survives() -> None:
    """The run itself: an unrelated test stays green without the guard."""
    known = {guard.name: guard for guard in sources.read()}
    name = next(guard.name for guard in sources.read() if guard.path.startswith("functions/auth"))
    row = Row(name, "tests/api/test_token_verifier.py", "")
    assert [failure for _, failure in services.run_rows(known, [row])] == ["still green"]
