"""Passwords that everybody guesses first, or whoever knows the person; length alone does not keep them out.

`common-passwords.txt` holds the 3,000 most frequent ones of at least six characters, in lower case,
from the frequency lists of the zxcvbn project (MIT licence), and at its end the product's own name.
"""

from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("common-passwords.txt")


def is_common(password: str, *own: object) -> bool:
    """Return whether the password, ignoring case, is easy to guess.

    It is so when it is one of the most frequent, blanks alone, one character again and again, or one of the
    person's `own` names and addresses, of an address also what stands before the @. What is no text is none.
    """
    given = password.casefold().strip()
    names = {name.casefold().strip() for name in own if isinstance(name, str)}
    names |= {name.partition("@")[0] for name in names}
    return len(set(given)) < 2 or given in names or password.lower() in _common()


@cache
def _common() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").split())
