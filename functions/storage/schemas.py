"""The documented form of bodies and query strings, and the check that tells where one departs from it.

The same schemas are checked here and published in the OpenAPI document. Values are coerced as the
Storage API does: numbers as text count, one text stands for a list of one.
"""

import math
import re
from typing import Any

from functions.storage.errors import invalid_schema

Schema = dict[str, Any]


def _object(required: list[str], **properties: Schema) -> Schema:
    return {"type": "object", "required": required, "properties": properties}


def _sort(*columns: str) -> Schema:
    return _object(
        ["column"],
        column={"type": "string", "enum": list(columns)},
        order={"type": "string", "enum": ["asc", "desc"]},
    )


_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1}
_FLAG: Schema = {"type": "boolean"}
_SECONDS: Schema = {"type": "integer", "minimum": 1}
_BUCKET_LIMITS: dict[str, Schema] = {
    "public": _FLAG,
    "file_size_limit": {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^\d+(\.\d+)?([bB]|[kKmMgGtT][bB])?$"},
            {"type": "null"},
        ]
    },
    "allowed_mime_types": {"type": ["array", "null"], "items": _TEXT},
}

CREATE_BUCKET = _object(["name"], name=_TEXT, id=_TEXT, type=_TEXT, **_BUCKET_LIMITS)
UPDATE_BUCKET = {
    **_object([], **_BUCKET_LIMITS),
    "anyOf": [{"required": [name]} for name in _BUCKET_LIMITS],
}
LIST_BUCKETS = _object(
    [],
    limit={"type": "integer", "minimum": 1},
    offset={"type": "integer", "minimum": 0},
    sortColumn={"type": "string", "enum": ["id", "name", "created_at", "updated_at"]},
    sortOrder={"type": "string", "enum": ["asc", "desc"]},
    search=_TEXT,
)
NOTHING = _object([])
SIGN = _object(["expiresIn"], expiresIn=_SECONDS)
SIGN_MANY = _object(
    ["expiresIn", "paths"],
    expiresIn=_SECONDS,
    paths={"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 1000},
)
LIST = _object(
    ["prefix"],
    prefix=_TEXT,
    limit={"type": "integer", "minimum": 1},
    offset={"type": "integer", "minimum": 0},
    sortBy=_sort("name", "updated_at", "created_at", "last_accessed_at"),
    search=_TEXT,
)
LIST_V2 = _object(
    [],
    prefix=_TEXT,
    limit={"type": "integer", "minimum": 1},
    cursor=_TEXT,
    with_delimiter=_FLAG,
    sortBy=_sort("name", "updated_at", "created_at"),
)
REMOVE = _object(["prefixes"], prefixes={"type": "array", "items": _TEXT, "minItems": 1})
MOVE = _object(
    ["bucketId", "sourceKey", "destinationKey"],
    bucketId=_NAME,
    sourceKey=_NAME,
    destinationKey=_NAME,
    destinationBucket=_TEXT,
)
COPY: Schema = {
    **MOVE,
    "properties": {
        **MOVE["properties"],
        "copyMetadata": _FLAG,
        "metadata": _object([], cacheControl=_TEXT, mimetype=_TEXT),
    },
}


def checked(schema: Schema, value: Any, where: str) -> Any:
    """The value, coerced, when it has the form of the schema.

    Raises:
        StorageError: with the place and what it must be, for example `body/limit must be >= 1`.
    """
    if "anyOf" in schema and "properties" not in schema:
        return _any_of(schema["anyOf"], value, where)
    value = _typed(schema.get("type", "object"), value, where)
    if value is None:
        return None
    if isinstance(value, dict):
        return _checked_object(schema, value, where)
    if isinstance(value, list):
        return _checked_list(schema, value, where)
    _check_bounds(schema, value, where)
    return value


def _any_of(choices: list[Schema], value: Any, where: str) -> Any:
    """The first choice whose own type fits without coercion decides, else the first one refuses."""
    names = {int: "integer", str: "string", type(None): "null"}
    fitting = next((c for c in choices if c["type"] == names.get(type(value))), choices[0])
    return checked(fitting, value, where)


def _checked_object(schema: Schema, value: dict[str, Any], where: str) -> dict[str, Any]:
    for name in schema.get("required", []):
        if name not in value:
            raise invalid_schema(f"{where} must have required property '{name}'")
    if "anyOf" in schema and not any(choice["required"][0] in value for choice in schema["anyOf"]):
        raise invalid_schema(f"{where} must have required property '{schema['anyOf'][0]['required'][0]}'")
    known = schema["properties"]
    return {
        name: checked(known[name], item, f"{where}/{name}") for name, item in value.items() if name in known
    }


def _checked_list(schema: Schema, value: list[Any], where: str) -> list[Any]:
    if len(value) < schema.get("minItems", 0):
        raise invalid_schema(f"{where} must NOT have fewer than {schema['minItems']} items")
    if len(value) > schema.get("maxItems", math.inf):
        raise invalid_schema(f"{where} must NOT have more than {schema['maxItems']} items")
    return [checked(schema["items"], item, f"{where}/{index}") for index, item in enumerate(value)]


def _check_bounds(schema: Schema, value: Any, where: str) -> None:
    if "enum" in schema and value not in schema["enum"]:
        raise invalid_schema(f"{where} must be equal to one of the allowed values")
    if "minimum" in schema and value < schema["minimum"]:
        raise invalid_schema(f"{where} must be >= {schema['minimum']}")
    if len(str(value)) < schema.get("minLength", 0):
        raise invalid_schema(f"{where} must NOT have fewer than {schema['minLength']} characters")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        raise invalid_schema(f'{where} must match pattern "{schema["pattern"]}"')


def _typed(kind: str | list[str], value: Any, where: str) -> Any:
    kinds = kind if isinstance(kind, list) else [kind]
    if value is None and "null" in kinds:
        return None
    for name in kinds:
        try:
            return _COERCE[name](value)
        except (TypeError, ValueError):
            continue
    raise invalid_schema(f"{where} must be {','.join(kinds)}")


def _to_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _to_list(value: Any) -> list[Any]:
    if isinstance(value, dict) or value is None:
        raise TypeError
    return value if isinstance(value, list) else [value]


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        raise TypeError
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_integer(value: Any) -> int:
    if isinstance(value, bool | dict | list) or value is None:
        raise TypeError
    number = float(value) if isinstance(value, str) else value
    if not math.isfinite(number) or number != int(number):
        raise ValueError
    return int(value) if isinstance(value, int) else int(number)


def _to_flag(value: Any) -> bool:
    if value in ("true", 1):
        return True
    if value in ("false", 0) and value != "":
        return False
    raise ValueError


def _to_null(value: Any) -> None:
    if value is not None:
        raise TypeError


_COERCE = {
    "object": _to_object,
    "array": _to_list,
    "string": _to_text,
    "integer": _to_integer,
    "boolean": _to_flag,
    "null": _to_null,
}
