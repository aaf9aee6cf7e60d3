"""Every guard of the services and the gateway, read from their sources, each with the text that lacks it.

A guard is every raised error, every limit (a constant that is a number), every line of the gateway's file
that closes, limits or changes something, and each condition of sources.toml, which nothing recognises. Its
name is made of function and text, so that a row outlives a line that was moved, also to another file.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutations.nearest import nearest

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
    """One guard: its name, its file, the file's text without it; an edit's test, or why none can kill it."""

    name: str
    path: str
    mutated: str
    test: str = ""
    reason: str = ""

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
        ValueError: an edit of sources.toml does not stand exactly once in its file, or in one of all files.
    """
    found = [*_of_python(), *_of_gateway(), *_edits()]
    return sorted(found, key=lambda guard: guard.name)


def _of_python() -> Iterator[SourceEdit]:
    for path, text in _modules().items():
        yield from _of_module(path, text)


@cache
def _modules() -> dict[str, str]:
    folders = [ROOT / "functions" / folder for folder in FOLDERS]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def _of_module(path: str, text: str) -> Iterator[SourceEdit]:
    for name, node, replacement in _named(path, text):
        yield SourceEdit(name, path, _replaced(text, node, replacement))


def raised(path: str, text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each raised error of a module: its guard's name, and the row and column where it stands."""
    for name, node, _ in _named(path, text):
        if isinstance(node, ast.Raise):
            yield name, node.lineno, node.col_offset


def _named(path: str, text: str) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
    """Yield the guards of a module; a name has the path only where several modules have one of that name."""
    seen: dict[str, int] = {}
    for kind, node, replacement in _guards(ast.parse(text)):
        name = f"{kind} in {path}" if _modules_with()[kind] > 1 else kind
        yield _numbered(seen, name), node, replacement


@cache
def _modules_with() -> Counter[str]:
    """Count the modules that have a guard of each name."""
    return Counter(
        kind for text in _modules().values() for kind in {kind for kind, *_ in _guards(ast.parse(text))}
    )


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
                name = _numbered(seen, f"{title[:80]} of {where}")
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
    paths = [*sorted((ROOT / "functions").rglob("*.py")), ROOT / CADDYFILE]
    everywhere = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    for edit in tomllib.loads(EDITS.read_text())["edit"]:
        old, file = edit["old"], edit.get("file")
        texts = {file: everywhere[file]} if file else everywhere
        holding = [path for path, text in texts.items() if old in text]
        if sum(texts[path].count(old) for path in holding) != 1:
            raise ValueError(nearest(old, texts))
        mutated = texts[holding[0]].replace(old, edit["new"])
        test, reason = edit.get("test", ""), edit.get("reason", "")
        yield SourceEdit(f"condition: {edit['name']}", holding[0], mutated, test, reason)
