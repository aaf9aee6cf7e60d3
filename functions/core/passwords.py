"""A list of passwords that everybody guesses first; length alone does not keep them out.

`common-passwords.txt` holds the 3,000 most frequent ones of at least six characters, in lower case,
from the frequency lists of the zxcvbn project (MIT licence), and at its end the product's own name.
"""

from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("common-passwords.txt")


def is_common(password: str) -> bool:
    """Return whether the password, ignoring case, is one of the most frequent."""
    return password.lower() in _common()


@cache
def _common() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").split())
