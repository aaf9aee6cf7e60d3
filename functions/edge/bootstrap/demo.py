"""The demo: the sample network of sql/seed, its receipts, and the people who can sign in to it."""

from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from functions.edge.bootstrap import administrators, demo_bots
from functions.edge.bootstrap.accounts import Accounts
from functions.edge.bootstrap.receipt_image import Transfer, draw
from functions.edge.bootstrap.receipt_uploads import ReceiptUploads
from functions.edge.bootstrap.settings import BootstrapSettings
from functions.edge.support import passwords

SEED = Path(__file__).resolve().parents[3] / "sql" / "seed"
Database = psycopg.Connection[dict[str, Any]]


class DemoAdministrator(NamedTuple):
    """An administrator of the demo; `key` names the values printed."""

    key: str
    email: str
    name: str
    role: administrators.Role


ADMINISTRATORS = (
    DemoAdministrator("ADMIN", "admin@harborline.example", "Ada Holm", "super_admin"),
    DemoAdministrator("FINANCE", "elin@harborline.example", "Elin Dahl", "finance_admin"),
    DemoAdministrator("SUPPORT", "support@harborline.example", "Tilde Ros", "support_admin"),
)
# Members of the story who can sign in; neither is in the other's downline.
MEMBERS = {"MEMBER": "mara_l", "MEMBER2": "leo_marin"}


def seed(database: Database, settings: BootstrapSettings) -> dict[str, str]:
    """Load the sample network and make its accounts; each part can be repeated after an interruption.

    Returns what a person needs to look around, by the names of the stack's env file. A second run gives
    every account a new password, because the first one's are lost if its output was.
    """
    database.execute(script("story.sql"))
    receipts = database.execute(script("receipts.sql")).fetchall()
    uploads = ReceiptUploads(database, settings)
    for receipt in receipts:
        if not receipt["is_stored"]:
            uploads.put(receipt["user_id"], receipt["name"], draw(_transfer(receipt)))
    database.execute(script("demo.sql"))
    database.execute(script("published.sql"))
    demo_bots.subscribe(database)
    return {**_administrators(database), **_members(database, Accounts(settings))}


def script(name: str) -> bytes:
    """Return one file of the seed."""
    return (SEED / name).read_bytes()


def _transfer(receipt: dict[str, Any]) -> Transfer:
    return Transfer(
        amount=receipt["amount"],
        address=receipt["address"],
        reference=receipt["reference"],
        sent_at=f"{receipt['sent_at']:%d %b %Y, %H:%M} UTC",
    )


def _administrators(database: Database) -> dict[str, str]:
    lines = {}
    for administrator in ADMINISTRATORS:
        password = passwords.generate_password()
        administrators.put(database, administrator.email, administrator.name, administrator.role, password)
        lines[f"DEMO_{administrator.key}_EMAIL"] = administrator.email
        lines[f"DEMO_{administrator.key}_PASSWORD"] = password
    return lines


def _members(database: Database, accounts: Accounts) -> dict[str, str]:
    lines = {}
    for key, username in MEMBERS.items():
        profile = database.execute(
            "select id, user_id, email, display_name from private.profiles where username = %s", [username]
        ).fetchone()
        if profile is None:
            raise LookupError(f"{username} is not in the story")
        password = passwords.generate_password()
        metadata = {"username": username, "display_name": profile["display_name"]}
        accounts.put(profile["email"], password, metadata, str(profile["user_id"]))
        lines[f"DEMO_{key}_EMAIL"] = profile["email"]
        lines[f"DEMO_{key}_PASSWORD"] = password
        if key == "MEMBER":
            lines["DEMO_REFERRAL_CODE"] = str(profile["id"])
    return lines
