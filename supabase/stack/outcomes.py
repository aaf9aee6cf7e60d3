"""What the suites of a test run came to: counted from their reports, and told in one table at the end."""

import re
import textwrap
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

# Of each failure as much as says what was expected and what came; the whole stands further up.
TOLD_LINES = 12
TOLD_WIDTH = 200


@dataclass(frozen=True)
class Counts:
    """How many tests passed, failed and were skipped; and each failure's name and what it said."""

    passed: int
    failed: int
    skipped: int = 0
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What one suite came to."""

    title: str
    counts: Counts
    seconds: float


def of_junit(report: Path, code: int) -> Counts:
    """Read a JUnit report; a suite that died counts as one failure."""
    if not report.exists():
        return Counts(0, 1, failures=(f"It ended with status {code} and left no report.",))
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    failures = [told for case in cases if (told := _told(case))]
    if code and not failures:
        failures = [f"It ended with status {code} after its last test."]
        return Counts(len(cases) - skipped, 1, skipped, tuple(failures))
    return Counts(len(cases) - len(failures) - skipped, len(failures), skipped, tuple(failures))


def _told(case: ElementTree.Element) -> str:
    """A failing test's name and the lines that say why; nothing of one that passed."""
    found = [part for part in case if part.tag in ("failure", "error")]
    if not found:
        return ""
    said = "\n".join(part.text or part.get("message") or "" for part in found)
    lines = [line.rstrip()[:TOLD_WIDTH] for line in said.splitlines() if line.strip()]
    # Of a traceback pytest marks the lines that say what was wrong.
    marked = [line[1:] for line in lines if re.match(r"E\s", line)]
    return "\n".join([f"{case.get('classname')}: {case.get('name')}", *(marked or lines)[:TOLD_LINES]])


def of_pg_prove(output: str, code: int) -> Counts:
    """Read what pg_prove printed; one that died counts as one failure."""
    total = re.search(r"Tests=(\d+)", output)
    broken = re.findall(r"^(\S+)\s+\(Wstat.*Tests: \d+ Failed: (\d+)\)(?:\n  (Failed test.*))?", output, re.M)
    failed = sum(int(count) for _, count, _ in broken)
    failures = [f"{file}\n{tests}".strip() for file, _, tests in broken]
    if code and not failed:
        failed, failures = 1, [*failures, f"It ended with status {code}."]
    return Counts(max(int(total[1]) - failed, 0) if total else 0, failed, failures=tuple(failures))


def print_table(outcomes: list[Outcome]) -> bool:
    """The one summary, and below it what failed; returns whether everything passed and something ran."""
    print(f"\n  {'suite':24}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>9}")
    for outcome in outcomes:
        counts = f"{outcome.counts.passed:8}{outcome.counts.failed:8}{outcome.counts.skipped:9}"
        print(f"  {outcome.title:24}{counts}{outcome.seconds:7.0f} s")
    for outcome in outcomes:
        for failure in outcome.counts.failures:
            print(f"\n  FAILED in {outcome.title}\n{textwrap.indent(failure, '    ')}")
    passed, failed, skipped = (
        sum(getattr(o.counts, name) for o in outcomes) for name in ("passed", "failed", "skipped")
    )
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return failed == 0 and all(outcome.counts.passed for outcome in outcomes)
