"""The bucket of receipts: named by member and time, never replaced or removed, not too many, never public."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyotp
import pytest

from tests.api.conftest import Owner
from tests.support import plain_http
from tests.support.files import HTML, PDF, SVG, png
from tests.support.people import Administrator, Member

AN_HOUR_FULL = "You have uploaded 10 receipts within an hour. Try again later."
A_DAY_FULL = "You have uploaded 20 receipts within a day. Try again tomorrow."
UNUSED_FULL = "You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day."


def put(member: Member, name: str, content: bytes, verb: str = "POST", **headers: str) -> httpx.Response:
    """Upload below the member's folder, or anywhere by a name with a leading slash."""
    path = name[1:] if name.startswith("/") else f"{member.user_id}/{name}"
    named = {"content-type": "image/png"} | {key.replace("_", "-"): value for key, value in headers.items()}
    return member.http.request(verb, f"/storage/v1/object/receipts/{path}", content=content, headers=named)


def stored(owner: Owner, member: Member) -> int:
    """How many receipts of a member there are."""
    row = owner.execute(
        "select count(*) as n from storage.objects where bucket_id = 'receipts' and owner_id = %s",
        [member.user_id],
    ).fetchone()
    return int(row["n"]) if row else 0


@pytest.mark.threat("T91")
def test_the_stored_address_opens_nothing(member: Member) -> None:
    url = member.receipt()
    for response in (plain_http.get(url, timeout=20), member.http.get(url), plain_http.head(url, timeout=20)):
        assert response.status_code == 400


@pytest.mark.threat("T93")
@pytest.mark.parametrize(
    "name",
    [
        "receipt.png",
        "123456789.png",
        "12345678901234567.png",
        "1234567890.gif",
        "1234567890.png.html",
        "1234567890",
        "sub/1234567890.png",
        "/1234567890.png",
        "/00000000-0000-4000-8000-000000000000/1234567890.png",
        "1234567890.PNG",
    ],
)
def test_other_names_are_rejected(owner: Owner, member: Member, name: str) -> None:
    response = put(member, name, png())
    assert (response.status_code, response.json()["statusCode"]) == (400, "403")
    assert stored(owner, member) == 0


@pytest.mark.threat("T95")
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (SVG, "image/svg+xml"),
        (HTML, "text/html"),
        (HTML, "image/png"),
        (PDF, "image/png"),
        (b"GIF89a", "image/gif"),
    ],
)
def test_other_files_are_rejected(owner: Owner, member: Member, content: bytes, kind: str) -> None:
    response = put(member, "1234567890.png", content, content_type=kind)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidMimeType")
    assert stored(owner, member) == 0


@pytest.mark.threat("T94")
def test_a_receipt_stays_as_it_is(owner: Owner, member: Member) -> None:
    first = png()
    put(member, "1234567890.png", first).raise_for_status()
    rejected = [
        put(member, "1234567890.png", png()),
        put(member, "1234567890.png", png(), x_upsert="true"),
        put(member, "1234567890.png", png(), verb="PUT"),
        member.http.delete(f"/storage/v1/object/receipts/{member.user_id}/1234567890.png"),
        member.http.post(
            "/storage/v1/object/move",
            json={
                "bucketId": "receipts",
                "sourceKey": f"{member.user_id}/1234567890.png",
                "destinationKey": f"{member.user_id}/1234567891.png",
            },
        ),
    ]
    assert [response.status_code for response in rejected] == [400] * len(rejected)
    current = member.http.get(f"/storage/v1/object/receipts/{member.user_id}/1234567890.png")
    assert current.content == first
    assert stored(owner, member) == 1


@pytest.mark.threat("T95")
@pytest.mark.parametrize("kind", ["image/png", "image/svg+xml", "text/html"])
def test_a_copy_is_not_said_to_be_another_type(owner: Owner, member: Member, kind: str) -> None:
    put(member, "1234567890.pdf", PDF, content_type="application/pdf").raise_for_status()
    asked = {
        "bucketId": "receipts",
        "sourceKey": f"{member.user_id}/1234567890.pdf",
        "destinationKey": f"{member.user_id}/1234567891.png",
        "copyMetadata": False,
        "metadata": {"mimetype": kind},
    }
    response = member.http.post("/storage/v1/object/copy", json=asked)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidMimeType")
    assert stored(owner, member) == 1


