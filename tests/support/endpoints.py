"""Every endpoint that the product has, found where it is declared, with a request to make of each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg

from functions.auth.app import ROUTES as AUTH_ROUTES
from tests.support.files import png
from tests.support.people import Member
from tests.support.service_apps import edge_app, storage_app
from tests.support.wallet import wallet_of

ANONYMOUS = "7d0ab7a4-5c3b-4a3e-8f55-0c2f1b1f9a10"
TABLE_VERBS = ("GET", "POST", "PATCH", "DELETE")
# By type of the argument: values that are right in form and name nothing that exists.
ARGUMENTS: dict[str, Any] = {
    "uuid": ANONYMOUS,
    "uuid[]": [ANONYMOUS],
    "text": "x",
    "jsonb": {},
    "integer": 1,
    "bigint": 2**40,
    "numeric": 1,
    "boolean": True,
    "date": "2026-01-01",
}
FUNCTION_BODIES: dict[str, dict[str, Any]] = {
    "admin-accounts": {"action": "list"},
    "admin-approve-deposit": {"depositId": ANONYMOUS, "action": "approve"},
    "admin-approve-withdrawal": {"withdrawalId": ANONYMOUS, "action": "approve"},
    "admin-audit": {"pageSize": 1},
    "admin-auth": {"action": "totp_disable", "code": "000000"},
    "admin-close-account": {"profileId": ANONYMOUS, "reason": "x"},
    "admin-confirm-correction": {"correctionId": ANONYMOUS},
    "admin-download-data": {"profileId": ANONYMOUS, "reason": "x"},
    "admin-export": {"list": "deposits"},
    "admin-get-receipt": {"receiptUrl": "https://x.example/storage/v1/object/public/receipts/a/1.png"},
    "admin-get-transactions": {"page": 1, "pageSize": 1},
    "admin-jobs": {"action": "list"},
    "admin-list-deposits": {"page": 1, "pageSize": 1},
    "admin-list-withdrawals": {"page": 1, "pageSize": 1},
    "admin-propose-correction": {"kind": "void_deposit", "targetId": ANONYMOUS, "reason": "x"},
    "admin-remove-factors": {"profileId": ANONYMOUS, "reason": "x"},
    "admin-reveal-mt5-password": {"subscriptionId": ANONYMOUS},
    "admin-settings": {"action": "readiness"},
    "admin-update-member": {"profileId": ANONYMOUS, "admin_notes": "x"},
    "admin-update-subscription": {"subscriptionId": ANONYMOUS, "status": "active", "reason": "x"},
    "bot-subscription": {"bot_name": "Ranger", "action": "unsubscribe"},
    "close-account": {"confirmed": False},
    "download-data": {},
}


@dataclass(frozen=True)
class Endpoint:
    """One verb at one template of the gateway's paths."""

    method: str
    template: str

    @property
    def service(self) -> str:
        """rest, auth, storage or functions."""
        return self.template.split("/")[1]

    @property
    def last(self) -> str:
        """The function's, RPC's or table's name."""
        return self.template.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Call:
    """What is sent to an endpoint."""

    path: str
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """For httpx."""
        if self.content is not None:
            return {"content": self.content, "headers": self.headers}
        return (
            {"headers": self.headers} if self.body is None else {"json": self.body, "headers": self.headers}
        )


def found(owner: psycopg.Connection[dict[str, Any]]) -> list[Endpoint]:
    """Return the services' routes, and the tables and functions of the schema that PostgREST shows."""
    tables = owner.execute(
        "select c.relname as name from pg_class as c where c.relnamespace = 'public'::regnamespace"
        " and c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1"
    )
    functions = owner.execute(
        "select p.proname as name from pg_proc as p where p.pronamespace = 'public'::regnamespace"
        " and p.prorettype <> 'trigger'::regtype order by 1"
    )
    return [
        *(Endpoint(method, f"/functions/v1{path}") for method, path in _routes(edge_app())),
        *(Endpoint(method, f"/storage/v1{path}") for method, path in _routes(storage_app())),
        *(Endpoint(method, f"/auth/v1{route.path}") for route in AUTH_ROUTES for method in route.endpoints),
        *(Endpoint(verb, f"/rest/v1/{row['name']}") for row in tables.fetchall() for verb in TABLE_VERBS),
        *(Endpoint("POST", f"/rest/v1/rpc/{row['name']}") for row in functions.fetchall()),
    ]


def _routes(app: Any) -> Iterator[tuple[str, str]]:
    for entry in app.routes:
        included = getattr(entry, "original_router", None)
        for route in included.routes if included else [entry]:
            for method in sorted(route.methods):
                yield method, route.path


