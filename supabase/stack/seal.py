"""Seals a file with a key and opens it again; run by the Python environment, which has the cryptography.

Usage: seal.py seal|open KEY_FILE SOURCE TARGET. A missing key is made when sealing.

AES-256-GCM in chunks: each chunk's nonce says its number and whether it is the last, so that a file that was
cut short, reordered or changed does not open.
"""

import base64
import os
import secrets
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"HLSEAL1\n"
CHUNK = 2**20
TAG = 16


def nonce(prefix: bytes, number: int, last: bool) -> bytes:
    """Twelve bytes that no other chunk under this key has."""
    return prefix + number.to_bytes(3, "big") + bytes([last])


def seal(key: bytes, source: Path, target: Path) -> None:
    """Write the sealed file; its content is nothing without the key."""
    cipher, prefix = AESGCM(key), secrets.token_bytes(8)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as plain, os.fdopen(descriptor, "wb") as sealed:
        sealed.write(MAGIC + prefix)
        number, chunk = 0, plain.read(CHUNK)
        while True:
            following = plain.read(CHUNK)
            sealed.write(cipher.encrypt(nonce(prefix, number, not following), chunk, MAGIC))
            if not following:
                break
            number, chunk = number + 1, following
        sealed.flush()
        os.fsync(sealed.fileno())


def unseal(key: bytes, source: Path, target: Path) -> None:
    """Write the plain file.

    Raises:
        InvalidTag: another key, or the file is not whole.
    """
    cipher = AESGCM(key)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with source.open("rb") as sealed, os.fdopen(descriptor, "wb") as plain:
        if sealed.read(len(MAGIC)) != MAGIC:
            raise InvalidTag
        prefix, number, chunk = sealed.read(8), 0, sealed.read(CHUNK + TAG)
        while True:
            following = sealed.read(CHUNK + TAG)
            plain.write(cipher.decrypt(nonce(prefix, number, not following), chunk, MAGIC))
            if not following:
                return
            number, chunk = number + 1, following


def key_of(path: Path, make: bool) -> bytes:
    """The key in a file, made when it is missing and may be."""
    if make and not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(32)) + b"\n")
    return base64.b64decode(path.read_bytes())


def main() -> str | None:
    """Seal or open; a sentence when it could not."""
    action, key_file, source, target = sys.argv[1], *map(Path, sys.argv[2:5])
    try:
        key = key_of(key_file, make=action == "seal")
        (seal if action == "seal" else unseal)(key, source, target)
    except (InvalidTag, ValueError):
        return "This key does not open this file, or the file is damaged."
    return None


if __name__ == "__main__":
    sys.exit(main())
