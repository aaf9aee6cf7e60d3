"""Every guard of the services and the gateway, read from their sources, each with the text that lacks it.

A guard is every raised error, every limit (a constant that is a number), every line of the gateway's file
that closes, limits or changes something, and each condition of sources.toml, which nothing recognises. Its
name is made of function and text: a row outlives a moved line, not a changed one.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EDITS = Path(__file__).parent / "sources.toml"
CADDYFILE = "supabase/gateway/Caddyfile"
FOLDERS = ("core", "auth", "edge", "storage")
# Far enough that no test reaches it.
FARTHER = 1000
# A line that says where something is, or only makes it faster, guards nothing. An expression of several lines
# cannot lack one of them: its conditions are in sources.toml.
UNGUARDED = re.compile(
    r"(output|wrap|level|root|precompressed|uri strip_prefix|rewrite|try_files|file_server|encode"
    r"|skip_install_trust|lb_try_interval|keepalive_idle_conns_per_host|CEL)\b|\{http\.|\|\|"
)


@dataclass(frozen=True)
class SourceEdit:
    """One guard: its name, its file, and the file's text without it."""

    name: str
    path: str
    mutated: str

    @property
    def services(self) -> tuple[str, ...]:
        """The services that run this file."""
        folder = Path(self.path).parts[1]
        if self.path == CADDYFILE:
            return ()
        return FOLDERS[1:] if folder == "core" else (folder,)


def read() -> list[SourceEdit]:
    """Return every guard of the sources, ordered by name.

    Raises:
        ValueError: an edit of sources.toml does not stand exactly once in its file.
    """
    found = [*_of_python(), *_of_gateway(), *_edits()]
    return sorted(found, key=lambda guard: guard.name)


def _of_python() -> Iterator[SourceEdit]:
    for folder in FOLDERS:
        for path in sorted((ROOT / "functions" / folder).rglob("*.py")):
            text = path.read_text()
            yield from _of_module(str(path.relative_to(ROOT)), text)


def _of_module(path: str, text: str) -> Iterator[SourceEdit]:
    seen: dict[str, int] = {}
    for kind, node, replacement in _guards(ast.parse(text)):
        name = _numbered(seen, f"{kind} in {path}")
        yield SourceEdit(name, path, _replaced(text, node, replacement))


def raised(path: str, text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each raised error of a module: its guard's name, and the row and column where it stands."""
    seen: dict[str, int] = {}
    for kind, node, _ in _guards(ast.parse(text)):
        name = _numbered(seen, f"{kind} in {path}")
        if isinstance(node, ast.Raise):
            yield name, node.lineno, node.col_offset


def _numbered(seen: dict[str, int], name: str) -> str:
    """Return the name, with a number from the second guard of that name on."""
    seen[name] = seen.get(name, 0) + 1
    return f"{name} #{seen[name]}" if seen[name] > 1 else name


def _guards(module: ast.Module) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
    """Yield the name of each guard of a module, where it stands, and what stands there instead."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper() and _is_number(value):
                yield f"limit {name}", value, f"({ast.unparse(value)}) * {FARTHER}"
    yield from _within(module, "")


def _within(node: ast.AST, function: str) -> Iterator[tuple[str, ast.stmt, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _within(child, f"{function}.{child.name}".strip("."))
        elif isinstance(child, ast.Raise) and child.exc is not None:
            yield f"raise {ast.unparse(child.exc)[:80]} of {function}", child, "pass"
        else:
            yield from _within(child, function)


def _is_number(value: ast.expr) -> bool:
    numeric = (ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)
    return all(isinstance(part, numeric) for part in ast.walk(value)) and not any(
        isinstance(part, ast.Constant) and type(part.value) not in (int, float) for part in ast.walk(value)
    )


def _replaced(text: str, node: ast.stmt | ast.expr, replacement: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno
    assert node.end_col_offset is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + replacement.encode() + after).decode()


def _of_gateway() -> Iterator[SourceEdit]:
    lines = (ROOT / CADDYFILE).read_text().splitlines(keepends=True)
    seen: dict[str, int] = {}
    blocks: list[str] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if text.endswith("{") and not text.startswith("#"):
            blocks.append(text.removesuffix("{").strip())
        elif text == "}":
            blocks.pop()
        elif text and not text.startswith(("#", "@")) and not UNGUARDED.match(text) and blocks:
            where = " > ".join(block or "options" for block in blocks)
            for title, without in _without(line):
                name = _numbered(seen, f"{title[:80]} of {where} in {CADDYFILE}")
                mutated = "".join([*lines[:number], without, *lines[number + 1 :]])
                yield SourceEdit(name, CADDYFILE, mutated)


def _without(line: str) -> Iterator[tuple[str, str]]:
    """Yield what a line of the gateway guards, and the line without it: each path of a list is one guard."""
    word, *paths = line.split()
    if word != "path":
        yield f"line {line.strip()}", ""
        return
    for path in paths:
        yield f"path {path}", line.replace(f" {path}", "", 1) if len(paths) > 1 else ""


def _edits() -> Iterator[SourceEdit]:
    for edit in tomllib.loads(EDITS.read_text())["edit"]:
        text = (ROOT / edit["file"]).read_text()
        if text.count(edit["old"]) != 1:
            raise ValueError(f"{edit['file']} holds {text.count(edit['old'])} times: {edit['old']}")
        mutated = text.replace(edit["old"], edit["new"])
        yield SourceEdit(f"condition: {edit['name']}", edit["file"], mutated)
