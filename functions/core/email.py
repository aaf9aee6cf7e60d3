"""Hands e-mails to the mail server."""

from dataclasses import dataclass
from email.message import EmailMessage

import aiosmtplib

# What a delivery may raise: the server's answers, the network, an address that cannot be written.
DELIVERY_ERRORS = (aiosmtplib.SMTPException, OSError, ValueError)
IMPLICIT_TLS_PORT = 465


@dataclass(frozen=True)
class SmtpServer:
    """A mail server: TLS when it offers it, at port 465 from the first byte; sign-in only with a username."""

    hostname: str
    port: int
    username: str
    password: str
    timeout_seconds: float

    async def send(self, message: EmailMessage) -> None:
        """Return when the server has taken the message.

        Raises:
            DELIVERY_ERRORS: it has not, as far as is known.
        """
        await aiosmtplib.send(
            message,
            hostname=self.hostname,
            port=self.port,
            username=self.username or None,
            password=self.password or None,
            use_tls=self.port == IMPLICIT_TLS_PORT,
            timeout=self.timeout_seconds,
        )
