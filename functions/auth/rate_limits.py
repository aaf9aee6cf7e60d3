"""Limits of requests per address: GoTrue's token buckets, in memory.

Each instance counts what it is asked itself, so each allows its part of a limit.
"""

import time

from starlette.requests import Request

from functions.auth.settings import AuthSettings
from functions.core.errors import ApiError

BURST = 30
_MOST_ADDRESSES = 20_000


class Bucket:
    """A token bucket per key."""

    def __init__(self, rate: float, burst: float) -> None:
        """Allow `burst` at once, refilled by `rate` a second."""
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> bool:
        """Return whether one more is allowed now, and count it."""
        now = time.monotonic()
        left, since = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._left[key] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _MOST_ADDRESSES:
            # The least recently seen address has refilled most.
            del self._left[next(iter(self._left))]
        return left >= 1


class RateLimits:
    """One bucket per kind of request and address.

    Addresses are limited only when the configured header is there: the gateway sets it.
    """

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
        """Count one request. Raises ApiError 429 when its address has none left."""
        given = request.headers.get(self._header, "") if self._header else ""
        address = given.split(",")[0].strip()
        if address and not self._buckets[kind].take(address):
            raise ApiError(429, "over_request_rate_limit", "Request rate limit reached")
