"""Members and administrators for tests: real accounts, real tokens, through the gateway."""

import base64
import json
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import bcrypt
import httpx
import psycopg
from argon2 import PasswordHasher

from tests.support import plain_http
from tests.support.files import png
from tests.support.stack import Stack
from tests.support.wallet import wallet_of

# httpx's or that of requests.
AnyResponse = TypeVar("AnyResponse", bound=Any)
PASSWORD = "correct-horse-77"
TIMEOUT_SECONDS = 30
# One hash for all test administrators and one for all members: both kinds are slow on purpose.
_administrators_hash = PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash(PASSWORD)
_members_hash = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4, b"2a")).decode()


def new_address(stack: Stack) -> str:
    """Return a loopback address that no other process uses, because some limits count by address.

    Empty when the stack runs elsewhere.
    """
    if urlsplit(stack.url).hostname not in ("127.0.0.1", "localhost"):
        return ""
    return f"127.{64 + secrets.randbelow(64)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


def until_served(ask: Callable[[], AnyResponse]) -> AnyResponse:
    """Repeat while the server is at its concurrency limit: two exports at once, and a number of requests."""
    for _ in range(100):
        response = ask()
        if response.status_code != 503:
            break
        time.sleep(0.1)
    return response


@dataclass
class ApiClient:
    """A client that sends requests with a token, or with the public key alone."""

    stack: Stack
    token: str
    address: str = ""
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {"apikey": self.stack.anon_key, "authorization": f"Bearer {self.token}"}
        self.http = plain_http.client(
            base_url=self.stack.url,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            address=self.address,
        )

    def function(self, name: str, body: Any = None) -> httpx.Response:
        """POST a function, as the stock client does."""
        return self.http.post(f"/functions/v1/{name}", json={} if body is None else body)

    def rpc(self, name: str, body: Any = None) -> httpx.Response:
        """POST an RPC."""
        return self.http.post(f"/rest/v1/rpc/{name}", json={} if body is None else body)

    def rows(self, table: str, query: str = "select=*") -> httpx.Response:
        """GET rows of a table."""
        return self.http.get(f"/rest/v1/{table}?{query}")

    def insert(self, table: str, row: Any) -> httpx.Response:
        """POST a row, or a list of rows."""
        return self.http.post(f"/rest/v1/{table}", json=row, headers={"prefer": "return=representation"})

    def patch(self, table: str, query: str, values: Any) -> httpx.Response:
        """PATCH the rows that a filter finds."""
        headers = {"prefer": "return=representation"}
        return self.http.patch(f"/rest/v1/{table}?{query}", json=values, headers=headers)


@dataclass
class Member(ApiClient):
    """A confirmed member with a profile."""

    email: str = ""
    password: str = PASSWORD
    user_id: str = ""
    profile_id: str = ""
    username: str = ""

    def upload(
        self, content: bytes | None = None, extension: str = "png", kind: str = "image/png"
    ) -> httpx.Response:
        """Upload a receipt under the name that a client gives it (specification S26.5)."""
        path = f"{self.user_id}/{time.time_ns() // 1_000_000}.{extension}"
        file = (path.split("/")[1], content or png(), kind)
        return self.http.post(
            f"/storage/v1/object/receipts/{path}", files=[("cacheControl", (None, "3600")), ("", file)]
        )

    def receipt(self) -> str:
        """Upload a receipt and return the public form of its address."""
        key = self.upload().raise_for_status().json()["Key"]
        return f"{self.stack.url}/storage/v1/object/public/{key}"

    def deposit_row(self, amount: Any, **changes: Any) -> dict[str, Any]:
        """Return a deposit as a client sends it (specification S26.5), with a receipt of its own."""
        row = {
            "id": str(uuid.uuid4()),
            "user_id": self.user_id,
            "amount": amount,
            "reference_number": secrets.token_hex(32),
            "status": "pending",
            **changes,
        }
        if "receipt_url" not in row:
            row["receipt_url"] = self.receipt()
        return row

    def deposit(self, amount: Any) -> dict[str, Any]:
        """Request a deposit and return its row."""
        row = self.insert("deposits", self.deposit_row(amount)).raise_for_status().json()[0]
        return dict(row)

    def withdrawal_row(self, amount: Any, **changes: Any) -> dict[str, Any]:
        """Return a withdrawal as a client sends it (specification S26.5)."""
        row = {
            "id": str(uuid.uuid4()),
            "user_id": self.user_id,
            "amount": amount,
            "wallet_address": wallet_of(self.user_id),
            "status": "pending",
        }
        return {**row, **changes}

    def set_wallet(self) -> None:
        """Store the first wallet address."""
        wallet = {"trc20_wallet_address": wallet_of(self.user_id)}
        self.patch("profiles", f"user_id=eq.{self.user_id}", wallet).raise_for_status()


@dataclass
class Administrator(ApiClient):
    """A signed-in administrator."""

    email: str = ""
    admin_id: str = ""
    session_token: str = ""

    @property
    def claims(self) -> dict[str, Any]:
        """Return what the token says, as PostgREST hands it to the database."""
        payload = self.token.split(".")[1]
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return claims

    def export(self, body: Any) -> httpx.Response:
        """Ask for a file."""
        return until_served(lambda: self.function("admin-export", body))

    def approve_deposit(self, deposit_id: str, **more: Any) -> httpx.Response:
        """Approve a deposit through the function."""
        body = {"depositId": deposit_id, "action": "approve", **more}
        return self.function("admin-approve-deposit", body)


