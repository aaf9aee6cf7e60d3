"""What the database's functions respond with: the keys of the JSON objects that their bodies build.

Read from the source, since jsonb has no type. `tests/api/test_api_reference.py` compares the keys of those
that only read with real responses.
"""

import re

BUILDER = "jsonb_build_object("
COMMENT = re.compile(r"--[^\n]*")
# An object that is built or written ('{"success": true}'), or a call that may respond with one.
PART = re.compile(
    r"(?P<built>jsonb_build_object\()|'(?P<literal>\{\".*?\})'|(?P<call>(?:private|public)\.\w+)\("
)
ARRAY = re.compile(r"jsonb_agg\(|jsonb_build_array\(")
# What follows an object that another is joined to.
JOINED = re.compile(r"\s*(?:::[\w.]+)?\s*\|\|\s*(?P<case>case\b)?")
# An object in an object is shown, what lies deeper only named.
DEPTH = 2


class ResponseShapes:
    """The shapes of functions, which may build theirs by calling others of schemas private and public."""

    def __init__(self, bodies: dict[str, str]) -> None:
        """Take each function's source by its name with its schema."""
        self._bodies = {name: COMMENT.sub("", body) for name, body in bodies.items()}

    def of(self, name: str, depth: int = DEPTH) -> str:
        """Return the shape, as `{items: [{id, amount}], next}`; empty when the source does not show one."""
        return self._of_expression(_result(self._bodies.get(name, "")), depth)

    def _of_expression(self, text: str, depth: int) -> str:
        """Return the shape of the first part of a value that has one; empty when none is an object."""
        for found in PART.finditer(text):
            if shape := self._of_part(found, text, depth):
                many = ARRAY.search(text, 0, found.start()) and not shape.startswith("[")
                return f"[{shape}]" if many else shape
        return ""

    def _of_part(self, found: re.Match[str], text: str, depth: int) -> str:
        inside, after = _balanced(text, found.end()) if not found["literal"] else ("", text[found.end() :])
        if found["call"]:
            shape = self.of(found["call"], depth)
            # An array, or nothing: no object that others are joined to.
            if not shape.startswith("{"):
                return shape
            members = [shape[1:-1]]
        elif found["literal"]:
            members = re.findall(r'"(\w+)":', found["literal"])
        else:
            parts = _arguments(inside)
            members = [
                self._member(key.strip().strip("'"), value, depth)
                for key, value in zip(parts[::2], parts[1::2], strict=False)
            ]
            # Joined to the columns of a row, which the table has.
            if "to_jsonb(" in text[: found.start()] or "||" in text[: found.start()]:
                members.insert(0, "…")
        if joined := JOINED.match(after):
            more = self._of_expression(after[joined.end() :], depth)[1:-1] or "…"
            # Sometimes there, sometimes not.
            members.append(more.replace(", ", "?, ") + "?" if joined["case"] else more)
        return "{" + ", ".join(members) + "}"

    def _member(self, key: str, value: str, depth: int) -> str:
        shape = self._of_expression(value, depth - 1) if depth > 1 else ""
        return f"{key}: {shape}" if shape.startswith(("{", "[")) else key


def _result(body: str) -> str:
    """Return the expression that a function returns: after its last `return`, or what it selects."""
    returned = re.split(r"\breturn\b", body)[-1] if re.search(r"\breturn\b", body) else body
    variable = re.fullmatch(r"\s*(v_\w+)(?:\s*\|\|[^;]*)?;.*", returned, re.DOTALL)
    if not variable:
        return returned.split(";")[0]
    selected = re.search(
        rf"\bselect\b((?:(?!\bselect\b).)*?{re.escape(BUILDER)}.*?)\binto {variable[1]}\b", body, re.DOTALL
    )
    return selected[1] if selected else ""


def _balanced(text: str, start: int) -> tuple[str, str]:
    """Return what stands before the parenthesis that closes, and what follows it."""
    depth, quoted = 1, False
    for place in range(start, len(text)):
        quoted ^= text[place] == "'"
        if not quoted:
            depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place], text[place + 1 :]
    return text[start:], ""


def _arguments(text: str) -> list[str]:
    """Split at the commas outside parentheses, brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == "'"
        if not quoted:
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
            if sign == "," and depth == 0:
                parts.append("")
                continue
        parts[-1] += sign
    return parts