@pytest.mark.threat("T97")
def test_ten_an_hour_even_at_once(owner: Owner, member: Member) -> None:
    start = time.time_ns() // 1_000_000
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda n: put(member, f"{start + n}.png", png()), range(14)))
    taken = [response for response in responses if response.status_code == 200]
    assert len(taken) == stored(owner, member) == 10
    assert {response.json()["message"] for response in responses if response.status_code != 200} == {
        AN_HOUR_FULL
    }


@pytest.mark.threat("T97")
def test_only_receipts_that_no_deposit_uses_are_limited_for_good(owner: Owner, member: Member) -> None:
    def age(span: str) -> None:
        owner.execute(
            "update storage.objects set created_at = created_at - %s::interval where owner_id = %s",
            [span, member.user_id],
        )

    def rejected() -> str:
        response = put(member, f"{time.time_ns() // 1_000_000}.png", png())
        assert response.status_code == 400
        return str(response.json()["message"])

    for full in (AN_HOUR_FULL, A_DAY_FULL):
        for _ in range(10):
            member.rpc("cancel_request", {"p_id": member.deposit(50)["id"]}).raise_for_status()
        if full == A_DAY_FULL:
            age("2 hours")
        assert rejected() == full
        age("2 hours")
    age("1 day")
    member.receipt()
    owner.execute(
        "update storage.objects set metadata = metadata || '{\"size\": 52428800}'"
        " where owner_id = %s and created_at > now() - interval '1 minute'",
        [member.user_id],
    )
    assert rejected() == UNUSED_FULL
    assert stored(owner, member) == 21


@pytest.mark.threat("T35")
@pytest.mark.parametrize("status", ["suspended", "disabled"])
def test_a_blocked_member_is_rejected_at_once(
    member: Member, super_admin: Administrator, status: str
) -> None:
    member.receipt()
    change = {"profileId": member.profile_id, "account_status": status, "reason": "a test"}
    super_admin.function("admin-update-member", change).raise_for_status()
    for response in (
        put(member, "1234567890.png", png()),
        member.http.post("/storage/v1/object/list/receipts", json={"prefix": member.user_id}),
        member.http.get(f"/storage/v1/object/receipts/{member.user_id}/1.png"),
    ):
        body = response.json()
        assert response.status_code in (401, 403)
        assert body["statusCode"] == str(response.status_code)
        assert body["code"] in (f"account_{status}", "session_ended")


@pytest.mark.threat("T75")
def test_an_ended_session_is_rejected(member: Member) -> None:
    member.receipt()
    member.http.post("/auth/v1/logout").raise_for_status()
    response = put(member, "1234567890.png", png())
    assert (response.status_code, response.json()["code"]) == (401, "session_ended")


@pytest.mark.threat("T84")
def test_a_second_factor_is_asked_for(member: Member) -> None:
    receipt = member.receipt().split("/public/")[1]
    factor = member.http.post("/auth/v1/factors", json={"factor_type": "totp"}).raise_for_status().json()
    path = f"/auth/v1/factors/{factor['id']}"
    challenge = member.http.post(f"{path}/challenge", json={}).raise_for_status().json()
    code = pyotp.TOTP(factor["totp"]["secret"]).now()
    proof = {"challenge_id": challenge["id"], "code": code}
    stronger = member.http.post(f"{path}/verify", json=proof).raise_for_status().json()["access_token"]
    # The first token says aal1, whenever it was issued.
    response = member.http.get(f"/storage/v1/object/{receipt}")
    assert (response.status_code, response.json()["code"]) == (403, "aal2_required")
    opened = member.http.get(f"/storage/v1/object/{receipt}", headers={"authorization": f"Bearer {stronger}"})
    assert opened.status_code == 200
