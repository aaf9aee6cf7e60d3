"""A member sees the own sessions and ends them one by one, or all but this one."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import Owner
from tests.support.people import Member, People


def code(response: httpx.Response) -> tuple[int, str]:
    """Return the status of an error and its code."""
    return response.status_code, response.json()["code"]


def sessions(member: Member) -> list[dict[str, Any]]:
    """Return the member's sessions, as the settings page lists them."""
    return list(member.rpc("get_my_sessions").raise_for_status().json())


@pytest.fixture
def phone(people: People, member: Member) -> Member:
    """Return the same member, signed in a second time."""
    return people.sign_in(member.email, member.password)


def test_an_ended_session_is_rejected_at_once(member: Member, phone: Member, owner: Owner) -> None:
    assert [session["is_current"] for session in sessions(phone)] == [True, False]
    here, there = sessions(member)
    assert here["is_current"]
    assert not there["is_current"]
    assert there["user_agent"]
    member.rpc("end_session", {"p_session_id": there["id"]}).raise_for_status()
    assert code(phone.rpc("get_my_sessions")) == (401, "session_ended")
    assert code(phone.function("sync-all-mlm-bonuses")) == (401, "session_ended")
    assert phone.http.get("/auth/v1/user").status_code == 403
    assert [session["id"] for session in sessions(member)] == [here["id"]]
    entries = owner.execute(
        "select payload ->> 'session' as session from private.audit_log where actor = %s and action = %s",
        [f"member:{member.user_id}", "member.session_ended"],
    ).fetchall()
    assert [entry["session"] for entry in entries] == [there["id"]]


def test_another_members_session_cannot_be_ended(people: People, member: Member, referrer: Member) -> None:
    stranger = people.member(referrer.profile_id)
    (theirs,) = sessions(stranger)
    assert code(member.rpc("end_session", {"p_session_id": theirs["id"]})) == (404, "not_found")
    member.rpc("end_other_sessions").raise_for_status()
    assert [session["id"] for session in sessions(stranger)] == [theirs["id"]]


def test_all_others_end_together(people: People, member: Member, phone: Member) -> None:
    laptop = people.sign_in(member.email, member.password)
    assert member.rpc("end_other_sessions").raise_for_status().json() == {"ended": 2}
    for ended in (phone, laptop):
        assert code(ended.rpc("get_my_sessions")) == (401, "session_ended")
    assert len(sessions(member)) == 1
