"""The API's reference for developers: every endpoint, RPC and table that a client may call.

Written from the catalog, the services' own descriptions and `tests/api/authorisation.csv`;
`api_reference.toml` has what none of them says. `docs/api.md`, the guide, is written by hand.
"""

import csv
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from functions.auth.app import ROUTES
from functions.auth.openapi import document
from launcher.database.schema import Database
from launcher.settings import ROOT
from tests.checks.api_examples import example_body, fenced, js, meaning, python, words
from tests.checks.response_shapes import ResponseShapes
from tests.support.service_apps import edge_app, storage_app

FILE = ROOT / "docs" / "api-reference.md"
CATALOG = Path(__file__).with_name("api_catalog.sql")
MATRIX = ROOT / "tests" / "api" / "authorisation.csv"
EDGE = ROOT / "functions" / "edge"
ERROR_TABLE = ROOT / "sql" / "README.md"
ID = "00000000-0000-4000-8000-000000000001"
TYPES = {
    "usd": "US dollars, at most two decimals",
    "timestamp with time zone": "time, ISO 8601 with its offset",
    "date": "day, `YYYY-MM-DD`",
    "jsonb": "JSON",
    "character varying": "text",
}
ROLES = {"anon": "anonymous clients", "authenticated": "members", "platform_admin": "administrators"}
# Columns of the matrix, and what the page calls them.
PRINCIPALS = {
    "anon": "anonymous clients",
    "member": "members",
    "support": "support administrators",
    "finance": "finance administrators",
    "super": "super administrators",
}
NOT_ALLOWED = ("401", "42501", "forbidden", "not_authenticated")
VERBS = {"SELECT": "read", "INSERT": "insert", "UPDATE": "change", "DELETE": "delete"}
# Endpoints of the service key, of what is off, and of what is inside: no client has a use for them.
AUTH_OTHERS = (
    *("/admin", "/invite", "/sso", "/passkeys", "/oauth", "/authorize", "/callback", "/user/identities"),
    *("/health", "/openapi.json"),
)
HEAD = """<!-- Written by `make generate` from the database and the services; changed there, not here. -->
# API reference

Everything that an anonymous client, a member or an administrator may call. `api.md` is the guide: keys,
sessions, money, pages, errors. Its `supabase` and `api` are those of the examples here; ids are made up.

Who may call is what `tests/api/authorisation.csv` tests for every role. Each request can also end with the
errors that the guide lists for all. In a response, `…` stands for the columns of the row; a key with `?`
is left out at times, and two levels are shown.
"""


def failure(database: Database) -> str:
    """Return how to correct the committed file; empty when it is up to date."""
    if FILE.exists() and FILE.read_text() == generate(database):
        return ""
    name = FILE.relative_to(ROOT)
    return f"{name} is not what the database and the services make.\nTo correct it: make generate"


def generate(database: Database) -> str:
    """Return the page."""
    ((catalog,),) = database.rows(CATALOG.read_text())
    parts = [HEAD, *_edge(catalog), *_functions(catalog), *_tables(catalog), *_auth(), *_storage()]
    return "\n".join(parts).rstrip() + "\n"


def _edge(catalog: dict[str, Any]) -> Iterator[str]:
    yield "## Edge functions: `POST /functions/v1/<name>`\n"
    api = edge_app().openapi()
    for path, methods in api["paths"].items():
        if "post" not in methods:
            continue
        operation, name = methods["post"], path.removeprefix("/")
        source = (EDGE / f"{name.replace('-', '_')}.py").read_text()
        yield f"### `{name}`\n"
        yield f"{_sentence(source.split(chr(10))[0].strip(chr(34)).partition(': ')[2])}\n"
        yield f"- **Who:** {_who('POST', f'/functions/v1{path}')}"
        yield f"- **Response:** {_edge_response(name, operation)}"
        if called := sorted(
            set(re.findall(r"\bpublic\.(\w+)\(?\"", source)) & {each["name"] for each in catalog["functions"]}
        ):
            yield f"- **Calls:** {', '.join(f'[`{each}`](#{each})' for each in called)}"
        yield f"- **Errors:** {_edge_errors(source, catalog['comments'])}\n"
        bodies = list(_bodies(operation, api["components"]["schemas"]))
        for body in bodies:
            yield from _body(name, body)
        example = example_body(name, bodies[0]) if bodies else {}
        yield fenced(
            f"await supabase.functions.invoke('{name}', {{ body: {js(example)} }})",
            f'api.post("/functions/v1/{name}", json={python(example)})',
        )


