"""Chains of requests along the links of each service's OpenAPI document: each uses the response before it.

No server error and nothing undocumented wherever a chain leads: an object is read after it was moved, a user
after the account was deleted, a deposit decided twice. What random values would hardly ever hit, such as the
body that starts a chain, is given. OPENAPI_CHAINS asks for more chains than run in seconds.
"""

import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyotp
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from functions.auth.app import ROUTES
from functions.auth.openapi import document
from tests.api.conftest import Owner
from tests.api.test_openapi import CHECKS, calling_from
from tests.support.bucket_fixture import open_bucket
from tests.support.files import png
from tests.support.people import PASSWORD, Member, People, until_served
from tests.support.service_apps import edge_app, storage_app

pytestmark = pytest.mark.long
CHAINS = int(os.environ.get("OPENAPI_CHAINS", "8"))
STEPS = 10
# So many chains come to every end; how far a few come is chance, since ids are new each time.
MANY = 100
Given = Callable[[Any], None]
bounded = settings(
    max_examples=CHAINS,
    stateful_step_count=STEPS,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Walk:
    """Walk the links of one document and record the requests made.

    Attributes:
        given: by operation, the values with which a generated request can succeed.
        token: the current one; `token_of` looks for a newer one in each response.
    """

    people: People
    prefix: str
    token: str
    given: dict[str, Given]
    on_response: Callable[["Walk", Any, Any], None] = lambda *_: None
    done: Counter[str] = field(default_factory=Counter)

    def through(self, schema: Any) -> None:
        """Walk."""
        walk, session = self, calling_from(self.people.address)

        class Chain(schema.as_state_machine()):  # type: ignore[misc]
            def before_call(self, case: Any) -> None:
                if give := walk.given.get(case.operation.label):
                    give(case)

            def get_call_kwargs(self, case: Any) -> dict[str, Any]:
                by_service = case.operation.path.startswith("/admin/")
                stack = walk.people.stack
                token = stack.service_key if by_service else walk.token
                headers = {"apikey": stack.anon_key, "authorization": f"Bearer {token}"}
                asked = {"base_url": f"{stack.url}{walk.prefix}", "session": session, "headers": headers}
                return {**asked, "allow_redirects": False}

            def call(self, case: Any, **asked: Any) -> Any:
                return until_served(lambda: case.call(**asked))

            def validate_response(self, response: Any, case: Any, **_: Any) -> None:
                case.validate_response(response, checks=CHECKS)
                walk.done[f"{case.operation.label} {response.status_code}"] += 1
                walk.on_response(walk, case, response)

        run_state_machine_as_test(Chain, settings=bounded)

    def reached(self, *responses: str, in_the_end: tuple[str, ...] = ()) -> bool:
        """Whether the chains came this far, and many to their ends: each is an operation and its status."""
        wanted = responses + (in_the_end if CHAINS >= MANY else ())
        missing = [response for response in wanted if not self.done[response]]
        if missing:
            print(f"never: {missing}; {dict(self.done)}")
        return not missing


@pytest.fixture
def started(people: People, referrer: Member) -> Member:
    """Return a member with a package, two pending deposits, and a balance to withdraw."""
    finance = people.administrator("finance_admin")
    earner = people.earner(referrer.profile_id, finance)
    for _ in range(2):
        earner.insert("withdrawals", earner.withdrawal_row(100)).raise_for_status()
        earner.deposit(37.5)
    return earner


def test_the_life_of_an_object(people: People, owner: Owner, member: Member) -> None:
    def upload(case: Any) -> None:
        case.path_parameters = {
            "bucket": own_bucket.bucket,
            "path": f"{member.user_id}/{secrets.token_hex(4)}.png",
        }
        case.body, case.media_type = png(), "image/png"

    given = {"POST /object/{bucket}/{path}": upload}
    with open_bucket(people.stack, owner) as own_bucket:
        walk = Walk(people, "/storage/v1", people.stack.service_key, given)
        life = r"^/object/(move$|((info|sign)/)?\{bucket\}/\{path\}$)"
        walk.through(schemathesis.openapi.from_dict(storage_app().openapi()).include(path_regex=life))
    assert walk.reached(
        "GET /object/{bucket}/{path} 200",
        in_the_end=(
            "POST /object/sign/{bucket}/{path} 200",
            "POST /object/move 200",
            "DELETE /object/{bucket}/{path} 200",
            "GET /object/{bucket}/{path} 400",
        ),
    )


def test_the_life_of_an_account(people: People, referrer: Member) -> None:
    made: list[str] = []

    def newcomer(case: Any) -> None:
        name = f"t_{secrets.token_hex(5)}"
        data = {"display_name": "A", "username": name, "package_value": 0, "referrer_id": referrer.profile_id}
        case.body = {"email": f"{name}@example.com", "password": PASSWORD}
        if case.operation.path == "/signup":
            case.body |= {"data": data}
        else:
            case.body |= {"email_confirm": True, "user_metadata": data}
            made.append(case.body["email"])

    def listen(walk: Walk, case: Any, response: Any) -> None:
        if case.operation.path == "/token" and response.status_code == 200:
            walk.token = response.json()["access_token"]

    def grant(case: Any) -> None:
        case.query = {"grant_type": "password"}
        if made:
            case.body = {"email": made[-1], "password": PASSWORD}

    given = {"POST /signup": newcomer, "POST /admin/users": newcomer, "POST /token": grant}
    walk = Walk(people, "/auth/v1", people.stack.anon_key, given, listen)
    life = "^/(signup|resend|recover|token|user|logout|admin/users(/{user_id})?)$"
    walk.through(schemathesis.openapi.from_dict(document(ROUTES)).include(path_regex=life))
    assert walk.reached(
        "POST /admin/users 200",
        "POST /token 200",
        in_the_end=(
            "GET /admin/users/{user_id} 200",
            "DELETE /admin/users/{user_id} 200",
            "GET /admin/users/{user_id} 404",
            "GET /user 200",
        ),
    )


def test_the_life_of_a_second_factor(people: People, member: Member) -> None:
    known: dict[str, str] = {}

    def totp(case: Any) -> None:
        case.body = {"factor_type": "totp", "friendly_name": secrets.token_hex(4)}

    def right_code(case: Any) -> None:
        if secret := known.get(case.path_parameters["factor_id"]):
            case.body = {**case.body, "code": pyotp.TOTP(secret).now()}

    def listen(walk: Walk, case: Any, response: Any) -> None:
        response = response.json()
        walk.token = response.get("access_token", walk.token)
        if "totp" in response:
            known[response["id"]] = response["totp"]["secret"]

    given = {"POST /factors": totp, "POST /factors/{factor_id}/verify": right_code}
    walk = Walk(people, "/auth/v1", member.token, given, listen)
    life = "^/(user|factors.*)$"
    walk.through(schemathesis.openapi.from_dict(document(ROUTES)).include(path_regex=life))
    assert walk.reached(
        "POST /factors 200",
        "POST /factors/{factor_id}/challenge 200",
        in_the_end=("POST /factors/{factor_id}/verify 200", "DELETE /factors/{factor_id} 200"),
    )


def test_the_life_of_a_request(people: People, started: Member) -> None:
    def mine(case: Any) -> None:
        case.body = {"search": started.username, "status": "pending", "page": 1, "pageSize": 5}

    given = {"POST /admin-list-deposits": mine, "POST /admin-list-withdrawals": mine}
    walk = Walk(people, "/functions/v1", people.administrator("super_admin").token, given)
    walk.through(schemathesis.openapi.from_dict(edge_app().openapi()))
    assert walk.reached(
        "POST /admin-list-deposits 200",
        "POST /admin-approve-deposit 200",
        in_the_end=(
            "POST /admin-get-receipt 200",
            "POST /admin-approve-withdrawal 200",
            "POST /admin-approve-withdrawal 409",
        ),
    )
