"""A database client that acts as members and administrators, under their own roles."""

import secrets
import uuid
from decimal import Decimal
from typing import Any

import orjson
import psycopg

from tests.support.reference_model import Person
from tests.support.wallet import wallet_of

Connection = psycopg.Connection[dict[str, Any]]


class DbClient:
    """The database under test, used as members and administrators."""

    def __init__(self, connection: Connection) -> None:
        self.db = connection
        self.users: dict[str, str] = {}
        self.profiles: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.admins = [self._administrator("super_admin"), self._administrator("finance_admin")]

    def _administrator(self, role: str) -> str:
        email = f"{secrets.token_hex(6)}@oracle.test"
        admin = str(
            self.value("select private.create_administrator(%s, 'Oracle', %s, '$argon2id$x')", email, role)
        )
        # Signed in for as long as a history lasts: the session's id is the administrator's.
        self.db.execute(
            "with s as (insert into public.admin_sessions (session_token, admin_id, expires_at)"
            " values (%(admin)s, %(admin)s, now() + interval '8 hours') returning session_token)"
            " insert into private.admin_session_activity (session_token, last_seen_at, jti_hash)"
            " select session_token, now() + interval '8 hours', sha256('oracle') from s",
            {"admin": admin},
        )
        return admin

    def value(self, query: str, *arguments: object) -> Any:
        """Return the single value of a query."""
        row = self.db.execute(query, arguments).fetchone()
        assert row is not None
        return next(iter(row.values()))

    def attempt(self, claims: dict[str, Any], query: str, *arguments: object) -> str | None:
        """Run a statement as a role; return its error code, or None on success."""
        return self.attempt_on(self.db, claims, query, *arguments)

    def attempt_on(
        self, connection: Connection, claims: dict[str, Any], query: str, *arguments: object
    ) -> str | None:
        """Run a statement as a role on another connection."""
        try:
            with connection.transaction():
                self.act(connection, claims, query, *arguments)
                connection.execute("select set_config('role', 'none', true)")
        except psycopg.Error as error:
            if error.sqlstate != "PGRST":
                raise
            return str(orjson.loads(error.diag.message_primary or "{}")["code"])
        return None

    @staticmethod
    def act(connection: Connection, claims: dict[str, Any], query: str, *arguments: object) -> None:
        """Run a statement as a role, inside a transaction."""
        connection.execute(
            "select set_config('request.jwt.claims', %s, true), set_config('role', %s, true)",
            [orjson.dumps(claims).decode(), claims["role"]],
        )
        connection.execute(query, arguments)

    def as_admin(self, number: int, query: str, *arguments: object) -> str | None:
        """Run a statement as an administrator, whose sign-in is recent: 0 proposes corrections, 1 decides."""
        self.db.execute(
            "update private.admin_session_activity set started_at = clock_timestamp()"
            " where session_token = %s and started_at < clock_timestamp() - interval '3 minutes'",
            [self.admins[number]],
        )
        return self.attempt(self.admin(number), query, *arguments)

    def admin(self, number: int) -> dict[str, str]:
        """Return the claims of an administrator."""
        admin = self.admins[number]
        return {"sub": admin, "sid": admin, "jti": "oracle", "role": "platform_admin"}

    def as_member(self, person: Person, query: str, *arguments: object) -> str | None:
        """Run a statement as a member."""
        return self.attempt({"sub": self.users[person.name], "role": "authenticated"}, query, *arguments)

    def proved(self, person: Person) -> dict[str, Any]:
        """Return the claims of a member who entered the password just now: the session's id is the user's."""
        user = self.users[person.name]
        with self.db.transaction():
            # Without the foreign keys: the auth service has no such user.
            self.db.execute("set local session_replication_role = replica")
            self.db.execute(
                "insert into auth.sessions (id, user_id, created_at, updated_at, aal)"
                " values (%(user)s, %(user)s, now(), now(), 'aal1') on conflict do nothing",
                {"user": user},
            )
            entered = self.value(
                "insert into auth.mfa_amr_claims"
                " (id, session_id, created_at, updated_at, authentication_method)"
                " values (%s, %s, now(), now(), 'password')"
                " on conflict (session_id, authentication_method) do update set updated_at = now()"
                " returning floor(extract(epoch from updated_at))::int",
                user,
                user,
            )
            self.db.execute("set local session_replication_role = origin")
        entry = {"method": "password", "timestamp": entered}
        return {"sub": user, "role": "authenticated", "session_id": user, "aal": "aal1", "amr": [entry]}

    def join(self, person: Person) -> None:
        """Create a confirmed member with a wallet."""
        user, username = str(uuid.uuid4()), f"o_{secrets.token_hex(8)}"
        referrer = self.profiles[person.referrer.name] if person.referrer else None
        profile = self.value(
            "select private.create_profile(%s, %s, %s, 'Oracle', %s)",
            user,
            f"{username}@oracle.test",
            username,
            referrer,
        )
        query = "update private.profiles set trc20_wallet_address = %s where user_id = %s"
        self.db.execute(query, [wallet_of(user), user])
        self.db.execute(
            "select private.audit('system', 'member.wallet_changed', 'profile', %s,"
            " private.member_entry(%s, array['wallet']))",
            [profile, profile],
        )
        self.users[person.name], self.profiles[person.name] = user, str(profile)
        self.names[user] = person.name

    def deposit(self, person: Person, amount: Decimal) -> tuple[str, str | None]:
        """Request a deposit with a receipt of its own; return the id, and the error code if there was one."""
        user, deposit = self.users[person.name], str(uuid.uuid4())
        name = f"{user}/{10**12 + secrets.randbelow(10**12)}.png"
        # Written directly, past the rate limit on receipts.
        with self.db.transaction():
            self.db.execute("set local session_replication_role = replica")
            self.db.execute(
                "insert into storage.objects (bucket_id, name, owner_id, metadata)"
                " values ('receipts', %s, %s, '{}')",
                [name, user],
            )
            self.db.execute("set local session_replication_role = origin")
        return deposit, self.as_member(
            person,
            "insert into public.deposits (id, user_id, amount, reference_number, receipt_url)"
            " values (%s, %s, %s, %s, %s)",
            deposit,
            user,
            amount,
            secrets.token_hex(32),
            f"http://localhost/storage/v1/object/public/receipts/{name}",
        )

    def completers(self) -> dict[tuple[str, int], str]:
        """Return the stored sources of paying pairs, keyed as in the reference model."""
        rows = self.db.execute(
            "select user_id::text, pair_number, source_user_id::text from public.bonuses"
            " where user_id = any(%s) and bonus_type = 'pairing' and amount > 0",
            [list(self.users.values())],
        ).fetchall()
        return {(self.names[r["user_id"]], r["pair_number"]): self.names[r["source_user_id"]] for r in rows}

    def bonuses(self) -> dict[tuple[str, str, str, int | None], Decimal]:
        """Return the stored bonuses of these members, keyed as in the reference model."""
        rows = self.db.execute(
            "select b.user_id::text, p.user_id::text as subject, b.bonus_type::text, b.pair_number, b.amount"
            " from public.bonuses as b join private.positions as p on p.no = b.subject_no"
            " where b.user_id = any(%s) and b.amount > 0",
            [list(self.users.values())],
        ).fetchall()
        return {
            (self.names[r["user_id"]], r["bonus_type"], self.names[r["subject"]], r["pair_number"]): r[
                "amount"
            ]
            for r in rows
        }