def _bodies(operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects that an endpoint takes: one, or one for each action."""
    if "requestBody" not in operation:
        return
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    for each in schema.get("oneOf") or schema.get("anyOf") or [schema]:
        if "$ref" in each:
            yield schemas[each["$ref"].rsplit("/", 1)[1]]


def _body(name: str, body: dict[str, Any]) -> Iterator[str]:
    action = body["properties"].get("action", {})
    actions = [action["const"]] if "const" in action else action.get("enum", [])
    chosen = " or ".join(f"`{value}`" for value in actions)
    says = _sentence(re.sub(r"\s+", " ", body["description"]))
    yield f"{f'With `action` {chosen}: ' if actions else ''}{says}\n"
    fields = {key: value for key, value in body["properties"].items() if key != "action" or not actions}
    if not fields:
        return
    yield "| field | type | meaning |\n|---|---|---|"
    for key, field in fields.items():
        kind = _field_type(field) + ("" if key in body.get("required", []) else ", optional")
        yield f"| `{key}` | {kind} | {meaning(name, key)[0]} |"
    yield ""


def _field_type(field: dict[str, Any]) -> str:
    kinds = [each for each in field.get("anyOf", [field]) if each.get("type") != "null"]
    return " or ".join(dict.fromkeys(_one_type(kind) for kind in kinds))


def _one_type(kind: dict[str, Any]) -> str:
    if values := kind.get("enum") or [each for each in [kind.get("const")] if each]:
        return " or ".join(f"`{value}`" for value in values)
    plain = kind.get("type", "JSON")
    text = str(kind.get("format") or {"string": "text"}.get(plain, plain))
    limits = [f"at most {kind['maxLength']:,} characters"] if "maxLength" in kind else []
    if kind.get("maximum"):
        limits.append(f"{kind['minimum']:,.0f} to {kind['maximum']:,.0f}")
    return ", ".join([text, *limits])


def _edge_response(name: str, operation: dict[str, Any]) -> str:
    if written := words()["responses"].get(name):
        return str(written)
    return str(operation["description"]).removeprefix("Respond ").partition("\n\n")[0]


def _edge_errors(source: str, comments: dict[str, str]) -> str:
    """Return the codes that an endpoint raises itself, and those of the SQL functions that it calls."""
    called = re.findall(r"\b((?:public|edge)\.\w+)", source)
    found = {
        code: _statuses().get(code, "") for name in called for code in _split(comments.get(name) or "")[1]
    }
    found |= {code: status for status, code in re.findall(r'ApiError\(\s*(\d+),\s*"(\w+)"', source)}
    return _codes(dict(sorted(found.items())))


def _functions(catalog: dict[str, Any]) -> Iterator[str]:
    shapes = ResponseShapes(catalog["bodies"])
    yield "## Functions of the database: `POST /rest/v1/rpc/<name>`\n"
    for function in catalog["functions"]:
        name = function["name"]
        text, codes = _split(function["comment"])
        arguments = list(_arguments(function))
        yield f"### `{name}`\n"
        yield f"{text}\n"
        yield f"- **Who:** {_who('POST', f'/rest/v1/rpc/{name}')}"
        yield f"- **Response:** {_response(function, shapes)}"
        yield f"- **Errors:** {_codes({code: _statuses().get(code, '') for code in codes})}\n"
        if arguments:
            yield "| argument | type | meaning |\n|---|---|---|"
            for argument, kind, optional in arguments:
                shown_type = TYPES.get(kind, kind) + (", optional" if optional else "")
                yield f"| `{argument}` | {shown_type} | {meaning(name, argument)[0]} |"
            yield ""
        required = {each: meaning(name, each)[1] for each, _, optional in arguments if not optional}
        # Of a function without required arguments the first one shows how they are given.
        shown = required or {
            each: meaning(name, each)[1] for each, _, _ in arguments[:1] if meaning(name, each)[1]
        }
        given = f", {js(shown)}" if shown else ""
        yield fenced(
            f"await supabase.rpc('{name}'{given})", f'api.post("/rest/v1/rpc/{name}", json={python(shown)})'
        )


def _arguments(function: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield name, type and whether it may be left out, of what goes in."""
    modes = function["modes"] or ["i"] * len(function["arguments"])
    given = [
        (name, kind)
        for name, kind, mode in zip(function["arguments"], function["types"], modes, strict=True)
        if mode == "i"
    ]
    first_optional = len(given) - function["optional"]
    for place, (name, kind) in enumerate(given):
        yield name, kind, place >= first_optional


def _response(function: dict[str, Any], shapes: ResponseShapes) -> str:
    name, returns = function["name"], function["returns"]
    if shape := words()["responses"].get(name) or shapes.of(f"public.{name}"):
        return f"`{shape}`" if shape.startswith(("{", "[")) else shape
    if returns.startswith("TABLE"):
        columns = ", ".join(column.split()[0] for column in returns[6:-1].split(", "))
        return f"`[{{{columns}}}]`"
    if returns.startswith("SETOF"):
        return f"rows of `{returns.removeprefix('SETOF ').removeprefix('public.')}`"
    return str(returns)


def _tables(catalog: dict[str, Any]) -> Iterator[str]:
    yield "## Tables: `/rest/v1/<name>`\n"
    for table in catalog["tables"]:
        yield f"### Table `{table['name']}`\n"
        yield f"{_sentence(table['comment'] or '')}\n"
        policies = {(role, verb): name for role, verb, name in table["policies"]}
        for right in table["rights"]:
            policy = policies.get((right["role"], right["verb"]), "")
            yield f"- {ROLES[right['role']]} {_right(right, policy)}"
        yield "\n| column | type | meaning |\n|---|---|---|"
        for column in table["columns"]:
            values = " or ".join(f"`{value}`" for value in column["values"] or [])
            kind = values or TYPES.get(column["type"], column["type"])
            yield f"| `{column['name']}` | {kind} | {column['comment'] or ''} |"
        yield ""
        yield fenced(
            f"await supabase.from('{table['name']}').select('*').limit(10)",
            f'api.get("/rest/v1/{table["name"]}", params={{"select": "*", "limit": 10}})',
        )


def _right(right: dict[str, Any], policy: str) -> str:
    """Return what a role may do to which rows, in words."""
    whose = " own rows" if policy.endswith("_own") else " all rows" if policy.endswith("_all") else ""
    columns = ", ".join(f"`{column}`" for column in right["columns"] or [])
    return f"{VERBS[right['verb']]}{whose}{f': {columns}' if columns else ''}"


def _auth() -> Iterator[str]:
    yield "## Accounts and sessions: `/auth/v1`\n"
    yield "Errors: `{code, error_code, msg}`; `error_code` is the stable one.\n"
    api = document(ROUTES)
    for route in ROUTES:
        if route.path.startswith(AUTH_OTHERS):
            continue
        for method, handler in sorted(route.endpoints.items()):
            name = f"{method} {route.path}"
            entry = words()["auth"][name]
            operation = api["paths"][route.path][method.lower()]
            yield f"### `{name}`\n"
            yield f"{_sentence((inspect.getdoc(handler) or '').partition(chr(10) * 2)[0])}\n"
            if fields := _fields(operation):
                yield f"Fields: {fields}.\n"
            yield _wire("auth", method, route.path, entry)


def _fields(operation: dict[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    return ", ".join(f"`{name}`" for name in schema["properties"])


def _storage() -> Iterator[str]:
    yield "## Receipts: `/storage/v1`\n"
    yield (
        "The bucket `receipts` is private: PNG, JPEG, WebP or PDF of at most 5 MiB. Members insert and read"
        " `<own user id>/<10 to 16 digits>.<png, jpg, jpeg, webp or pdf>` and change or delete nothing;"
        " administrators get a signed address from `admin-get-receipt`."
        " Errors: `{statusCode, error, message}`.\n"
    )
    for path, methods in storage_app().openapi()["paths"].items():
        for method, operation in methods.items():
            entry = words()["storage"].get(f"{method.upper()} {path}")
            if entry:
                yield f"### `{method.upper()} {path}`\n"
                yield f"{operation['description']}\n"
                yield _wire("storage", method.upper(), path, entry)


def _wire(service: str, method: str, path: str, entry: dict[str, Any]) -> str:
    """Return the examples of an endpoint of Supabase's own services."""
    filled = path.replace("{bucket}", "receipts").replace("{path}", f"{ID}/1767225600000.png")
    address = f"/{service}/v1{filled.replace('{factor_id}', ID)}{entry.get('query', '')}"
    given = ', content=picture, headers={"content-type": "image/png"}' if entry.get("content") else ""
    if "body" in entry:
        given = f", json={python(entry['body'])}"
    return fenced(entry["js"], f'api.{method.lower()}("{address}"{given})')


@cache
def _matrix() -> dict[tuple[str, str], dict[str, str]]:
    rows = csv.DictReader(MATRIX.read_text().splitlines())
    return {(row["method"], row["endpoint"]): row for row in rows}


def _who(method: str, endpoint: str) -> str:
    """Return who may call it, by the tested responses."""
    if written := words()["who"].get(endpoint):
        return str(written)
    row = _matrix()[method, endpoint]
    allowed = [text for name, text in PRINCIPALS.items() if not set(row[name].split()) & set(NOT_ALLOWED)]
    return ", ".join(allowed).replace(
        "support administrators, finance administrators, super administrators", "administrators of every role"
    )


@cache
def _statuses() -> dict[str, str]:
    """Return the HTTP status of each code, from the table in sql/README.md."""
    rows = re.findall(r"^\| (`.+?`) \| ([\d, ]+) \|", ERROR_TABLE.read_text(), re.MULTILINE)
    return {code: status for codes, status in rows for code in re.findall(r"`(\w+)`", codes)}


def _codes(codes: dict[str, str]) -> str:
    """Return codes with their statuses, in words."""
    listed = [
        f"`{code}` ({status.replace(', ', ' or ')})" if status else f"`{code}`"
        for code, status in codes.items()
    ]
    return ", ".join(listed) or "none of its own"


def _split(comment: str) -> tuple[str, list[str]]:
    """Return a comment without its list of errors, and that list."""
    text, _, errors = comment.partition("Errors: ")
    return text.strip(), re.findall(r"\w+", errors)


def _sentence(text: str) -> str:
    text = text.strip()
    return text and f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")
