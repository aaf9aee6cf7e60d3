"""The picture of tables and foreign keys, drawn from the catalog, each table under the file of its noun.

A table stands to the right of those that it refers to, so that every line leads to the left. Tables without
foreign keys stand below.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape

from launcher.database.schema import Database
from launcher.settings import ROOT

FILE = ROOT / "docs" / "database.svg"
SCHEMA = ROOT / "sql" / "schema"
TABLES = """
select n.nspname || '.' || c.relname from pg_class as c inner join pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and not c.relispartition and n.nspname in ('public', 'private') order by 1
"""
# The columns of a foreign key, the table that has it, and the one that it names.
KEYS = """
select c.conrelid::regclass::text, c.confrelid::regclass::text, string_agg(a.attname, ', ' order by k.place)
from pg_constraint as c cross join unnest(c.conkey) with ordinality as k (no, place)
inner join pg_attribute as a on a.attrelid = c.conrelid and a.attnum = k.no
inner join pg_namespace as n on n.oid = c.connamespace
where c.contype = 'f' and c.conparentid = 0 and n.nspname in ('public', 'private')
group by c.oid, c.conrelid, c.confrelid order by 1, min(k.no)
"""
CREATED = re.compile(r"^create (?:unlogged )?table (\w+\.\w+)", re.MULTILINE)

WIDTH, GAP, MARGIN, LINE, HEADER = 232, 56, 24, 15, 26
STYLE = """<style>
  svg { font-family: system-ui, sans-serif; font-size: 12px; }
  .page { fill: #ffffff; }
  .private { fill: #f4f6f8; stroke: #57606a; }
  .public { fill: #e6f0fa; stroke: #1f5f99; }
  text { fill: #1f2328; }
  .name { font-weight: 600; font-size: 13px; }
  .noun { font-size: 11px; fill: #57606a; }
  .line { fill: none; stroke: #57606a; stroke-opacity: 0.45; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; }
    .private { fill: #1c222b; stroke: #9198a1; }
    .public { fill: #10263d; stroke: #79b8ff; }
    text { fill: #e6edf3; }
    .noun { fill: #9198a1; }
    .line { stroke: #9198a1; }
  }
</style>"""


@dataclass
class Table:
    """A box of the picture, and its place once it is laid out (pixels)."""

    name: str
    noun: str
    keys: list[tuple[str, str]] = field(default_factory=list)
    depth: int = 0
    x: int = 0
    y: int = 0
    # Whether the noun stands above it, as over the first of several.
    is_first: bool = False

    @property
    def height(self) -> int:
        """Return the height of the box in pixels."""
        return HEADER + LINE * len(self.keys) + (4 if self.keys else 0)


def failure(database: Database) -> str:
    """Return how to correct the committed file; empty when it is up to date."""
    if FILE.exists() and FILE.read_text() == generate(database):
        return ""
    return f"{FILE.relative_to(ROOT)} is not what the migrations make.\nTo correct it: make generate"


def generate(database: Database) -> str:
    """Return the picture."""
    nouns = {
        name: file.stem for file in sorted(SCHEMA.glob("*.sql")) for name in CREATED.findall(file.read_text())
    }
    tables = {name: Table(name, nouns.get(name, "in no schema file")) for (name,) in database.rows(TABLES)}
    for child, parent, columns in database.rows(KEYS):
        tables[_qualified(child)].keys.append((columns, _qualified(parent)))
    related = {name for table in tables.values() for _, name in table.keys}
    joined = [table for table in tables.values() if table.keys or table.name in related]
    alone = [table for table in tables.values() if not table.keys and table.name not in related]
    for table in joined:
        table.depth = _depth(table, tables)
    columns = [
        [table for table in joined if table.depth == depth]
        for depth in range(1 + max(table.depth for table in joined))
    ]
    top = max(_lay_out(column, place, 40) for place, column in enumerate(columns)) + 30
    quarter = -(-len(alone) // len(columns))
    alone.sort(key=_order)
    parts = [alone[start : start + quarter] for start in range(0, len(alone), quarter)]
    bottom = max(_lay_out(part, place, top + 24) for place, part in enumerate(parts))
    return _svg(tables, len(columns), top, bottom)


def _qualified(name: str) -> str:
    """Return a name with its schema, which regclass leaves out for what the search path finds."""
    return name if "." in name else f"public.{name}"


def _order(table: Table) -> tuple[str, str]:
    return table.noun, table.name


def _depth(table: Table, tables: dict[str, Table]) -> int:
    parents = {name for _, name in table.keys if name != table.name}
    return 1 + max((_depth(tables[name], tables) for name in parents), default=-1)


def _lay_out(column: list[Table], place: int, y: int) -> int:
    """Put the boxes of a column under each other, by noun; return where it ends."""
    noun = ""
    for table in sorted(column, key=_order):
        if table.noun != noun:
            noun, y, table.is_first = table.noun, y + 24, True
        table.x, table.y = MARGIN + place * (WIDTH + GAP), y
        y += table.height + 8
    return y


def _svg(tables: dict[str, Table], columns: int, top: int, bottom: int) -> str:
    width, height = 2 * MARGIN + columns * (WIDTH + GAP) - GAP, bottom + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-labelledby="title desc">',
        '<title id="title">Tables and foreign keys</title>',
        '<desc id="desc">Each table of schemas public and private under the schema file of its noun, with its'
        " foreign keys. Lines lead from a table to those that it refers to, on its left.</desc>",
        STYLE,
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="noun" x="{MARGIN}" y="26">blue: schema public, which PostgREST exposes · grey: schema'
        " private · above a table: its file in sql/schema</text>",
        f'<text class="noun" x="{MARGIN}" y="{top + 14}">without foreign keys:</text>',
        *_edges(tables),
    ]
    for table in tables.values():
        lines += _box(table)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _edges(tables: dict[str, Table]) -> Iterator[str]:
    """Yield one line for each pair of tables, drawn before the boxes that lie over it."""
    for table in tables.values():
        for name in dict.fromkeys(name for _, name in table.keys if name != table.name):
            parent = tables[name]
            x, y = parent.x + WIDTH, parent.y + HEADER // 2
            to_y, bend = table.y + HEADER // 2, GAP // 2 + 10
            yield f'<path class="line" d="M{table.x} {to_y}C{table.x - bend} {to_y} {x + bend} {y} {x} {y}"/>'


def _box(table: Table) -> Iterable[str]:
    schema, _, name = table.name.partition(".")
    if table.is_first:
        yield f'<text class="noun" x="{table.x}" y="{table.y - 5}">{escape(table.noun)}</text>'
    size = f'width="{WIDTH}" height="{table.height}"'
    yield f'<rect class="{schema}" x="{table.x}" y="{table.y}" {size} rx="4"/>'
    yield f'<text class="name" x="{table.x + 8}" y="{table.y + 17}">{escape(name)}</text>'
    for place, (columns, parent) in enumerate(table.keys):
        y = table.y + HEADER + LINE * place + 10
        text = f"{columns} → {parent.partition('.')[2]}"
        yield f'<text x="{table.x + 8}" y="{y}">{escape(text)}</text>'
