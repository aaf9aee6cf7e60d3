"""The demo: the sample network of sql/seed, its receipts, and the people who can sign in to it."""

from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from functions.edge import generated
from functions.edge.bootstrap import administrators, demo_bots
from functions.edge.bootstrap.accounts import Accounts
from functions.edge.bootstrap.receipt_image import Transfer, draw
from functions.edge.bootstrap.receipt_shelf import ReceiptShelf
from functions.edge.bootstrap.settings import BootstrapSettings

SEED = Path(__file__).resolve().parents[3] / "sql" / "seed"
Database = psycopg.Connection[dict[str, Any]]


class Official(NamedTuple):
    """An administrator of the demo."""

    key: str
    email: str
    name: str
    role: administrators.Role


OFFICIALS = (
    Official("ADMIN", "admin@harborline.example", "Ada Holm", "super_admin"),
    Official("FINANCE", "elin@harborline.example", "Elin Dahl", "finance_admin"),
    Official("SUPPORT", "support@harborline.example", "Tilde Ros", "support_admin"),
)
# Members of the story who can sign in; neither stands in the other's line.
MEMBERS = {"MEMBER": "mara_l", "MEMBER2": "leo_marin"}


def seed(database: Database, settings: BootstrapSettings) -> dict[str, str]:
    """Play the story and make the sign-ins; each part can be done again after an interruption.

    Returns what a person needs to look around, by the names of the stack's env file. A second run gives
    every sign-in a new password: the first one's are known to nobody if its answer was lost.
    """
    database.execute(script("story.sql"))
    receipts = database.execute(script("receipts.sql")).fetchall()
    shelf = ReceiptShelf(database, settings)
    for receipt in receipts:
        if not receipt["is_stored"]:
            shelf.put(receipt["user_id"], receipt["name"], draw(_transfer(receipt)))
    database.execute(script("demo.sql"))
    database.execute(script("coverage.sql"))
    demo_bots.subscribe(database)
    return {**_officials(database), **_members(database, Accounts(settings))}


def script(name: str) -> bytes:
    """One file of the seed."""
    return (SEED / name).read_bytes()


def _transfer(receipt: dict[str, Any]) -> Transfer:
    return Transfer(
        amount=receipt["amount"],
        address=receipt["address"],
        reference=receipt["reference"],
        sent_at=f"{receipt['sent_at']:%d %b %Y, %H:%M} UTC",
    )


def _officials(database: Database) -> dict[str, str]:
    lines = {}
    for official in OFFICIALS:
        password = generated.password()
        administrators.put(database, official.email, official.name, official.role, password)
        lines[f"DEMO_{official.key}_EMAIL"] = official.email
        lines[f"DEMO_{official.key}_PASSWORD"] = password
    return lines


def _members(database: Database, accounts: Accounts) -> dict[str, str]:
    lines = {}
    for key, username in MEMBERS.items():
        profile = database.execute(
            "select id, user_id, email, display_name from private.profiles where username = %s", [username]
        ).fetchone()
        if profile is None:
            raise LookupError(f"{username} is not in the story")
        password = generated.password()
        metadata = {"username": username, "display_name": profile["display_name"]}
        accounts.put(profile["email"], password, metadata, str(profile["user_id"]))
        lines[f"DEMO_{key}_EMAIL"] = profile["email"]
        lines[f"DEMO_{key}_PASSWORD"] = password
        if key == "MEMBER":
            lines["DEMO_REFERRAL_CODE"] = str(profile["id"])
    return lines