@dataclass
class Requests:
    """Builds a request for each endpoint; the rows it refers to belong to one member."""

    owner: psycopg.Connection[dict[str, Any]]
    member: Member
    receipt: str

    def of(self, endpoint: Endpoint, principal: str) -> Call:
        """Return the request of `principal`: equal for all, except that no two write the same value."""
        makers = {
            "rest": self._rest,
            "auth": self._auth,
            "storage": self._storage,
            "functions": self._function,
        }
        return makers[endpoint.service](endpoint, principal)

    def _function(self, endpoint: Endpoint, _: str) -> Call:
        if endpoint.method != "POST":
            return Call(endpoint.template)
        return Call(endpoint.template, FUNCTION_BODIES.get(endpoint.last, {}))

    def _auth(self, endpoint: Endpoint, _: str) -> Call:
        path = (
            endpoint.template.replace("{user_id}", self.member.user_id)
            .replace("{factor_id}", ANONYMOUS)
            .replace("{identity_id}", ANONYMOUS)
            .replace("{rest}", "x")
            .replace("{more}", "x")
        )
        # Does not end the principal's own session.
        query = "?scope=others" if endpoint.last == "logout" else ""
        return Call(path + query, {} if endpoint.method in ("POST", "PUT", "PATCH") else None)

    def _storage(self, endpoint: Endpoint, _: str) -> Call:
        path = endpoint.template.replace("{bucket}", "receipts").replace("{path:path}", self.receipt)
        bodies: dict[str, dict[str, Any]] = {
            "/bucket": {"name": "another"},
            "/bucket/{bucket}": {"public": True},
            "/object/sign/{bucket}": {"expiresIn": 60, "paths": [self.receipt]},
            "/object/sign/{bucket}/{path:path}": {"expiresIn": 60},
            "/object/upload/sign/{bucket}/{path:path}": {},
            "/object/list/{bucket}": {"prefix": self.member.user_id},
            "/object/list-v2/{bucket}": {"prefix": f"{self.member.user_id}/"},
            "/object/{bucket}": {"prefixes": [self.receipt]},
            "/object/move": self._transfer(f"{self.member.user_id}/{10**12}.png"),
            "/object/copy": self._transfer(self.receipt),
        }
        template = endpoint.template.removeprefix("/storage/v1")
        signed = f"{path}?token=x" if "/sign/" in path and endpoint.method != "POST" else path
        uploads = endpoint.method == "PUT" or template not in bodies
        if endpoint.method in ("POST", "PUT") and template.endswith("/{path:path}") and uploads:
            return Call(signed, content=png(), headers={"content-type": "image/png"})
        if endpoint.method in ("POST", "PUT") or (endpoint.method, template) == (
            "DELETE",
            "/object/{bucket}",
        ):
            return Call(path, bodies.get(template, {}))
        return Call(signed)

    def _transfer(self, target: str) -> dict[str, Any]:
        return {"bucketId": "receipts", "sourceKey": self.receipt, "destinationKey": target}

    def _rest(self, endpoint: Endpoint, principal: str) -> Call:
        if "/rpc/" in endpoint.template:
            return Call(endpoint.template, self._rpc(endpoint.last))
        key = "admin_id" if endpoint.last == "admin_sessions" else "user_id"
        mine = f"{endpoint.template}?{key}=eq.{self.member.user_id}"
        headers = {"prefer": "return=representation"}
        if endpoint.method == "GET":
            return Call(mine if key == "user_id" else f"{endpoint.template}?select=session_token")
        if endpoint.method == "DELETE":
            return Call(mine, headers=headers)
        if endpoint.method == "POST":
            return Call(endpoint.template, self._new_row(endpoint.last), headers=headers)
        wallet = wallet_of(self.member.user_id)
        changes: dict[str, Any] = {
            # The member stores what is stored already, so that nothing moves.
            "profiles": {"trc20_wallet_address": wallet if principal == "member" else "T-another"},
            "notifications": {"read_at": "2026-01-01T00:00:00Z"},
            "bot_subscriptions": {"status": "cancelled"},
            "lesson_progress": {"user_id": self.member.user_id},
            "admin_sessions": {"expires_at": "2099-01-01T00:00:00Z"},
        }
        return Call(mine, changes.get(endpoint.last, {"amount": 999}), headers=headers)

    def _new_row(self, table: str) -> dict[str, Any]:
        """Return a row in the member's name; its amount is invalid, so that no row is created."""
        owned = {"user_id": self.member.user_id, "amount": 0}
        rows: dict[str, dict[str, Any]] = {
            "deposits": {
                **owned,
                "id": ANONYMOUS,
                "reference_number": "x",
                "receipt_url": "x",
                "status": "pending",
            },
            "withdrawals": {**owned, "id": ANONYMOUS, "wallet_address": "x", "status": "pending"},
            "admin_sessions": {"admin_id": ANONYMOUS},
        }
        return rows.get(table, {"user_id": self.member.user_id})

    def _rpc(self, name: str) -> dict[str, Any]:
        special: dict[str, dict[str, Any]] = {
            "get_earnings": {"p_range": "30d"},
            "get_flows": {"p_range": "30d"},
            "get_statement": {"p_month": datetime.now(UTC).date().isoformat()},
            "get_team_growth": {"p_range": "30d"},
            "get_team_tree": {"p_root": self.member.profile_id},
            "get_user_bot_subscriptions": {"p_user_id": self.member.user_id},
            "get_sponsor": {"p_referral_code": self.member.username},
            "note_export": {"p_list": "deposits", "p_filters": {}},
            "mark_notifications_read": {"p_ids": [ANONYMOUS]},
            "decide_deposit": {"p_deposit_id": ANONYMOUS, "p_action": "approve"},
            "decide_withdrawal": {"p_withdrawal_id": ANONYMOUS, "p_action": "approve"},
            "rebuild_counters": {"p_reason": ""},
            "update_subscription": {"p_subscription_id": ANONYMOUS, "p_status": "active", "p_reason": "x"},
        }
        if name in special:
            return special[name]
        arguments = self.owner.execute(
            "select a.name, format_type(a.type, null) as type from pg_proc as p"
            " cross join lateral unnest(p.proargnames, p.proargtypes::oid[])"
            " with ordinality as a (name, type, place)"
            " where p.pronamespace = 'public'::regnamespace and p.proname = %s"
            " and a.type is not null and a.place <= p.pronargs - p.pronargdefaults",
            [name],
        )
        return {row["name"]: ARGUMENTS[row["type"]] for row in arguments.fetchall()}
