"""Every kind of principal that could call an endpoint, also with tokens that no service may accept."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import httpx
from joserfc import jwk, jwt

from tests.support import plain_http
from tests.support.people import Administrator, Member, People, new_address
from tests.support.stack import stack_state

PRINCIPALS = (
    "none",
    "anon",
    "member",
    "other",
    "suspended",
    "support",
    "finance",
    "super",
    "service",
    "expired",
    "tampered",
    "alg_none",
    "foreign_key",
    "signed_out",
)
UNTRUSTED = ("expired", "tampered", "alg_none", "foreign_key", "signed_out")
SERVICES_OF_MEMBERS = ("auth", "storage")


class PrincipalClients:
    """One HTTP client for each principal; forged tokens imitate one that the service would accept."""

    def __init__(self, people: People, member: Member, other: Member, suspended: str) -> None:
        self.stack = people.stack
        administrators = {
            role: people.administrator(f"{role}_admin") for role in ("support", "finance", "super")
        }
        self._tokens = {
            "anon": self.stack.anon_key,
            # Most people signed in a while ago; what asks for a recent sign-in rejects them.
            "member": _earlier(member.token),
            "other": _earlier(other.token),
            "suspended": suspended,
            "service": self.stack.service_key,
            **{role: who.token for role, who in administrators.items()},
        }
        keys = stack_state() / "keys"
        self._false = {
            "members": _false(member.token, keys / "auth.json"),
            "administrators": _false(administrators["super"].token, keys / "admin.json"),
        }
        self._false["members"]["signed_out"] = _signed_out_member(people, member)
        self._false["administrators"]["signed_out"] = _signed_out_administrator(people)
        self._clients: dict[str, httpx.Client] = {}
        self._address = new_address(self.stack)

    def client(self, principal: str, service: str) -> httpx.Client:
        """Return the HTTP client of a principal for a service."""
        if principal == "none":
            return self._open("none", {})
        if principal in UNTRUSTED:
            kind = "members" if service in SERVICES_OF_MEMBERS else "administrators"
            return self._open(f"{principal} {kind}", self._headers(self._false[kind][principal]))
        return self._open(principal, self._headers(self._tokens[principal]))

    def _headers(self, token: str) -> dict[str, str]:
        return {"apikey": self.stack.anon_key, "authorization": f"Bearer {token}"}

    def _open(self, name: str, headers: dict[str, str]) -> httpx.Client:
        if name not in self._clients:
            self._clients[name] = plain_http.client(
                base_url=self.stack.url,
                headers=headers,
                timeout=30,
                address=self._address,
            )
        return self._clients[name]

    def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            client.close()


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token, unverified."""
    return _part(token.split(".")[1])


def signed(name: str, claims: dict[str, Any]) -> str:
    """Return a token signed with a key of the running stack: `auth` (members') or `admin`."""
    folder = stack_state() / "keys"
    document = json.loads((folder / f"{name}.json").read_text())
    header = {"alg": document["alg"], "kid": document["kid"]}
    given = {claim: value for claim, value in claims.items() if value is not None}
    return jwt.encode(header, given, jwk.import_key(document), algorithms=[document["alg"]])


def _earlier(token: str) -> str:
    """Return a token of the same session, as if its password had been shown an hour ago."""
    claims = claims_of(token)
    shown = [{**method, "timestamp": method["timestamp"] - 3600} for method in claims["amr"]]
    return signed("auth", {**claims, "amr": shown})


def _false(token: str, key_file: Path) -> dict[str, str]:
    """Tokens made of a good one and its signing key."""
    head, body, signature = token.split(".")
    header, claims = _part(head), _part(body)
    document = json.loads(key_file.read_text())
    key = jwk.import_key(document)
    is_rsa = document["kty"] == "RSA"
    fresh = jwk.generate_key("RSA", 2048) if is_rsa else jwk.generate_key("EC", "P-256")
    names = {"alg": header["alg"], "kid": header["kid"]}
    algorithms = [header["alg"]]
    return {
        "expired": jwt.encode(names, {**claims, "exp": int(time.time()) - 31}, key, algorithms=algorithms),
        "tampered": f"{head}.{_text({**claims, 'exp': claims['exp'] + 1})}.{signature}",
        "alg_none": f"{_text({'alg': 'none', 'typ': 'JWT'})}.{body}.",
        "foreign_key": jwt.encode(names, claims, fresh, algorithms=algorithms),
    }


def _signed_out_member(people: People, member: Member) -> str:
    again = people.sign_in(member.email, member.password)
    again.http.post("/auth/v1/logout?scope=local").raise_for_status()
    return again.token


def _signed_out_administrator(people: People) -> str:
    administrator: Administrator = people.administrator("super_admin")
    administrator.function("admin-auth", {"action": "logout"}).raise_for_status()
    return administrator.token


def _part(text: str) -> dict[str, Any]:
    return dict(json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))


def _text(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
