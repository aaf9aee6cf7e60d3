"""Bodies of every shape at every function: a clear answer, never a fault of the server."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from functions.edge.main import app
from tests.support.people import Administrator, Member

schema = schemathesis.openapi.from_dict(app.openapi()).exclude(path="/health")
FOR_MEMBERS = ("/bot-subscription", "/sync-all-mlm-bonuses")


@schema.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_body_is_our_fault(
    case: schemathesis.Case, request: pytest.FixtureRequest, superior: Administrator, sponsor: Member
) -> None:
    caller: Any = sponsor if case.path in FOR_MEMBERS else superior
    url = f"{caller.stack.url}/functions/v1"
    response = case.call(base_url=url, headers={"authorization": f"Bearer {caller.token}"})
    assert response.status_code < 500, response.text
    if response.status_code >= 400 and case.method == "POST":
        body = response.json()
        assert set(body) >= {"error", "code"}, body
