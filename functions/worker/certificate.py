"""Looks at the certificate that the gateway serves now, as a browser meets it."""

import asyncio
import ssl
from contextlib import suppress

from cryptography import x509

SECONDS = 5


async def expiry_of(address: str, domain: str) -> float | None:
    """Return when the certificate at `host:port` for a domain expires; nothing when none is served.

    It is read and not verified: also one that has expired says when.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    host, _, port = address.rpartition(":")
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname=domain)
            served = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            return x509.load_der_x509_certificate(served).not_valid_after_utc.timestamp()
    return None
