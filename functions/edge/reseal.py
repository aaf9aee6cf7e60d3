"""`python -m functions.edge.reseal`: seal every secret anew with the active key of the key file.

Runs as the owner of the database beside the running service: add a key to the file, make it active, restart
the functions, run this, and take the old key out once nothing is left. Each row changes only if it is still
what was read, so a member who subscribes meanwhile is not undone.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from pydantic_settings import BaseSettings, SettingsConfigDict

from functions.edge.sealing import SealBroken, Sealed, Sealer


class ResealSettings(BaseSettings):
    """`database_url` of the owner, and the key file."""

    model_config = SettingsConfigDict(extra="ignore", hide_input_in_errors=True)

    database_url: str
    secrets_key_path: Path


class Shelf(NamedTuple):
    """Where sealed values lie: their columns, and what the seal is bound to beside the table's name."""

    table: sql.Identifier
    name: str
    id: sql.Identifier
    key: sql.Identifier
    secret: sql.Identifier
    bound: sql.SQL


SHELVES = (
    Shelf(
        sql.Identifier("private", "bot_secrets"),
        "bot_secrets",
        sql.Identifier("subscription_id"),
        sql.Identifier("key_id"),
        sql.Identifier("secret"),
        sql.SQL(
            "array[t.subscription_id, (select s.user_id from public.bot_subscriptions as s "
            "where s.id = t.subscription_id)]::text[]"
        ),
    ),
    Shelf(
        sql.Identifier("private", "admin_users"),
        "admin_users",
        sql.Identifier("id"),
        sql.Identifier("totp_key_id"),
        sql.Identifier("totp_secret"),
        sql.SQL("array[t.id]::text[]"),
    ),
)
OLD_ROWS = sql.SQL(
    "select t.{id} as id, t.{key} as key, t.{secret} as secret, {bound} as bound from {table} as t "
    "where t.{key} <> %s"
)
REPLACE = sql.SQL("update {table} set {key} = %s, {secret} = %s where {id} = %s and {secret} = %s")


def reseal(database: psycopg.Connection[dict[str, Any]], sealer: Sealer) -> tuple[int, int]:
    """Seal anew what another key sealed; returns how many rows were, and how many could not be opened."""
    done = left = 0
    for shelf in SHELVES:
        names = {name: value for name, value in shelf._asdict().items() if name != "name"}
        for row in database.execute(OLD_ROWS.format(**names), [sealer.active]).fetchall():
            try:
                secret = sealer.open(Sealed(row["key"], bytes(row["secret"])), shelf.name, *row["bound"])
            except SealBroken:
                left += 1
                continue
            sealed = sealer.seal(secret, shelf.name, *row["bound"])
            values = [sealed.key_id, sealed.data, row["id"], row["secret"]]
            done += database.execute(REPLACE.format(**names), values).rowcount
    return done, left


def main() -> None:
    """Run once and say what was done."""
    settings = ResealSettings()
    with psycopg.connect(settings.database_url, row_factory=dict_row, autocommit=True) as database:
        done, left = reseal(database, Sealer.read(settings.secrets_key_path))
    sys.stdout.write(f"RESEALED={done}\nLEFT={left}\n")


if __name__ == "__main__":
    main()
