"""Sealing of secrets before they reach SQL: AES-256-GCM, bound to the row that holds them.

A sealed value opens only for the row, member and key that it was sealed for: copied to another row,
or put back after a change of key id, it does not open. The key lies outside the database.
"""

import base64
import os
from dataclasses import dataclass
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


class SealBroken(Exception):
    """The value was not sealed for this row, or its key is no longer there."""


@dataclass(frozen=True)
class Sealed:
    """What the database keeps: the key's id and nonce + ciphertext."""

    key_id: str
    data: bytes


class Sealer:
    """Seals with the active key and opens with any key of the file."""

    def __init__(self, active: str, keys: dict[str, bytes]) -> None:
        self.active = active
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}

    @classmethod
    def read(cls, path: Path) -> "Sealer":
        """Read `{"active": "<kid>", "keys": {"<kid>": "<base64 of 32 bytes>"}}`."""
        document = orjson.loads(path.read_bytes())
        keys = {key_id: base64.b64decode(key) for key_id, key in document["keys"].items()}
        return cls(document["active"], keys)

    def seal(self, secret: str, *row: str) -> Sealed:
        """Seal a text for one row, named by its table and ids."""
        nonce = os.urandom(NONCE_BYTES)
        cipher = self._ciphers[self.active]
        return Sealed(self.active, nonce + cipher.encrypt(nonce, secret.encode(), _bound(row, self.active)))

    def open(self, sealed: Sealed, *row: str) -> str:
        """Open a sealed text for the same row.

        Raises:
            SealBroken: it was sealed for another row, altered, or its key is gone.
        """
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise SealBroken
        nonce, ciphertext = sealed.data[:NONCE_BYTES], sealed.data[NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, ciphertext, _bound(row, sealed.key_id)).decode()
        except InvalidTag as error:
            raise SealBroken from error


def _bound(row: tuple[str, ...], key_id: str) -> bytes:
    return "|".join((*row, key_id)).encode()
