"""A TRC20 address for each test person: members who share one are flagged, and a payout to them asks why."""

from hashlib import sha256

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def wallet_of(seed: str) -> str:
    """Return a valid address, always the same one for a seed; tests/support/wallet.sql makes the same."""
    account = b"\x41" + sha256(seed.encode()).digest()[:20]
    number = int.from_bytes(account + sha256(sha256(account).digest()).digest()[:4])
    digits = ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        digits = _BASE58[digit] + digits
    return digits
