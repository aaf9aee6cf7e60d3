"""Examples of the API's reference: values for arguments, written in JavaScript and in Python."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

WORDS = Path(__file__).with_name("api_reference.toml")


@cache
def words() -> dict[str, Any]:
    """Return what is written by hand."""
    return tomllib.loads(WORDS.read_text())


def fenced(in_js: str, in_python: str) -> str:
    """Return an example in both languages."""
    return f"```js\n{in_js}\n```\n```python\n{in_python}\n```\n"


def meaning(endpoint: str, name: str) -> tuple[str, Any]:
    """Return what an argument means and a value of it; KeyError when api_reference.toml has neither."""
    known = words()["arguments"]
    text, value = known[f"{endpoint}.{name}"] if f"{endpoint}.{name}" in known else known[name]
    return text, value


def example_body(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the required fields of a body with values."""
    values: dict[str, Any] = {}
    for key in body.get("required", []):
        field = body["properties"][key]
        values[key] = field.get("const") or (field.get("enum") or [meaning(name, key)[1]])[0]
    return values


def js(value: Any) -> str:
    """Return a value as JavaScript."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key}: {js(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(js, value))}]"
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


def python(value: Any) -> str:
    """Return a value as Python."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {python(each)}' for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(python, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
