"""`python -m functions.edge.support.key_rotation`: encrypt every secret anew with the active key.

Runs as the owner of the database while the service runs: add a key to the file, make it active, restart
the functions, run this, and take the old key out once nothing is left. Each row changes only if it is still
what was read, so a member who subscribes meanwhile is not undone.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from functions.core.settings import EnvironmentSettings
from functions.edge.support.crypto import Ciphertext, DecryptionError, Encryptor


class KeyRotationSettings(EnvironmentSettings):
    """`database_url` of the owner, and the key file."""

    database_url: str
    secrets_key_path: Path


class EncryptedColumn(NamedTuple):
    """Where ciphertexts are stored, what they are bound to beside the table's name, and their audit entry."""

    table: sql.Identifier
    name: str
    id: sql.Identifier
    key: sql.Identifier
    secret: sql.Identifier
    bound: sql.SQL
    audit: sql.SQL | None = None


ENCRYPTED_COLUMNS = (
    EncryptedColumn(
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
    EncryptedColumn(
        sql.Identifier("private", "admin_users"),
        "admin_users",
        sql.Identifier("id"),
        sql.Identifier("totp_key_id"),
        sql.Identifier("totp_secret"),
        sql.SQL("array[t.id]::text[]"),
        # The state of an administrator has the digest of a confirmed secret.
        sql.SQL(
            "select private.audit('system', 'admin.secret_encrypted', 'admin_user', a.id, "
            "private.administrator_entry(a.id, array['two_step'])) "
            "from private.admin_users as a where a.id = %s and a.totp_confirmed_at is not null"
        ),
    ),
)
SELECT_OLD = sql.SQL(
    "select t.{id} as id, t.{key} as key, t.{secret} as secret, {bound} as bound from {table} as t "
    "where t.{key} <> %s"
)
REPLACE = sql.SQL("update {table} set {key} = %s, {secret} = %s where {id} = %s and {secret} = %s")


def rotate(database: psycopg.Connection[dict[str, Any]], encryptor: Encryptor) -> tuple[int, int]:
    """Encrypt anew what another key encrypted; return how many rows were, and how many could not be."""
    done = left = 0
    for column in ENCRYPTED_COLUMNS:
        names = {name: value for name, value in column._asdict().items() if name not in ("name", "audit")}
        for row in database.execute(SELECT_OLD.format(**names), [encryptor.active]).fetchall():
            old = Ciphertext(row["key"], bytes(row["secret"]))
            try:
                secret = encryptor.decrypt(old, column.name, *row["bound"])
            except DecryptionError:
                left += 1
                continue
            new = encryptor.encrypt(secret, column.name, *row["bound"])
            values = [new.key_id, new.data, row["id"], row["secret"]]
            with database.transaction():
                replaced = database.execute(REPLACE.format(**names), values).rowcount
                if replaced and column.audit:
                    database.execute(column.audit, [row["id"]])
            done += replaced
    return done, left


def main() -> None:
    """Run once and print what was done."""
    settings = KeyRotationSettings()
    with psycopg.connect(settings.database_url, row_factory=dict_row, autocommit=True) as database:
        done, left = rotate(database, Encryptor.read(settings.secrets_key_path))
    sys.stdout.write(f"REENCRYPTED={done}\nLEFT={left}\n")


if __name__ == "__main__":
    main()
