"""Every guard of the database, read from the live catalogue, each with the SQL that removes it.

A guard keeps its name while its text changes. Its mutant is killed by the test of its kind or its noun, by
the one that its edit names, or by that of its row in guards.csv.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from tests.mutations.nearest import nearest
from tests.support.pgtap import SCHEMAS

ROOT = Path(__file__).parents[2]
TESTS = "tests/db/{}.sql"
# The file that tests each kind of guard, whatever its noun.
OF_KIND = {
    "ledger rule": "ledger_checks",
    "constraint": "constraints",
    "missing grant": "authz_matrix",
    "row security": "roles",
    "unique index": "constraints",
}
# What a schema file makes: 140_deposits.sql makes public.deposits, and tests/db/deposits.sql tests it.
MADE = re.compile(r"^create (?:table|view|function|domain|type) (\w+\.\w+)", re.MULTILINE)
ABOUT = (re.compile(r" in (\w+\.\w+)"), re.compile(r"(\w+\.\w+)"))

EDITS = Path(__file__).parent / "edits.toml"
CATALOGUE = Path(__file__).with_name("catalogue.sql")
# The source is the part of a definition that is searched: of a view all of it.
DEFINITIONS = """
    select p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.prosrc
    from pg_proc as p inner join pg_language as l on l.oid = p.prolang and l.lanname in ('plpgsql', 'sql')
    where p.pronamespace::regnamespace::text = any(%(schemas)s) and p.prokind = 'f'
        and not exists (select 1 from pg_depend as d where d.objid = p.oid and d.deptype = 'e')
    union all
    select c.oid::regclass::text,
        format('create or replace view %%s %%s as %%s', c.oid::regclass,
            'with (' || array_to_string(c.reloptions, ', ') || ')', pg_get_viewdef(c.oid)),
        pg_get_viewdef(c.oid)
    from pg_class as c where c.relnamespace::regnamespace::text = any(%(schemas)s) and c.relkind = 'v'
    order by 1"""
STATEMENT = re.compile(r"\bperform (?P<function>[a-z_]+\.[a-z_]+)\(")
LITERAL = re.compile(r"'((?:[^']|'')*)'")
SENTENCE = re.compile(r"(?:%s|[A-Z][a-z]*) ")
ROW_LOCK = re.compile(r" for (?:no key )?update(?: skip locked)?")
MEMBER_LOCK = re.compile(r"private\.lock_member\(")
ROLES = re.compile(r"array\[('[a-z_]+'(?:, )?)+\]::public\.admin_role\[\]")
# Questions of the ledger checks: each is left out once, by its rule or by what it compares.
QUESTIONS = (
    "private.ledger_violations",
    "private.member_violations(private.ledger_part,uuid[])",
    "private.balance_violations(private.ledger_part)",
    "private.journal_violations(private.ledger_part)",
    "private.bonus_violations(private.ledger_part)",
    "private.request_violations(private.ledger_part)",
    "private.place_violations(private.ledger_part)",
    "private.network_violations(private.ledger_part,private.ledger_part,private.ledger_part)",
    "private.sum_violations()",
    "private.standing_violations()",
    "private.due_audit_entries",
    "private.audit_discrepancies(uuid[])",
)
RULE = re.compile(r"'(I\d\d)'|\bfrom \(*(private\.[a-z_]+)", re.IGNORECASE)
EVERY_ROLE = "array['super_admin', 'finance_admin', 'support_admin']::public.admin_role[]"


@dataclass(frozen=True)
class Guard:
    """One guard: its name, the SQL that removes it and, for tests of the stack, the SQL that restores it.

    With the test that kills its mutant if no row says otherwise, or the reason why none can.
    """

    name: str
    removal: str
    restore: str = ""
    test: str = ""
    reason: str = ""


def usual_test(kind: str, about: str) -> str:
    """Return the pgTAP file of this kind of guard, or of the noun that it is about; empty without one."""
    named = next((found[1] for pattern in ABOUT if (found := pattern.search(about))), "")
    file = TESTS.format(OF_KIND.get(kind) or _nouns().get(named, ""))
    return file if (ROOT / file).exists() else ""


@cache
def _nouns() -> Mapping[str, str]:
    """Return the noun of each table and function: a schema file without a test continues the noun before."""
    nouns: dict[str, str] = {}
    noun = ""
    for file in sorted((ROOT / "sql" / "schema").glob("*.sql")):
        own = file.stem.partition("_")[2]
        noun = own if (ROOT / TESTS.format(own)).exists() else noun
        nouns |= dict.fromkeys(MADE.findall(file.read_text()), noun)
    return nouns


def read(connection: psycopg.Connection[Any]) -> list[Guard]:
    """Return every guard of the database, ordered by name."""
    found = [
        *_objects(connection),
        *_in_functions(connection),
        *_ledger_rules(connection),
        *_edits(connection),
    ]
    return sorted(found, key=lambda guard: guard.name)


def _objects(connection: psycopg.Connection[Any]) -> Iterator[Guard]:
    for kind, name, removal, restore in connection.execute(CATALOGUE.read_text()):
        yield Guard(f"{kind}: {name}", removal, restore, usual_test(kind, name))


def _definitions(connection: psycopg.Connection[Any]) -> dict[str, tuple[str, str]]:
    rows = connection.execute(DEFINITIONS, {"schemas": list(SCHEMAS)})
    return {name: (definition, source) for name, definition, source in rows}


def _in_functions(connection: psycopg.Connection[Any]) -> Iterator[Guard]:
    for name, (definition, source) in _definitions(connection).items():
        seen: dict[str, int] = {}
        for kind, mutated in _mutations(source):
            title, test = f"{kind} in {name}{_number(seen, kind)}", usual_test(kind, f" in {name}")
            yield Guard(title, definition.replace(source, mutated), definition, test)


def sentences(connection: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """Yield each function that raises errors with each text that people read; inserted values are %s."""
    for name, (_, source) in _definitions(connection).items():
        for found in STATEMENT.finditer(source):
            if found["function"] == "private.raise_error":
                arguments, _ = _arguments(source, found.end())
                for literal in LITERAL.findall(arguments[2]):
                    if SENTENCE.match(literal):
                        yield name, literal.replace("''", "'")


def _number(seen: dict[str, int], name: str) -> str:
    """Return the suffix that distinguishes guards of one name."""
    seen[name] = seen.get(name, 0) + 1
    return f" #{seen[name]}" if seen[name] > 1 else ""


def _mutations(source: str) -> Iterator[tuple[str, str]]:
    """Yield each mutation of one function: its kind and the changed source."""
    for found in STATEMENT.finditer(source):
        arguments, end = _arguments(source, found.end())
        if found["function"] == "private.raise_error":
            code = arguments[1].strip().strip("'")
            yield f"error {code}", f"{source[: found.start()]}null{source[end:]}"
            worded = [*arguments[:2], f"({arguments[2].strip()}) || '~'", *arguments[3:]]
            yield f"sentence {code}", f"{source[: found.end()]}{', '.join(worded)}){source[end:]}"
        else:
            yield f"call {found['function']}", f"{source[: found.start()]}perform null{source[end:]}"
    for found in ROW_LOCK.finditer(source):
        yield "lock of a row", source[: found.start()] + source[found.end() :]
    for found in MEMBER_LOCK.finditer(source):
        arguments, end = _arguments(source, found.end())
        unlocked = f"(select p from private.profiles as p where p.user_id = {arguments[0]})"
        yield "lock of a member", source[: found.start()] + unlocked + source[end:]
    for found in ROLES.finditer(source):
        yield "role", source[: found.start()] + EVERY_ROLE + source[found.end() :]


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of a call whose bracket opens before `start`, and where the call ends."""
    parts: list[str] = []
    depth, quoted, since = 0, False, start
    for at in range(start, len(text)):
        message = text[at]
        if message == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif message in "([":
            depth += 1
        elif message in ")]":
            if depth == 0:
                return [*parts, text[since:at]], at + 1
            depth -= 1
        elif message == "," and depth == 0:
            parts.append(text[since:at])
            since = at + 1
    raise ValueError(f"a call without its end: {text[start : start + 40]}")


