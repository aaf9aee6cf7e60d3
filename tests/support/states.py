"""Entries of the audit log for what a test wrote past the product, as the ledger checks ask for."""

from typing import Any, Protocol


class Connection(Protocol):
    """Whatever runs a statement as the owner of the database."""

    def execute(self, query: Any, parameters: Any = None) -> Any:
        """Run one statement."""


def set_member(owner: Connection, user_id: str, /, **columns: object) -> None:
    """Set wallet, status or hold of a member as an honest change would."""
    # At once: a hold has a reason and an end, or neither.
    assigned = ", ".join(f"{name} = %s" for name in columns)
    owner.execute(
        f"update private.profiles set {assigned} where user_id = %s",
        [*columns.values(), user_id],
    )
    owner.execute(
        "select private.audit('system', 'member.updated', 'profile', p.id,"
        " private.member_entry(p.id, array['wallet', 'status', 'hold_until']))"
        " from private.profiles as p where p.user_id = %s",
        [user_id],
    )


def set_administrator(owner: Connection, address: str, /, **columns: object) -> None:
    """Set columns of an administrator as an honest change would."""
    found = owner.execute("select id from private.admin_users where email = %s", [address]).fetchone()
    admin_id = next(iter(found.values())) if isinstance(found, dict) else found[0]
    for name, value in columns.items():
        owner.execute(f"update private.admin_users set {name} = %s where id = %s", [value, admin_id])
    owner.execute(
        "select private.audit('system', 'admin.recovered', 'admin_user', %s,"
        " private.administrator_entry(%s, array['email', 'role', 'is_active', 'password', 'two_step']))",
        [admin_id, admin_id],
    )
