"""Limits of requests per address, in memory: GoTrue's token buckets."""

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
        """Read the rates."""
        self._header = settings.rate_limit_header
        five_minutes = 300
        self._buckets = {
            kind: Bucket(settings.rate_limit_otp / five_minutes, BURST)
            for kind in ("signup", "recover", "resend", "magiclink", "otp", "user")
        }
        self._buckets["verify"] = Bucket(settings.rate_limit_verify / five_minutes, BURST)
        self._buckets["token"] = Bucket(settings.rate_limit_token / five_minutes, BURST)
        self._buckets["challenge"] = Bucket(settings.mfa_rate / 60, BURST)
        self._buckets["factor"] = Bucket(settings.mfa_rate / 60, BURST)

    def check(self, kind: str, request: Request) -> None:
        """Count one request. Raises ApiError 429 when its address has none left."""
        given = request.headers.get(self._header, "") if self._header else ""
        address = given.split(",")[0].strip()
        if address and not self._buckets[kind].take(address):
            raise ApiError(429, "over_request_rate_limit", "Request rate limit reached")
