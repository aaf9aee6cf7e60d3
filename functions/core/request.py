"""What a request says about its client, and its body within a limit."""

import ipaddress
from collections.abc import AsyncIterable

from starlette.requests import Request

UNKNOWN_ADDRESS = "127.0.0.1"


class BodyTooLargeError(Exception):
    """The body is longer than allowed."""


def bearer_token(request: Request) -> str:
    """Return the token of `Authorization: Bearer`, or an empty text without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def client_address(request: Request) -> str:
    """Return the client's IP address: `X-Real-IP`, which only the gateway sets, else the peer's."""
    given = request.headers.get("x-real-ip") or (request.client.host if request.client else "")
    try:
        return str(ipaddress.ip_address(given.strip()))
    except ValueError:
        return UNKNOWN_ADDRESS


def network_of(address: str) -> str:
    """Return what one client can hold of addresses: an IPv4 address itself, of an IPv6 address its /64."""
    parsed = ipaddress.ip_address(address)
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


async def read_within(pieces: AsyncIterable[bytes], limit: int) -> bytes:
    """Return a body of at most `limit` bytes.

    Raises:
        BodyTooLargeError: as soon as more have arrived.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > limit:
            raise BodyTooLargeError
    return bytes(body)
