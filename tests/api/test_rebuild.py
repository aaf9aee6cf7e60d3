"""Sums and counters derived from the rows again, through the API: who may, and what is said."""

from typing import Any

import psycopg
import pytest

from tests.support.people import Administrator, Member
from tests.support.stack import Stack

Owner = psycopg.Connection[dict[str, Any]]


def rebuild(administrator: Administrator, reason: Any = "After a restore") -> Any:
    """Call the RPC; return its response."""
    return administrator.rpc("rebuild_counters", {"p_reason": reason})


def damage(stack: Stack, statement: str, *arguments: object) -> None:
    """Change rows behind the triggers."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as connection:
        connection.execute("set local session_replication_role = replica")
        connection.execute(statement, arguments)


def test_only_a_super_admin_may_and_only_with_a_reason(
    super_admin: Administrator, finance: Administrator, support: Administrator, member: Member
) -> None:
    for person, message in (
        (finance, "A finance admin cannot do this."),
        (support, "A support admin cannot do this."),
    ):
        response = rebuild(person)
        assert (response.status_code, response.json()["code"]) == (403, "forbidden")
        assert response.json()["message"] == message
    assert member.rpc("rebuild_counters", {"p_reason": "x"}).status_code == 403
    for reason, code, message in (
        ("", "reason_required", "Give a reason."),
        ("  ", "reason_required", "Give a reason."),
        (None, "reason_required", "Give a reason."),
        ("x" * 1001, "invalid_reason", "A reason has at most 1,000 characters."),
    ):
        response = rebuild(super_admin, reason)
        assert (response.status_code, response.json()["code"]) == (400, code)
        assert response.json()["message"] == message


@pytest.mark.alone
def test_where_all_agrees_nothing_changes_and_damage_is_set_right(
    super_admin: Administrator, member: Member, stack: Stack, owner: Owner
) -> None:
    assert rebuild(super_admin).json() == {"success": True, "changes": [], "count": 0}
    damage(stack, "update private.totals set referral_count = 7 where user_id = %s", member.user_id)
    response = rebuild(super_admin)
    assert response.status_code == 200, response.text
    assert response.json() == {
        "success": True,
        "changes": [
            {
                "kind": "totals",
                "object": member.user_id,
                "user_id": member.user_id,
                "old": {"referral_count": 7},
                "new": {"referral_count": 0},
            }
        ],
        "count": 1,
    }
    assert rebuild(super_admin).json()["count"] == 0
    row = owner.execute(
        "select payload ->> 'reason' as reason, payload -> 'count' as count, payload ->> 'actor_role' as role"
        " from private.audit_log where action = 'books.rebuilt' order by at desc offset 1 limit 1"
    ).fetchone()
    assert row == {"reason": "After a restore", "count": 1, "role": "super_admin"}