class People:
    """Makes members and administrators of one stack."""

    def __init__(self, stack: Stack, owner: psycopg.Connection[dict[str, Any]]) -> None:
        self.stack = stack
        self.owner = owner
        self.address = new_address(stack)
        self._shared: list[str] = []
        headers = {"apikey": stack.service_key, "authorization": f"Bearer {stack.service_key}"}
        self._auth = plain_http.client(
            base_url=f"{stack.url}/auth/v1", headers=headers, timeout=TIMEOUT_SECONDS
        )
        self._anonymous = self.anonymous()

    def anonymous(self) -> ApiClient:
        """Return an anonymous client: the public key alone."""
        return ApiClient(self.stack, self.stack.anon_key, self.address)

    def stranger(self) -> ApiClient:
        """Return an anonymous client from an address without recorded failures."""
        return ApiClient(self.stack, self.stack.anon_key, new_address(self.stack))

    def member(self, referrer: str, wallet: bool = True) -> Member:
        """Create a confirmed member below a referrer's profile id, signed in; with a wallet by default."""
        name = f"t_{secrets.token_hex(5)}"
        email = f"{name}@example.com"
        metadata = {
            "display_name": "Test Person",
            "username": name,
            "package_value": 0,
            "referrer_id": referrer,
        }
        made = self._auth.post(
            "/admin/users",
            json={
                "email": email,
                "password_hash": _members_hash,
                "email_confirm": True,
                "user_metadata": metadata,
            },
        )
        made.raise_for_status()
        member = self.sign_in(email, PASSWORD)
        if wallet:
            member.set_wallet()
        return member

    def sign_in_blocked(self, member: Member) -> ApiClient:
        """Sign in a member who may not read anything."""
        return ApiClient(
            self.stack, self._session(member.email, member.password)["access_token"], self.address
        )

    def _session(self, email: str, password: str) -> dict[str, Any]:
        session = self._auth.post("/token?grant_type=password", json={"email": email, "password": password})
        return dict(session.raise_for_status().json())

    def sign_in(self, email: str, password: str) -> Member:
        """Sign an existing member in."""
        body = self._session(email, password)
        member = Member(
            self.stack,
            body["access_token"],
            self.address,
            email=email,
            password=password,
            user_id=body["user"]["id"],
        )
        profile = member.rows("profiles", f"user_id=eq.{member.user_id}").raise_for_status().json()[0]
        member.profile_id, member.username = profile["id"], profile["username"]
        return member

    def account(self, role: str) -> str:
        """Create an administrator's account and return its email; the password is PASSWORD."""
        email = f"{role}-{secrets.token_hex(4)}@example.com"
        self.owner.execute(
            "select private.create_administrator(%s, %s, %s, %s)",
            [email, f"Test {role}", role, _administrators_hash],
        )
        return email

    def switch_administrators(self, ids: list[str], *, is_active: bool) -> None:
        """Switch administrators' accounts on or off, with the entries that the ledger checks ask for."""
        self.owner.execute(
            "update private.admin_users set is_active = %s where id = any(%s::uuid[])", [is_active, ids]
        )
        self.owner.execute(
            "select private.audit('system', 'admin.updated', 'admin_user', a.id,"
            " private.administrator_entry(a.id, array['is_active'])) from unnest(%s::uuid[]) as a (id)",
            [ids],
        )

    def administrator(self, role: str) -> Administrator:
        """Create an administrator with a role and sign in."""
        return self.sign_in_administrator(self.account(role))

    def shared_administrator(self, role: str) -> Administrator:
        """Create an administrator for a whole run, whose sign-in stays recent: see keep_recent()."""
        administrator = self.administrator(role)
        self._shared.append(administrator.session_token)
        return administrator

    def keep_recent(self) -> None:
        """Move the start of shared administrators' sessions up: some acts ask for a recent sign-in."""
        self.owner.execute(
            "update private.admin_session_activity as a set started_at = clock_timestamp()"
            " where a.session_token = any(%s::uuid[])"
            " and a.started_at < clock_timestamp() - interval '3 minutes'",
            [self._shared],
        )

    def sign_in_administrator(self, email: str, password: str = PASSWORD) -> Administrator:
        """Sign an administrator in through admin-auth."""
        login = {"action": "login", "email": email, "password": password}
        response = self._anonymous.function("admin-auth", login).raise_for_status().json()
        return Administrator(
            self.stack,
            response["access_token"],
            self.address,
            email=email,
            admin_id=response["admin"]["id"],
            session_token=response["session_token"],
        )

    def fund(self, member: Member, amount: int, administrator: Administrator) -> None:
        """Buy a package for a member: a deposit, approved."""
        deposit = member.deposit(amount)
        administrator.approve_deposit(deposit["id"]).raise_for_status()

    def earner(self, referrer: str, administrator: Administrator) -> Member:
        """Create a member with a VIP package and a full pair of VIP children: 1,100.00 to withdraw."""
        member = self.member(referrer)
        self.fund(member, 1000, administrator)
        for _ in range(2):
            self.fund(self.member(member.profile_id), 1000, administrator)
        return member
