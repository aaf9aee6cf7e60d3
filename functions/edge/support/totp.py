"""Two-step sign-in of administrators: time-based codes whose secret is stored encrypted.

A code counts once: the database stores the last time step used and takes only later ones.
"""

import io
import time
from typing import Any

import pyotp
import segno

from functions.core.database import Connection
from functions.core.errors import ApiError
from functions.edge.support.crypto import Ciphertext, Encryptor

STEP_SECONDS = 30
CODE_REQUIRED = ApiError(401, "totp_required", "Enter the six-digit code")
CODE_INVALID = ApiError(401, "totp_invalid", "That code did not match. Codes change every 30 seconds.")


def new_secret() -> str:
    """Return a fresh secret, base32."""
    return pyotp.random_base32()


def encrypt_secret(encryptor: Encryptor, secret: str, admin_id: str) -> Ciphertext:
    """Encrypt a secret for its administrator."""
    return encryptor.encrypt(secret, "admin_users", admin_id)


def provisioning_uri(secret: str, email: str, issuer: str) -> str:
    """Return the otpauth address that authenticator apps read."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def qr_code(address: str) -> str:
    """Return the same address as a QR code, SVG text."""
    buffer = io.BytesIO()
    segno.make(address, error="m").save(buffer, kind="svg", xmldecl=False, scale=4)
    return buffer.getvalue().decode()


async def require_code(
    connection: Connection, encryptor: Encryptor, admin: dict[str, Any], code: str
) -> None:
    """Accept a code of this step or the step before or after, once.

    Raises:
        ApiError: 401 when it does not match or was used before.
    """
    admin_id = str(admin["id"])
    ciphertext = Ciphertext(admin["totp_key_id"], bytes(admin["totp_secret"]))
    totp = pyotp.TOTP(encryptor.decrypt(ciphertext, "admin_users", admin_id))
    current = int(time.time()) // STEP_SECONDS
    for step in (current, current - 1, current + 1):
        if totp.verify(code, for_time=step * STEP_SECONDS) and await _use_step(connection, admin_id, step):
            return
    raise CODE_INVALID


async def _use_step(connection: Connection, admin_id: str, step: int) -> bool:
    cursor = await connection.execute("select edge.use_totp_step(%s, %s) as used", [admin_id, step])
    row = await cursor.fetchone()
    return bool(row and row["used"])
