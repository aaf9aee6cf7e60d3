"""Members are notified of what they earn: soon, once, whichever worker does it."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from tests.support.mail import Mailbox
from tests.support.people import Administrator, Member, People
from tests.support.stack import Stack

SOON_SECONDS = 30


def notifications(member: Member, kind: str) -> list[dict[str, Any]]:
    """Return the member's notifications of one kind, newest first."""
    inbox = member.rpc("get_notifications").raise_for_status().json()
    return [item for item in inbox["items"] if item["kind"] == kind]


def until(condition: Callable[[], Any]) -> Any:
    """Wait until something is there, and return it."""
    end = time.monotonic() + SOON_SECONDS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def test_the_referrer_learns_of_a_sign_up_and_of_each_bonus(
    people: People, referrer: Member, finance: Administrator, mailbox: Mailbox
) -> None:
    earner = people.member(referrer.profile_id)
    people.fund(earner, 100, finance)
    choice = {"p_topic": "earnings", "p_wanted": True}
    earner.rpc("set_mail_choice", choice).raise_for_status()
    left, right = (people.member(earner.profile_id) for _ in range(2))
    joined = notifications(earner, "referral_joined")
    assert [item["title"] for item in joined] == [f"{m.username} joined your team" for m in (right, left)]

    people.fund(left, 50, finance)
    first = until(lambda: notifications(earner, "bonus_earned"))
    assert [(item["title"], item["amount"], item["link"]) for item in first] == [
        ("You earned $2.50", "2.50", "/transactions")
    ]
    people.fund(right, 50, finance)
    both = until(lambda: len(found := notifications(earner, "bonus_earned")) == 2 and found)
    assert (both[0]["amount"], both[0]["body"]) == (
        "22.50",
        f"{right.username}\u2019s deposit was approved and brought you a referral bonus of $2.50"
        " and a pairing bonus of $20.00 for pair 1.",
    )
    message = mailbox.wait_for(earner.email, "You earned $22.50")
    assert "You can switch this mail off in your settings." in message["text"]


def test_two_workers_notify_of_each_decision_once(
    stack: Stack, people: People, referrer: Member, finance: Administrator
) -> None:
    earner = people.member(referrer.profile_id)
    for _ in range(4):
        people.fund(people.member(earner.profile_id), 50, finance)

    def work(_: int) -> None:
        with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
            for _ in range(10):
                connection.execute("select jobs.notify_earnings(1)")

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(work, range(4)))
    until(lambda: len(notifications(earner, "bonus_earned")) == 4)
    time.sleep(1.5)
    bodies = [item["body"] for item in notifications(earner, "bonus_earned")]
    assert len(bodies) == len(set(bodies)) == 4
