"""Administrators' accounts made without an administrator: the first one, further ones, and the demo's."""

from typing import Any, Literal

import psycopg
from argon2 import PasswordHasher

from functions.edge.support import passwords

Role = Literal["super_admin", "finance_admin", "support_admin"]
Database = psycopg.Connection[dict[str, Any]]


class AlreadyExistsError(Exception):
    """There is a super administrator: a further account is not the first."""

    def __init__(self) -> None:
        super().__init__(
            "There is a super administrator already. "
            "Further accounts are made in the panel, or with the command administrator."
        )


def make_first(database: Database, email: str, name: str) -> str:
    """Make the first super administrator and return the generated password.

    Raises:
        AlreadyExistsError: there is one, active or not.
    """
    password = passwords.generate_password()
    with database.transaction():
        database.execute("lock table private.admin_users in share row exclusive mode")
        found = database.execute("select from private.admin_users where role = 'super_admin'")
        if found.rowcount:
            raise AlreadyExistsError
        put(database, email, name, "super_admin", password)
    return password


def make_further(database: Database, email: str, name: str, role: Role) -> str:
    """Make an administrator who counts as another person than everybody else; return the generated password.

    All administrators are mailed, and the audit log says so.
    """
    password = passwords.generate_password()
    hashed = PasswordHasher().hash(password)
    database.execute("select private.add_administrator(%s, %s, %s, %s)", [email, name, role, hashed])
    return password


def recover(database: Database, email: str, new_email: str, reason: str) -> str:
    """Let an administrator in again who lost device or mail address; return the generated password.

    Two-step sign-in is off until it is set up again, and all sessions end. The audit log says so.
    """
    password = passwords.generate_password()
    hashed = PasswordHasher().hash(password)
    database.execute(
        "select private.recover_administrator(%s, %s, %s, %s)", [email, new_email, hashed, reason]
    )
    return password


def put(database: Database, email: str, name: str, role: Role, password: str) -> None:
    """Make an administrator, or give an existing one this password."""
    hashed = PasswordHasher().hash(password)
    database.execute("select private.put_administrator(%s, %s, %s, %s)", [email, name, role, hashed])
