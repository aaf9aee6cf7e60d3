"""What PostgREST may be asked: by whom, how much at once, and in which arguments."""

import contextlib
import csv
import http.client
import json
import re
from pathlib import Path

import pytest

from tests.support.own_gateway import (
    ANON,
    ANON_FUNCTIONS,
    KEY,
    PERSON,
    ROOT,
    SERVICE,
    Gateway,
    running,
)
from tests.support.ports import free_port


def _public_functions() -> set[str]:
    """Return the functions that the matrix of the database lets role anon execute."""
    with (ROOT / "tests" / "db" / "authz_matrix.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["role"], row["verb"]) == ("anon", "EXECUTE")]
    return {row["object"].partition("(")[0] for row in rows if "." not in row["object"]}


@pytest.mark.threat("T122")
def test_an_anonymous_client_reaches_what_the_database_lets_anyone_call_and_nothing_else(
    gateway: Gateway,
) -> None:
    functions = _public_functions()
    assert len(functions) == 4
    assert set(ANON_FUNCTIONS.split("|")) == functions
    gateway.upstream.arrived.clear()
    for name in functions:
        assert gateway.http.get(f"/rest/v1/rpc/{name}", headers=KEY).status_code == 200, name
        response = gateway.http.post(f"/rest/v1/rpc/{name}", headers=KEY, json={"p_a": "x" * 400})
        assert response.status_code == 200, name
    assert "/anonymous-access" not in gateway.upstream.arrived


@pytest.mark.threat("T122")
@pytest.mark.parametrize(
    "headers",
    [
        [("apikey", ANON)],
        [("apikey", ANON), ("authorization", f"Bearer {ANON}")],
        [("apikey", ANON), ("authorization", f"bearer {ANON}")],
        [("apikey", ANON), ("authorization", f"BEARER   {ANON}")],
        [("apikey", ANON), ("authorization", ANON)],
        [("apikey", ANON), ("authorization", "")],
        [("apikey", ANON), ("authorization", "Bearer")],
        [("apikey", ANON), ("authorization", "Basic a.persons.token")],
        [("apikey", SERVICE)],
    ],
    ids=["key", "bearer", "small", "capitals", "bare", "empty", "nothing", "basic", "service"],
)
def test_the_public_key_in_any_spelling_is_rejected_in_postgrest_words(
    gateway: Gateway, headers: list[tuple[str, str]]
) -> None:
    for method, path, name in (
        ("GET", "/rest/v1/deposits?select=a0:profiles(*)", "table deposits"),
        ("PATCH", "/rest/v1/profiles?id=eq.1", "table profiles"),
        ("POST", "/rest/v1/rpc/get_member_dashboard", "function get_member_dashboard"),
        ("GET", "/rest/v1/%64eposits", "table deposits"),
    ):
        response = gateway.http.request(method, path, headers=headers)
        assert response.status_code == 401, f"{method} {path}"
        assert response.json() == {
            "code": "42501",
            "details": None,
            "hint": "Without a sign-in the gateway passes on what role anon is granted, and nothing else.",
            "message": f"permission denied for {name}",
        }
        assert response.headers["www-authenticate"] == "Bearer"
    for path in (
        "/rest/v1/",
        "/rest/v1/rpc/get_platform/x",
        "/rest/v1/x/rpc/get_platform",
        "/rest/v1/rpc/x%22y",
        "/rest/v1/x/../deposits",
    ):
        response = gateway.http.get(path, headers=headers)
        assert (response.status_code, response.json()["code"]) == (401, "42501"), path


def test_the_public_key_in_the_query_is_no_token(gateway: Gateway) -> None:
    for token in ({}, {"authorization": f"Bearer {ANON}"}):
        response = gateway.http.get("/rest/v1/deposits", params={"apikey": ANON}, headers=token)
        assert (response.status_code, response.json()["code"]) == (401, "42501")


@pytest.mark.threat("T122")
def test_anonymous_arguments_are_short(gateway: Gateway) -> None:
    url = "/rest/v1/rpc/get_sponsor"
    short = gateway.http.post(url, headers=KEY, json={"p_referral_code": "x" * 500})
    assert short.status_code == 413
    assert short.json()["message"].endswith("The most is 512 characters without a sign-in.")
    assert gateway.http.post(url, headers=KEY, content=b"x" * 2**20).status_code == 413
    long = gateway.http.get(f"/rest/v1/rpc/get_platform?p_a={'x' * 512}", headers=KEY)
    assert (long.status_code, long.json()["code"]) == (400, "too_complex")


@pytest.mark.threat("T122")
def test_what_a_migration_grants_to_anyone_is_reached(gateway: Gateway) -> None:
    """As functions/edge says: its methods, its size, and what it was sent."""
    for path in ("/posts", "/rpc/count_posts"):
        query = f"?a=eq.{'x' * 4000}"
        seen = gateway.http.get(f"/rest/v1{path}{query}", headers=KEY).json()
        assert (seen["path"], seen["method"]) == (f"{path}{query}", "GET")
        seen = gateway.http.post(f"/rest/v1{path}", headers=KEY, json={"p_a": "x" * 60_000}).json()
        assert (seen["path"], seen["method"], seen["bytes"]) == (path, "POST", 60_010)
        assert gateway.http.delete(f"/rest/v1{path}", headers=KEY).status_code == 401
        long = gateway.http.get(f"/rest/v1{path}?a=eq.{'x' * 4096}", headers=KEY)
        assert (long.status_code, long.json()["code"]) == (400, "too_complex")
        large = gateway.http.post(f"/rest/v1{path}", headers=KEY, content=b" " * 65_537)
        assert (large.status_code, large.json()["code"]) == (413, "payload_too_large")
    # Not what comes after it, or is spelt as it.
    for path in ("/posts/x", "/Posts", "/rpc/posts", "/count_posts", "/posts/"):
        assert gateway.http.get(f"/rest/v1{path}", headers=KEY).status_code == 401, path


@pytest.mark.threat("T122")
def test_while_the_functions_are_away_anyone_reaches_the_products_own_functions(tmp_path: Path) -> None:
    with running(tmp_path, EDGE_ADDRESS=f"127.0.0.1:{free_port()}") as gateway:
        closed = gateway.http.get("/rest/v1/posts", headers=KEY)
        assert (closed.status_code, closed.json()["code"]) == (502, "try_again")
        assert closed.headers["access-control-allow-origin"] == "*"
        assert gateway.http.get("/rest/v1/rpc/get_platform", headers=KEY).status_code == 200
        assert gateway.http.get("/rest/v1/deposits", headers=PERSON).status_code == 200


@pytest.mark.threat("T16")
@pytest.mark.parametrize("function", ["get_sponsor", "is_username_available"])
def test_a_function_with_a_limit_of_calls_takes_no_query(gateway: Gateway, function: str) -> None:
    """What a cast or a filter makes fail would not count."""
    url = f"/rest/v1/rpc/{function}"
    response = gateway.http.get(f"{url}?select=id", headers=KEY)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_input")
    assert response.headers["content-type"] == "application/json"
    assert gateway.http.get(url, headers=KEY).status_code == 200
    assert gateway.http.get("/rest/v1/rpc/get_platform?select=x", headers=KEY).status_code == 200


IDS = ",".join(["8047ea26-4e1c-47e1-8082-44bdc998e7b7"] * 1000)
CONDITION = "id.not.is.null"
# Where the gateway counts.
SCRATCH = {"x-query", "x-columns", "x-pattern", "x-conditions", "x-keys", "x-names", "x-text"}


def embedded(number: int) -> str:
    """Return a question for that many embedded resources."""
    return "select=" + ",".join(f"a{n}:profiles!x(id)" for n in range(number))


def tree(number: int, inner: str = "or") -> str:
    """Return a question with that many conditions in a tree."""
    half = ",".join([CONDITION] * (number // 2))
    return f"and=({','.join([CONDITION] * (number - number // 2))},not.{inner}({half}))"


def plain(number: int) -> str:
    """Return a question with that many conditions one after the other."""
    return "&".join(["id=not.is.null"] * number)


def encoded(question: str) -> str:
    """Return it with every character encoded that PostgREST decodes, save what parts parameters."""
    return "".join(c if c in "&=" else f"%{ord(c):02x}" for c in question)


def capital_encoded(question: str) -> str:
    """Return it with the digits in capitals."""
    return "".join(c if c in "&=" else f"%{ord(c):02X}" for c in question)


def half_encoded(question: str) -> str:
    """Return it as browsers write it."""
    return question.replace("(", "%28").replace(")", "%29").replace(",", "%2C")


MANY = ",".join([CONDITION] * 51)
NAMES = ",".join(["id"] * 102)
SPELLED = {"": str, "encoded ": encoded, "capital encoded ": capital_encoded, "half encoded ": half_encoded}
PLAINLY_TOO_MUCH = {
    "embedded": embedded(11),
    "and": tree(51),
    "or": f"or=({MANY})",
    "or of embedded": f"profiles.or=({MANY})",
    "filters": plain(51),
    "order": f"order={NAMES}",
    "select": f"select={NAMES}",
    "columns": f"columns={NAMES}",
    "steps into JSON": "or=(" + ",".join(["a->a->>a.is.null"] * 26) + ")",
    "conflict": f"on_conflict={NAMES}",
}
TOO_MUCH = {
    **{
        f"{spelled}{name}": spell(question)
        for spelled, spell in SPELLED.items()
        for name, question in PLAINLY_TOO_MUCH.items()
    },
    # `;` parts parameters too.
    "filters after semicolons": plain(51).replace("&", ";"),
    "embedded after a semicolon": f"{plain(1)};{embedded(11)}",
    # PostgREST takes the first, or all.
    "second select": f"select=id&{embedded(11)}",
    "two trees": f"{tree(26)}&{tree(26)}",
    "filters and a tree": f"{plain(25)}&{tree(26)}",
    "tree of embedded": f"profiles.{tree(51)}",
    "no tree of embedded": f"profiles.not.{tree(51)}",
    "order of embedded": f"profiles.order={NAMES}",
    "embedded in embedded": "select=" + "...profiles(" * 11 + "id" + ")" * 11,
    "trees in trees": "or=" + "(or" * 51 + "(id.is.null)" + ")" * 51,
    # What looks like a list or a text in quotes is none.
    "no list": f"or=(a.eq.x.in.(y,{MANY})",
    "no list in quotes": f'or=(a.eq.".in.(",{MANY},b.eq.")")',
    "list without an end": f'or=(a.in.("x",{MANY})',
    "mark in a name": "&!or=" + tree(51).removeprefix("and="),
    "long name": f"select={'x' * 200}(id)",
    "long path": "a." * 1000 + "id=eq.1",
    "many limits": "&".join(["limit=1"] * 400),
}


# Each names itself.
LIMITS = (
    "10 embedded resources.",
    "50 conditions, of which a list is one.",
    "100 columns in select, order, columns and on_conflict together.",
    "199 characters for a column, with its alias and cast.",
    "50 arrow heads of steps into JSON.",
    "2,000 characters of keys in a query.",
)


@pytest.mark.parametrize(
    ("limit", "name"),
    [
        *zip(
            LIMITS,
            ("embedded", "filters", "select", "long name", "steps into JSON", "long path"),
            strict=True,
        )
    ],
)
def test_a_limit_names_itself(gateway: Gateway, limit: str, name: str) -> None:
    message = gateway.http.get(f"/rest/v1/x?{TOO_MUCH[name]}", headers=PERSON).json()["message"]
    assert message == f"This asks for too much at once. The most is {limit}"


@pytest.mark.threat("T122")
@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_question_that_asks_too_much_goes_no_further(gateway: Gateway, name: str) -> None:
    for method in ("GET", "PATCH"):
        response = gateway.http.request(method, f"/rest/v1/deposits?{TOO_MUCH[name]}", headers=PERSON)
        assert (response.status_code, response.json()["code"]) == (400, "too_complex")
        assert response.json()["message"].partition(" is ")[2] in LIMITS


TIMES = ",".join(["%222026-01-01T00%3A00%3A00.000+00%3a00%22"] * 60)
LARGEST = {
    "nothing": "",
    **{
        f"{spelled}{name}": spell(question)
        for spelled, spell in SPELLED.items()
        for name, question in {
            "embedded": embedded(10),
            "tree": tree(50),
            "filters": plain(50),
            "filters and a tree": f"{plain(20)}&{tree(30)}",
            "select": "select=" + ",".join(["id"] * 100),
        }.items()
    },
    "page": f"select=id&{plain(50)}&order=id.asc,amount.desc&limit=1&offset=2",
    "page of embedded": f"{plain(50)}&profiles.order=id&profiles.limit=1&profiles.offset=2",
    "ids": f"id=in.({IDS})",
    "ids by a browser": f"id=not.in.%28{IDS}%29",
    "ids in a tree": f"or=(id.in.({IDS}),amount.gt.5)",
    "ids in a tree by a browser": half_encoded(f"or=(id.in.({IDS}),amount.gt.5)"),
    "times in a tree": f"or=(created_at.in.({TIMES},1.5),amount.gt.5)",
    "text": "reference_number=ilike.*" + "a,(b" * 100,
    "steps into JSON": "select=" + ",".join(["a-%3E%3Ea"] * 25),
    **{
        f"{spelled}words of a value {number}": spell(question)
        for spelled, spell in {"": str, "half encoded ": half_encoded}.items()
        for number, question in enumerate(
            [
                "name=eq.match.com&match=eq.1&note=ilike.*imatch.x,b.match.(a)*&select=match,match(id)",
                "order=match.desc,match(id).asc&columns=match&not=eq.match&profiles.order=match.desc",
                "or=(name.eq.match.com,match.eq.1,note.ilike.*imatch.*,a.not.like(any).{x,b.match.y})",
                "and=(a.in.(%22x,b.match.c%22,d.match.e),not.or(f.eq.%22g,h.match.i%22,match.not.is.null),j.lt.match()",
                "or=(a.eq.%22%5C%22,b.match.c%22,d.eq.%22)&a=not.eq.b.not.match.c",
            ]
        )
    },
}
# Where a program of its own would see a text in quotes, a list or an array, PostgREST sees none.
PATTERNS = (
    "id=match.a",
    "id=not.match.a",
    "id=imatch(any).{a}",
    "id=not.imatch(all).{a}",
    "x=eq.1;id=match.a",
    "profiles.id=match.a",
    "a->>b=match.a",
    "!select=match.a",
    "or=(id.match.a,x.eq.1)",
    "or=(id.match.,x.eq.1)",
    "and=(x.eq.1,id.not.imatch(any).{a})",
    "not.or=(x.eq.1,not.and(y.eq.1,id.match.a))",
    "profiles.or=(id.match.a)",
    "or=( id .match.a)",
    'or=("a,b".match.a)',
    'or=(a->>"b.c".match.a)',
    "or=(match.match.a)",
    "or=(not.match.a)",
    'or=(a.eq.x"y,id.match.z,b.eq."c)',
    'or=(a.eq.x.eq."y,id.match.z,b.eq.",c.eq.1)',
    'or=(a.eq."x\\",b.eq.",id.match.y,c.eq.")',
    'or=(a.e%71.z",id.match.y,b.eq.".eq.1)',
    "or=(a.eq.(x,id.match.y))",
    "or=(a.cs.{x%7By,id.match.z})",
    "or=(a.cs.{x%%7By,id.match.z})",
    "or=(a.in.(x),id.match.y,b.eq.))",
)


@pytest.mark.threat("T122")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_only_the_service_key_compares_with_regular_expressions(gateway: Gateway, pattern: str) -> None:
    for spell in SPELLED.values():
        url = f"/rest/v1/deposits?{pattern if set(pattern) & set('%;') else spell(pattern)}"
        response = gateway.http.get(url, headers=PERSON)
        assert (response.status_code, response.json()["code"]) == (400, "too_complex"), url
        assert "match, imatch" in response.json()["message"]
        service = {"apikey": SERVICE, "authorization": f"Bearer {SERVICE}"}
        assert gateway.http.get(url, headers=service).status_code == 200, url


@pytest.mark.threat("T122")
@pytest.mark.parametrize("name", LARGEST)
def test_a_question_of_the_largest_size_goes_through_as_it_is(gateway: Gateway, name: str) -> None:
    response = gateway.http.get(f"/rest/v1/deposits?{LARGEST[name]}", headers=PERSON)
    assert response.status_code == 200
    seen = response.json()
    assert seen["path"].partition("?")[2] == LARGEST[name]
    assert not SCRATCH & set(seen["headers"])


def test_the_web_app_asks_for_far_less() -> None:
    sources = [path.read_text() for path in (ROOT / "web" / "src").rglob("*.ts*")]
    selects = [found for text in sources for found in re.findall(r"\.select\(\s*['\"`]([^'\"`]*)", text)]
    assert selects
    assert max(select.count("(") for select in selects) <= 5
    assert max(select.count(",") for select in selects) <= 50
    filters = r"\.(?:eq|neq|gte?|lte?|i?like|is|in|or|not|filter|contains|overlaps)\("
    assert max(len(re.findall(filters, text)) for text in sources) <= 25


UNSTORABLE = "A text holds a character that cannot be stored."
FORM = "application/x-www-form-urlencoded"
# What is no UTF-8, in a query, in a form, in a CSV.
BYTES = {
    "byte": "%FF",
    "small": "%ff",
    "raw": "\xff",
    "in a name": "%FF=eq.1",
    "alone": "%C3",
    "cut": "%E2%82",
    "after a character": "%E2%82%ac%e2%82",
    "second half": "%a9",
    "too long": "%C0%80",
    "too long of three": "%E0%80%80",
    "too long of four": "%F0%80%80%80",
    "half of a pair": "%ED%A0%80",
    "too far": "%F4%90%80%80",
    "farther": "%F5%80%80%80",
}
CHARACTERS = (
    "%C3%A9",
    "\xc3\xa9",
    "%e2%82%AC",
    "%E0%A4%85",
    "%ED%95%9C",
    "%EF%BF%BD",
    "%F0%9F%98%80",
    "%F3%A0%80%81",
)


def _sent(gateway: Gateway, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
    """Send bytes that httpx would encode; return the status and what the response says."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=5)) as connection:
        connection._encode_request = lambda request: request.encode("latin-1")  # type: ignore[attr-defined]
        connection._validate_path = lambda _: None  # type: ignore[attr-defined]
        connection.request(method, path, body, PERSON | {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return response.status, response.read().decode()


@pytest.mark.threat("T126")
@pytest.mark.parametrize("name", BYTES)
def test_what_is_no_text_goes_no_further(gateway: Gateway, name: str) -> None:
    for path in (f"x?{BYTES[name]}", f"x?id=eq.a{BYTES[name]}b", f"rpc/x?a={BYTES[name]}"):
        status, text = _sent(gateway, "GET", f"/rest/v1/{path}")
        assert (status, json.loads(text)["message"]) == (400, UNSTORABLE), path
    status, text = _sent(
        gateway, "POST", "/rest/v1/x", f"a={BYTES[name]}".encode("latin-1"), Content_Type=FORM
    )
    assert (status, json.loads(text)["message"]) == (400, UNSTORABLE)


@pytest.mark.threat("T126")
def test_a_table_takes_only_text(gateway: Gateway) -> None:
    """Of JSON PostgREST says so itself."""
    status, text = _sent(gateway, "POST", "/rest/v1/x", b"a\n\xff", Content_Type="Text/CSV")
    assert (status, json.loads(text)["message"]) == (400, UNSTORABLE)
    for kind in ("text/csv", FORM, "application/json"):
        for body in ("a\né".encode(), b"a=%C3%A9", b'{"a":"%aa"}' if kind != FORM else b""):
            assert _sent(gateway, "POST", "/rest/v1/x", body, Content_Type=kind)[0] == 200, (kind, body)


def test_characters_and_signs_of_percent_go_through_as_they_are(gateway: Gateway) -> None:
    for text in (*CHARACTERS, "%", "a%", "%zz", "%F", "like.%25a%25", "like.%x%"):
        status, seen = _sent(gateway, "GET", f"/rest/v1/x?id=eq.{text}")
        assert status == 200, text
        assert json.loads(seen)["path"] == f"/x?id=eq.{text}"
        assert not SCRATCH & set(json.loads(seen)["headers"])


@pytest.mark.threat("T126")
@pytest.mark.parametrize(
    "name", ["Accept", "Accept-Profile", "Cookie", "Prefer", "Range", "User-Agent", "X-Any"]
)
def test_a_header_arrives_as_text(gateway: Gateway, name: str) -> None:
    status, seen = _sent(gateway, "GET", "/rest/v1/x", **{name: "a\xffb\xc3\xa9"})
    assert (status, json.loads(seen)["headers"][name.lower()]) == (200, "a?b\xc3\xa9")


ARGUMENTS = {
    "many": json.dumps({f"k{n}": 1 for n in range(200)}),
    "long": json.dumps({"x" * 501: 1}),
    "before white space": json.dumps({"x" * 501: 1}).replace('":', '"\n\t :'),
    "quoted": json.dumps({'x\\"' * 200: 1}),
    "in a list": json.dumps([{"x" * 501: 1}, {"a": 1}]),
    "after others": json.dumps({"p_a": [{"b": "c"}] * 99, "p_b": 'a": {"b', "x" * 495: {}, "p_c": 1}),
    "with brackets": json.dumps({"{" + "x" * 480 + "]": 1, "p_a": "x" * 50}),
}


@pytest.mark.threat("T122")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_names_of_arguments_are_few_and_short(gateway: Gateway, name: str) -> None:
    response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=ARGUMENTS[name])
    assert (response.status_code, response.json()["code"]) == (400, "too_complex")
    assert "The most is 500 characters of argument names" in response.json()["message"]


LONG_ARGUMENTS = {
    "texts": {"p_text": 'a": "b\\' * 2000, "p_list": ["x"] * 1000, "p_filters": {"a": [1, {}]}},
    "1000 objects": {"p_items": [{"description": "{[<|*>]}", "n": n, "tags": ["a"]} for n in range(1000)]},
    "60 settings": {"p_settings": {f"a_setting_with_a_long_name_{n}": {"[": n} for n in range(60)}},
    "a list": [{"a": {"b" * 500: n}} for n in range(100)],
    "long names": {f"p_{'x' * 96}{n}": "y" * 200 for n in range(5)},
    "deep": {"p_a": json.loads("[" * 15 + "{}" + "]" * 15), "p_b": "x" * 500},
}


@pytest.mark.parametrize("name", LONG_ARGUMENTS)
def test_what_arguments_say_may_be_long(gateway: Gateway, name: str) -> None:
    content = json.dumps(LONG_ARGUMENTS[name])
    seen = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=content).json()
    assert seen["bytes"] == len(content)
    assert not SCRATCH & set(seen["headers"])


@pytest.mark.threat("T122")
def test_arguments_are_not_endlessly_deep(gateway: Gateway) -> None:
    for deep in ("[" * 17 + "]" * 17, '{"a":' * 17 + "1" + "}" * 17):
        content = f'{{"p_a": {deep}, "p_b": "{"x" * 500}"}}'
        response = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=content)
        assert (response.status_code, response.json()["code"]) == (400, "too_complex")
        assert response.json()["message"].endswith("The most is arguments of 16 levels.")


@pytest.mark.threat("T122")
def test_names_in_a_query_are_few_and_short_too(gateway: Gateway) -> None:
    query = "&".join(f"argument_{n}_{'x' * 20}=1" for n in range(20))
    for path in (f"rpc/x?{query}", "x" * 101):
        response = gateway.http.get(f"/rest/v1/{path}", headers=PERSON)
        assert (response.status_code, response.json()["code"]) == (400, "too_complex"), path


@pytest.mark.threat("T122")
def test_arguments_together_are_at_most_64_kib(gateway: Gateway) -> None:
    most = b'{"p_text":"' + b"x" * 65_523 + b'"}'
    assert gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=most).json()["bytes"] == 65_536
    large = gateway.http.post("/rest/v1/rpc/x", headers=PERSON, content=most + b" ")
    assert (large.status_code, large.json()["code"]) == (413, "payload_too_large")
    assert large.json()["message"].endswith("The most is 64 kB of arguments.")
    # A row may be longer.
    assert gateway.http.post("/rest/v1/x", headers=PERSON, json={"note": "x" * 200_000}).status_code == 200


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "Text/CSV"])
def test_arguments_are_json(gateway: Gateway, kind: str) -> None:
    headers = PERSON | {"content-type": kind}
    response = gateway.http.post("/rest/v1/rpc/x", headers=headers, content="a=1&b=2")
    assert (response.status_code, response.json()["code"]) == (415, "PGRST102")
