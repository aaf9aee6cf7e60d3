"""The demo's bots: subscriptions as the endpoint makes them, with encrypted passwords."""

from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg

from functions.core.settings import EnvironmentSettings
from functions.edge.support import passwords
from functions.edge.support.crypto import Encryptor


class EncryptionSettings(EnvironmentSettings):
    """Settings of the edge service that the demo needs, too.

    Attributes:
        secrets_key_path: the key file that encrypts MT5 passwords (see crypto.py).
    """

    secrets_key_path: Path


class Subscription(NamedTuple):
    """A bot of a member of the story, and the MT5 account it trades with."""

    username: str
    bot: str
    server: str
    login: str


SUBSCRIPTIONS = (
    Subscription("mara_l", "Scout", "MetaQuotes-Demo", "50118204"),
    Subscription("noor_h", "Ranger", "MetaQuotes-Demo", "50120377"),
    Subscription("leo_marin", "Sentinel", "MetaQuotes-Demo", "50131965"),
)
MISSING = """
    select p.user_id from private.profiles as p
    where p.username = %(username)s and not exists (
        select 1 from public.bot_subscriptions as s where s.user_id = p.user_id and s.bot_name = %(bot)s
    )"""


def subscribe(database: psycopg.Connection[dict[str, Any]]) -> None:
    """Start each subscription that the member never had."""
    encryptor = Encryptor.read(EncryptionSettings().secrets_key_path)
    for wanted in SUBSCRIPTIONS:
        row = database.execute(MISSING, wanted._asdict()).fetchone()
        if row is None:
            continue
        user_id, subscription_id, password = str(row["user_id"]), str(uuid4()), passwords.generate_password()
        ciphertext = encryptor.encrypt(password, "bot_secrets", subscription_id, user_id)
        database.execute(
            "select edge.subscribe_bot(%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                user_id,
                subscription_id,
                wanted.bot,
                wanted.server,
                wanted.login,
                len(password),
                ciphertext.key_id,
                ciphertext.data,
            ],
        )
