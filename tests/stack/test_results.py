"""`make test`'s table: what failed is named with what it said, by each of the suites' own reports."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner import results

TESTS = """
import pytest

def test_right():
    pass

def test_wrong():
    owed = 249.99
    assert owed == 250, "a cent is missing"

@pytest.mark.skip
def test_left_out():
    pass

@pytest.fixture
def broken():
    raise RuntimeError("no stack")

def test_without_stack(broken):
    pass
"""

# As Playwright writes it; the colours of a terminal are none of XML's characters.
BROWSER = """<testsuites tests="2" failures="1">
<testsuite name="journeys/pages.spec.ts" tests="2" failures="1">
<testcase name="every page logs no error" classname="journeys/pages.spec.ts" time="44.7">
<failure message="pages.spec.ts:47:5 every page logs no error" type="FAILURE">
<![CDATA[  [chromium] journeys/pages.spec.ts:47:5 every page logs no error

    Error: /admin/users in dark

    expect(received).toEqual(expected) // deep equality
]]>
</failure>
</testcase>
<testcase name="every page fits" classname="journeys/pages.spec.ts" time="24.8"/>
<testcase name="every page prints" classname="journeys/pages.spec.ts" time="3.1">
<flakyFailure message="Error: element(s) not found" type="FAILURE" time="15">
<stackTrace>
<![CDATA[Error: expect(locator).toBeVisible() failed
    at /journeys/pages.spec.ts:51:7]]>
</stackTrace>
<system-out><![CDATA[
[[ATTACHMENT|prints/test-failed-1.png]]

[[ATTACHMENT|prints/error-context.md]]
]]></system-out>
</flakyFailure>
</testcase>
</testsuite>
</testsuites>
"""

PGTAP = """<testsuites><testsuite name="pytest" tests="2">
<testcase classname="tests.db.test_pgtap" name="test_file[deposits]" time="3.4">
<properties><property name="assertions" value="40"/></properties>
</testcase>
<testcase classname="tests.db.test_pgtap" name="test_file[members]" time="1.2">
<properties><property name="assertions" value="25"/></properties>
<failure message="AssertionError">E   AssertionError: not ok 7 - a stranger sees none</failure>
</testcase>
</testsuite></testsuites>
"""


def test_a_failure_of_pytest_is_shown_with_its_text(tmp_path: Path) -> None:
    (tmp_path / "test_money.py").write_text(TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "test_money.py", f"--junitxml={report}"]
    code = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode
    counts = results.of_junit(report, code)
    assert (counts.passed, counts.failed, counts.skipped) == (1, 2, 1)
    wrong, without = counts.failures
    assert wrong.splitlines()[0] == "test_money: test_wrong"
    assert "a cent is missing" in wrong
    assert "assert 249.99 == 250" in wrong
    assert without.splitlines()[0] == "test_money: test_without_stack"
    assert "RuntimeError: no stack" in without


def test_a_failure_in_the_browser_is_shown_with_its_text(tmp_path: Path) -> None:
    report = tmp_path / "browser.xml"
    report.write_text(BROWSER)
    (tmp_path / "prints").mkdir()
    (tmp_path / "prints" / "error-context.md").write_text(
        "# Error details\n\n```\nError: element(s) not found\n```\n\n```yaml\n"
        '- generic:\n  - generic [aria-hidden]:\n    - link "Behind it"\n      - text: Home\n'
        '  - dialog "Sign in"\n```\n'
    )
    counts = results.of_junit(report, 1)
    assert (counts.passed, counts.failed) == (2, 1)
    assert "journeys/pages.spec.ts: every page logs no error" in counts.failures[0]
    assert "Error: /admin/users in dark" in counts.failures[0]
    [flaky] = counts.flaky
    assert flaky.splitlines()[:2] == [
        "journeys/pages.spec.ts: every page prints",
        "Error: expect(locator).toBeVisible() failed",
    ]
    assert flaky.splitlines()[-2:] == ["- generic:", '  - dialog "Sign in"']


def test_a_suite_that_crashed_is_a_failure(tmp_path: Path) -> None:
    assert results.of_junit(tmp_path / "none.xml", 3) == results.Counts(
        0, 1, 0, ("It ended with status 3 and left no report.",)
    )
    passing = tmp_path / "passing.xml"
    passing.write_text('<testsuites><testcase classname="a" name="b"/></testsuites>')
    died = results.of_junit(passing, 2)
    assert (died.passed, died.failures) == (1, ("It ended with status 2 after its last test.",))
    assert results.of_junit(passing, 0).failed == 0


def test_a_pgtap_file_counts_as_its_assertions(tmp_path: Path) -> None:
    report = tmp_path / "pgtap.xml"
    report.write_text(PGTAP)
    counts = results.of_junit(report, 1)
    assert (counts.passed, counts.failed) == (64, 1)
    assert "not ok 7 - a stranger sees none" in counts.failures[0]
    assert counts.seconds[0] == (3.4, "tests.db.test_pgtap: test_file[deposits]")


def test_the_table_names_what_was_slow(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = tuple((float(n), f"test_{n}") for n in range(30))
    assert results.print_table([results.Result("Money", results.Counts(30, 0, seconds=seconds), 9)])
    lines = capsys.readouterr().out.splitlines()
    slowest = lines[lines.index("  slowest tests") + 1 :][: results.SLOWEST]
    assert [line.split()[-1] for line in slowest] == [f"test_{n}" for n in range(29, 9, -1)]


def test_the_table_names_what_failed_and_a_run_of_nothing_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    money = results.Result("Money", results.Counts(92, 1, 0, ("test_pairs\nassert 1 == 2",)), 4.2)
    faults = results.Result("Faults", results.Counts(10, 0), 1)
    assert not results.print_table([money, faults])
    printed = capsys.readouterr().out
    assert "  FAILED in Money\n    test_pairs\n    assert 1 == 2\n" in printed
    assert printed.endswith("\n102 passed, 1 failed, 0 skipped\n")
    assert results.print_table([faults])
    late = results.Result("Browser", results.Counts(4, 0, flaky=("a page prints\nnot found",)), 9)
    assert results.print_table([late])
    printed = capsys.readouterr().out
    assert "  FLAKY in Browser, passed when tried again\n    a page prints\n    not found\n" in printed
    assert printed.endswith("\n4 passed, 0 failed, 0 skipped, 1 flaky\n")
    assert not results.print_table([faults, results.Result("Guards", results.Counts(0, 0), 1)])
