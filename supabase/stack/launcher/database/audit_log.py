"""`make audit-log-check`: compares what a log says of the audit log with what the database has.

The services log each entry that an administrator's decision wrote, by id and hash, and the worker each new
head of the chain. Whoever cuts the end of both in the database does not reach a log that was copied
elsewhere.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launcher.database.schema import Database
from launcher.terminal import Stop


@dataclass
class Named:
    """Every hash that a log names: of entries by id, and of links of the chain by number."""

    entries: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    links: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))


def read(log: Path) -> Named:
    """Return what the JSON lines of a log name; other lines are skipped.

    Raises:
        Stop: there is no such file.
    """
    if not log.is_file():
        raise Stop("Name a log: make audit-log-check LOG=.stack/logs/edge.log")
    named = Named()
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in _objects(file):
            for entry in line.get("audit_entries") or []:
                named.entries[entry["id"]].add(entry["hash"])
            if head := line.get("audit_head"):
                named.links[head["seq"]].add(head["hash"])
    return named


def _objects(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if '"audit_' in line:
            try:
                value = json.loads(line[line.index("{") :])
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def differences(database: Database, named: Named) -> list[str]:
    """Return in words which of the entries and links are missing or different in the database.

    A number with two hashes in the log is itself a finding: one was cut off, and another one written.
    """
    stored = {
        "entry": (named.entries, "select id, encode(hash, 'hex') from private.audit_log"),
        "link": (named.links, "select seq, encode(hash, 'hex') from private.audit_chain"),
    }
    found = list[str]()
    for noun, (said, query) in stored.items():
        there: dict[int, str] = dict(database.rows(query))
        for number, digests in sorted(said.items()):
            if len(digests) > 1:
                found.append(f"{noun} {number} has {len(digests)} different hashes in the log")
            elif there.get(number) not in digests:
                found.append(f"{noun} {number} is {'different' if number in there else 'missing'}")
    return found
