"""Generated passwords: nothing in the product has a default one."""

import secrets

# Without letters and digits that look alike.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def password() -> str:
    """Four groups of five, about 99 bits, easy to read out."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(5)) for _ in range(4))
