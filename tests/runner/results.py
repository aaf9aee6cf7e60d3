"""The results of a test run: counted from the suites' JUnit reports and shown in one table at the end."""

import re
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Of each failure what was expected and what came; the whole traceback stands further up.
SHOWN_LINES = 12
SHOWN_PAGE = 40
SHOWN_WIDTH = 200
SLOWEST = 20


@dataclass(frozen=True)
class Counts:
    """How many tests passed, failed and were skipped; each failure's name and text; seconds by test.

    `flaky` has name and text of what passed at its second try only.
    """

    passed: int
    failed: int
    skipped: int = 0
    failures: tuple[str, ...] = ()
    seconds: tuple[tuple[float, str], ...] = ()
    flaky: tuple[str, ...] = ()

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
            self.seconds + other.seconds,
            self.flaky + other.flaky,
        )


@dataclass(frozen=True)
class Result:
    """The result of one suite."""

    title: str
    counts: Counts
    seconds: float


def of_junit(report: Path, code: int) -> Counts:
    """Read a JUnit report; a suite that died counts as one failure.

    A test with a property `assertions` counts as many: a pgTAP file is one test of pytest's.
    """
    if not report.exists():
        return Counts(0, 1, failures=(f"It ended with status {code} and left no report.",))
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = sum(case.find("skipped") is not None for case in cases)
    failures = [text for case in cases if (text := _failure(case, report, "failure", "error"))]
    flaky = [text for case in cases if (text := _failure(case, report, "flakyFailure", "flakyError"))]
    seconds = tuple((float(case.get("time") or 0), _name(case)) for case in cases)
    passed = sum(_assertions(case) for case in cases) - skipped - len(failures)
    if code and not failures:
        failures = [f"It ended with status {code} after its last test."]
    return Counts(passed, len(failures), skipped, tuple(failures), seconds, tuple(flaky))


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}: {case.get('name')}"


def _assertions(case: ElementTree.Element) -> int:
    values = (p.get("value") or "1" for p in case.iter("property") if p.get("name") == "assertions")
    return int(next(values, "1"))


def _page(case: ElementTree.Element, report: Path) -> list[str]:
    """Return what the browser showed when a journey failed first: its beginning, or what covers it."""
    named = re.search(r"\[\[ATTACHMENT\|(.+?error-context\.md)\]\]", "".join(case.itertext()))
    context = report.parent / named[1] if named else None
    if context is None or not context.exists():
        return []
    page = re.search(r"```yaml\n(.*?)```", context.read_text(), re.DOTALL)
    if page is None:
        return []
    # What a dialog or an open menu covers is hidden, with all that is indented below it.
    shown = re.sub(r"^( *).*\[aria-hidden\].*\n(?:\1 +.*\n)*", "", page[1], flags=re.MULTILINE)
    return shown.splitlines()[:SHOWN_PAGE]


def _failure(case: ElementTree.Element, report: Path, *tags: str) -> str:
    """Return the name of a test that failed in one of these ways and what says why; else nothing."""
    found = [part for part in case if part.tag in tags]
    if not found:
        return ""
    text = "\n".join(
        "".join(part.itertext()).partition("[[ATTACHMENT")[0].strip() or part.get("message") or ""
        for part in found
    )
    lines = [line.rstrip()[:SHOWN_WIDTH] for line in text.splitlines() if line.strip()]
    # Of a traceback pytest marks the lines that say what was wrong.
    marked = [line[1:] for line in lines if re.match(r"E\s", line)]
    return "\n".join([_name(case), *(marked or lines)[:SHOWN_LINES], *_page(case, report)])


def print_table(results: Sequence[Result]) -> bool:
    """Print the summary, and below it what was slow and what failed.

    Returns whether everything passed and every suite ran a test.
    """
    total = Counts(0, 0)
    print(f"\n  {'suite':24}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>9}")
    for result in results:
        counts = result.counts
        total += counts
        print(
            f"  {result.title:24}{counts.passed:8}{counts.failed:8}{counts.skipped:9}{result.seconds:7.0f} s"
        )
    slowest = sorted(total.seconds, reverse=True)[:SLOWEST]
    print("\n  slowest tests" if slowest else "")
    for seconds, name in slowest:
        print(f"  {seconds:7.1f} s  {name[:SHOWN_WIDTH]}")
    for result in results:
        for failure in result.counts.failures:
            print(f"\n  FAILED in {result.title}\n{textwrap.indent(failure, '    ')}")
        for failure in result.counts.flaky:
            print(f"\n  FLAKY in {result.title}, passed when tried again\n{textwrap.indent(failure, '    ')}")
    flaky = f", {len(total.flaky)} flaky" if total.flaky else ""
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped{flaky}", flush=True)
    return total.failed == 0 and all(result.counts.passed for result in results)
