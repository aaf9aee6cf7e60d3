"""Encrypts a file with a key and decrypts it again.

AES-256-GCM in chunks: each chunk's nonce says its number and whether it is the last, so that a file that was
cut short, reordered or changed does not decrypt.
"""

import base64
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from launcher.settings import write_private
from launcher.terminal import Stop

MAGIC = b"HLSEAL1\n"
CHUNK = 2**20
TAG = 16


def _chunks(file: BinaryIO, size: int, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the nonce and the bytes of each chunk; no other chunk under this key has that nonce."""
    number, chunk = 0, file.read(size)
    while True:
        following = file.read(size)
        yield prefix + number.to_bytes(3, "big") + bytes([not following]), chunk
        if not following:
            return
        number, chunk = number + 1, following


def encrypt(key_file: Path, plain: BinaryIO, target: Path) -> None:
    """Write the ciphertext of what can be read, which is nothing without the key; a missing key is made."""
    if not key_file.exists():
        write_private(key_file, base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
    cipher, prefix = AESGCM(base64.b64decode(key_file.read_bytes())), secrets.token_bytes(8)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(MAGIC + prefix)
        for nonce, chunk in _chunks(plain, CHUNK, prefix):
            file.write(cipher.encrypt(nonce, chunk, MAGIC))
        file.flush()
        os.fsync(file.fileno())


def decrypt(key_file: Path, source: Path, target: Path) -> None:
    """Write the plain file."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        cipher = AESGCM(base64.b64decode(key_file.read_bytes()))
        with source.open("rb") as file, os.fdopen(descriptor, "wb") as plain:
            if file.read(len(MAGIC)) != MAGIC:
                raise InvalidTag
            for nonce, chunk in _chunks(file, CHUNK + TAG, file.read(8)):
                plain.write(cipher.decrypt(nonce, chunk, MAGIC))
    except (InvalidTag, ValueError) as error:
        raise Stop("This key does not open this file, or the file is damaged.") from error
