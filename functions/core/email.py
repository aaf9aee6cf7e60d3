"""Composes e-mails and hands them to the mail server."""

from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal

import aiosmtplib

# Errors of a delivery: the server's answers, the network, an address that cannot be written.
DELIVERY_ERRORS = (aiosmtplib.SMTPException, OSError, ValueError)
IMPLICIT_TLS_PORT = 465
SmtpTls = Literal["", "starttls", "implicit", "none"]


def log_fields(error: Exception) -> dict[str, object]:
    """Return what a log may say of a failed delivery: not the server's own words, which quote the address."""
    cause = error.recipients[0] if isinstance(error, aiosmtplib.SMTPRecipientsRefused) else error
    fields = {"error": type(cause).__name__, "code": getattr(cause, "code", None)}
    quoting = isinstance(cause, aiosmtplib.SMTPResponseException | ValueError)
    return fields if quoting else {**fields, "reason": str(cause)}


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
    """A mail server; sign-in only with a username.

    With TLS or not at all: who could take the offer of it away would read passwords and sign-in links. The
    system's store must know the certificate, and the certificate the server.

    Attributes:
        tls: `starttls`, `implicit` (from the first byte) or `none`; by default as the port is used.
    """

    hostname: str
    port: int
    username: str
    password: str
    timeout_seconds: float
    tls: SmtpTls = ""

    async def send(self, message: EmailMessage) -> None:
        """Return when the server has taken the message.

        Raises:
            DELIVERY_ERRORS: it has not, as far as is known.
        """
        tls = self.tls or ("implicit" if self.port == IMPLICIT_TLS_PORT else "starttls")
        await aiosmtplib.send(
            message,
            hostname=self.hostname,
            port=self.port,
            username=self.username or None,
            password=self.password or None,
            use_tls=tls == "implicit",
            start_tls=tls == "starttls",
            timeout=self.timeout_seconds,
        )
