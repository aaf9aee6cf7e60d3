"""Composes e-mails and hands them to the mail server."""

from dataclasses import dataclass
from email.message import EmailMessage

import aiosmtplib

# What a delivery may raise: the server's answers, the network, an address that cannot be written.
DELIVERY_ERRORS = (aiosmtplib.SMTPException, OSError, ValueError)
IMPLICIT_TLS_PORT = 465


def compose(
    *, sender: str, recipient: str, subject: str, date: str, message_id: str, html: str, text: str = ""
) -> EmailMessage:
    """Return a message of HTML, and of plain text for clients that prefer it."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = recipient
    message["Subject"] = subject
    message["Date"] = date
    message["Message-ID"] = message_id
    if text:
        message.set_content(text)
        message.add_alternative(html, subtype="html", cte="quoted-printable")
    else:
        message.set_content(html, subtype="html", cte="quoted-printable")
    return message


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
