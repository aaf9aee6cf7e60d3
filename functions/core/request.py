"""The client of a request, and its body within a limit."""

import ipaddress
from collections.abc import AsyncIterable

from starlette.requests import Request

UNKNOWN_ADDRESS = "127.0.0.1"
UNKNOWN_NETWORK = "unknown"
WIDE_ALLOWANCE = 10


class BodyTooLargeError(Exception):
    """The body is longer than allowed."""


def bearer_token(request: Request) -> str:
    """Return the token of `Authorization: Bearer`, or an empty text without one."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def client_address(request: Request) -> str:
    """Return the client's IP address: `X-Real-IP`, which only the gateway sets, else the peer's."""
    given = request.headers.get("x-real-ip") or (request.client.host if request.client else "")
    return str(_parsed(given.strip()) or UNKNOWN_ADDRESS)


def network_of(address: str) -> str:
    """Return what one client can hold of addresses: an IPv4 address itself, of an IPv6 address its /64.

    Every limit and count of a client goes by this, or by `networks_of`. What is no address is one client,
    `unknown`. SQL has the same as private.network_of(), and tests/support/client_networks.csv holds for both.
    """
    return networks_of(address)[0]


def networks_of(address: str) -> list[str]:
    """Return the networks that a client counts in: its own, and the /48 around one of IPv6.

    A customer may get a whole /48, which has WIDE_ALLOWANCE times as much as one network.
    """
    parsed = _parsed(address)
    if parsed is None:
        return [UNKNOWN_NETWORK]
    if parsed.version == 4:
        return [str(parsed)]
    return [str(ipaddress.ip_network((parsed, length), strict=False)) for length in (64, 48)]


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address without its zone, of an IPv4-mapped one the IPv4 address; None when it is none."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    if parsed.version == 4:
        return parsed
    return parsed.ipv4_mapped or ipaddress.IPv6Address(int(parsed))


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
