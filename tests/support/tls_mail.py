"""A mail server with TLS, of an authority of the test's own; it can hide STARTTLS, as an attacker would."""

import contextlib
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.own_auth import MailServer, Smtp


@dataclass(frozen=True)
class Authority:
    """A throw-away certificate authority."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Authority":
        """Make one, with its certificate in `ca.pem`."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Throw-away authority")])
        extension = x509.BasicConstraints(ca=True, path_length=None)
        certificate = _signed(name, name, key, key, extension)
        (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(certificate, key, folder)

    @property
    def file(self) -> str:
        """Where its certificate lies, for SSL_CERT_FILE."""
        return str(self.folder / "ca.pem")

    def context(self, name: str) -> ssl.SSLContext:
        """Return what a server needs that has a certificate for this name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            known: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            known = x509.DNSName(name)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signed = _signed(
            subject, self.certificate.subject, key, self.key, x509.SubjectAlternativeName([known])
        )
        file = self.folder / f"{name}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        file.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=True)
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    return builder.sign(signer, hashes.SHA256())


class TlsSmtp(Smtp):
    """One conversation: of what was said, only what came encrypted is marked so."""

    server: "TlsMailServer"

    def setup(self) -> None:
        """Encrypt from the first byte if the server does."""
        if self.server.implicit:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        """Offer STARTTLS unless it is hidden; then go on as the plain server does."""
        if self.server.implicit or not self.server.offers:
            super().handle()
            return
        self._say("220 test")
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            self.server.in_clear.append(line)
            if line.upper().startswith("EHLO"):
                self._say("250-test")
                self._say("250 STARTTLS")
            elif line.upper() == "STARTTLS":
                self._say("220 go on")
                self.request = self.server.context.wrap_socket(self.request, server_side=True)
                super().setup()
                self.rfile = self.request.makefile("rb")
                self._talk([])
                return
            else:
                self._say("250 ok")


class TlsMailServer(MailServer):
    """Records conversations: `messages` those that ended, `in_clear` what was said before STARTTLS."""

    def __init__(self, context: ssl.SSLContext, implicit: bool = False, offers: bool = True) -> None:
        super().__init__(TlsSmtp)
        self.context, self.implicit, self.offers = context, implicit, offers
        self.in_clear: list[str] = []

    def handle_error(self, *_: object) -> None:
        """Say nothing: clients hang up on a wrong certificate."""


@contextlib.contextmanager
def serving(server: MailServer) -> Iterator[MailServer]:
    """Serve until the end of the block."""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