def _ledger_rules(connection: psycopg.Connection[Any]) -> Iterator[Guard]:
    """Each question of check_ledger, one left out at a time."""
    definitions, seen = _definitions(connection), dict[str, int]()
    for name in QUESTIONS:
        definition, source = definitions[name]
        select, union = ("SELECT", "UNION ALL") if "UNION ALL" in source else ("select", "union all")
        for part in _split(source.rpartition(";")[0] or source, union):
            # What questions share stands before the first one.
            question = select + _split(part, select)[-1]
            rule = RULE.search(question)
            assert rule
            named = rule[1] or rule[2]
            silenced = definition.replace(question, f"({question}\n limit 0)\n")
            title, test = f"ledger rule: {named}{_number(seen, named)}", usual_test("ledger rule", "")
            yield Guard(title, silenced, definition, test)


def _split(text: str, word: str) -> list[str]:
    """Split the text at each `word` that stands outside brackets."""
    parts, depth, since, at = [], 0, 0, 0
    while at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 and text.startswith(word, at):
            parts.append(text[since:at])
            at = since = at + len(word)
        else:
            at += 1
    return [*parts, text[since:]]


def _edits(connection: psycopg.Connection[Any]) -> Iterator[Guard]:
    """Yield the conditions of edits.toml, which cannot be recognised as guards automatically."""
    definitions = _definitions(connection)
    for edit in tomllib.loads(EDITS.read_text())["edit"]:
        definition, source = definitions[edit["where"]]
        if source.count(edit["old"]) != 1:
            raise ValueError(nearest(edit["old"], {edit["where"]: source}))
        mutated = definition.replace(source, source.replace(edit["old"], edit["new"]))
        reason = edit.get("reason", "")
        test = edit.get("test") or ("" if reason else usual_test("condition", edit["where"]))
        yield Guard(f"condition: {edit['name']}", mutated, definition, test, reason)
