"""Limits of requests per client: GoTrue's token buckets, in memory.

Each instance counts what it is asked itself, so each allows its part of a limit.
"""

import time
from collections.abc import Sequence

from starlette.requests import Request

from functions.auth.settings import AuthSettings
from functions.core.errors import ApiError
from functions.core.request import WIDE_ALLOWANCE, networks_of

BURST = 30
_MOST_NETWORKS = 20_000
_ROUNDING = 1e-9


def networks_of_client(request: Request, header: str) -> list[str]:
    """Return the networks of the client that the gateway names in this header; none without it."""
    given = request.headers.get(header, "") if header else ""
    address = given.split(",")[0].strip()
    return networks_of(address) if address else []


class Bucket:
    """A token bucket per key."""

    def __init__(self, rate: float, burst: float) -> None:
        """Allow `burst` at once, refilled by `rate` a second."""
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, networks: Sequence[str]) -> bool:
        """Return whether a client with these networks (`networks_of`) is allowed one more now, and count it.

        One that is not allowed counts in neither of them.
        """
        now = time.monotonic()
        # A wide network has the same bucket, of which each request takes a smaller part.
        parts = dict(zip(networks, (1, 1 / WIDE_ALLOWANCE), strict=False))
        left = {network: self._left_of(network, now) for network in networks}
        is_allowed = all(left[network] >= part - _ROUNDING for network, part in parts.items())
        for network, part in parts.items():
            self._left[network] = (left[network] - part if is_allowed else left[network], now)
        while len(self._left) > _MOST_NETWORKS:
            # The least recently seen one has refilled most.
            del self._left[next(iter(self._left))]
        return is_allowed

    def _left_of(self, network: str, now: float) -> float:
        left, since = self._left.pop(network, (self._burst, now))
        return min(self._burst, left + (now - since) * self._rate)


class RateLimits:
    """One bucket per kind of request and client."""

    def __init__(self, settings: AuthSettings) -> None:
        """Read the rates, and how many instances they are divided among."""
        self._header = settings.rate_limit_header
        self._instances = settings.instances
        five_minutes = 300
        self._buckets = {
            kind: self._bucket(settings.rate_limit_otp, five_minutes)
            for kind in ("signup", "recover", "resend", "magiclink", "otp", "user")
        }
        self._buckets["verify"] = self._bucket(settings.rate_limit_verify, five_minutes)
        self._buckets["token"] = self._bucket(settings.rate_limit_token, five_minutes)
        self._buckets["challenge"] = self._bucket(settings.mfa_rate, 60)
        self._buckets["factor"] = self._bucket(settings.mfa_rate, 60)

    def _bucket(self, count: float, seconds: int) -> Bucket:
        """Return the bucket of so many requests in so many seconds, as far as they are this instance's."""
        return Bucket(self._part(count) / seconds, self._part(BURST))

    def _part(self, count: float) -> float:
        """Return this instance's part of a limit: one request at least, unless the whole is less."""
        return max(count / self._instances, min(count, 1))

    def check(self, kind: str, request: Request) -> None:
        """Count one request. Raises ApiError 429 when its client has none left."""
        networks = networks_of_client(request, self._header)
        if networks and not self._buckets[kind].take(networks):
            raise ApiError(429, "over_request_rate_limit", "Request rate limit reached")
