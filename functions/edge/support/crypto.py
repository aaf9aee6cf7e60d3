"""Encryption of secrets before they reach SQL: AES-256-GCM, bound to the row that holds them.

A ciphertext decrypts only for the row, member and key that it was made for: copied to another row, or put
back after a change of key id, it does not. The key lies outside the database.
"""

import base64
import os
from dataclasses import dataclass
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12


class DecryptionError(Exception):
    """The value was not encrypted for this row, or its key is no longer there."""


@dataclass(frozen=True)
class Ciphertext:
    """A secret as the database stores it: the key's id and nonce + ciphertext."""

    key_id: str
    data: bytes


class Encryptor:
    """Encrypts with the active key and decrypts with any key of the file."""

    def __init__(self, active: str, keys: dict[str, bytes]) -> None:
        self.active = active
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}

    @classmethod
    def read(cls, path: Path) -> "Encryptor":
        """Read `{"active": "<kid>", "keys": {"<kid>": "<base64 of 32 bytes>"}}`."""
        document = orjson.loads(path.read_bytes())
        keys = {key_id: base64.b64decode(key) for key_id, key in document["keys"].items()}
        return cls(document["active"], keys)

    def encrypt(self, secret: str, *row: str) -> Ciphertext:
        """Encrypt a text for one row, named by its table and ids."""
        nonce = os.urandom(NONCE_BYTES)
        encrypted = self._ciphers[self.active].encrypt(nonce, secret.encode(), _row_data(row, self.active))
        return Ciphertext(self.active, nonce + encrypted)

    def decrypt(self, ciphertext: Ciphertext, *row: str) -> str:
        """Decrypt a text of the same row.

        Raises:
            DecryptionError: it was encrypted for another row, altered, or its key is gone.
        """
        cipher = self._ciphers.get(ciphertext.key_id)
        if cipher is None:
            raise DecryptionError
        nonce, encrypted = ciphertext.data[:NONCE_BYTES], ciphertext.data[NONCE_BYTES:]
        try:
            return cipher.decrypt(nonce, encrypted, _row_data(row, ciphertext.key_id)).decode()
        except InvalidTag as error:
            raise DecryptionError from error


def _row_data(row: tuple[str, ...], key_id: str) -> bytes:
    """Return the associated data that binds a ciphertext to its row."""
    return "|".join((*row, key_id)).encode()
