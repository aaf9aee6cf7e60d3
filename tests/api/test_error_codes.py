"""sql/README.md lists exactly the error codes that SQL raises, with their status."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RAISED = re.compile(r"raise_error\(\s*(\d{3}),\s*'([a-z0-9_]+)'")
# Errors of the hook are values with one status.
OF_THE_HOOK = re.compile(r"sign_up_error\('([a-z0-9_]+)'")
ROW = re.compile(r"^\| (`[^|]+`) \| ([0-9, ]+) \| [^|]+ \|$", re.MULTILINE)
# Chosen by an expression, which the pattern cannot read.
COMPUTED = {"invalid_username": {"400"}}


def test_the_table_of_codes_is_complete_and_true() -> None:
    raised: dict[str, set[str]] = {code: set(statuses) for code, statuses in COMPUTED.items()}
    for file in sorted((ROOT / "sql" / "schema").glob("*.sql")):
        source = file.read_text()
        for status, code in RAISED.findall(source):
            raised.setdefault(code, set()).add(status)
        for code in OF_THE_HOOK.findall(source):
            raised.setdefault(code, set()).add("400")
    explained: dict[str, set[str]] = {}
    for codes, statuses in ROW.findall((ROOT / "sql" / "README.md").read_text()):
        for code in re.findall(r"`([a-z0-9_]+)`", codes):
            explained[code] = set(statuses.replace(" ", "").split(","))
    assert raised == explained
