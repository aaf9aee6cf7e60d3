"""The limits that an operator may raise: the one table of their names, defaults and meanings.

What is not here is no operator's choice, such as the attempts at an administrator's password. GoTrue's own
limits have the names that GoTrue gives them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from launcher.terminal import Stop


@dataclass(frozen=True)
class Limit:
    """One limit.

    Attributes:
        most: the largest number; a time has none.
        form: `count`, `rate` (`300`, or `300/10m` for other than an hour) or `time` (`15m`).
    """

    name: str
    default: str
    meaning: str
    most: int = 1_000_000
    form: str = "count"

    def check(self, value: str) -> None:
        """Raise unless the value is one of this form, and not 0: no limit is switched off."""
        forms = {
            "count": (r"([1-9][0-9]*)", "a whole number"),
            "rate": (r"([1-9][0-9]*)(/[1-9][0-9]*[smh])?", "a whole number, or 300/10m in ten minutes"),
            "time": (r"[1-9][0-9]{0,5}[smh]()", "a time such as 90s, 15m or 2h"),
        }
        pattern, words = forms[self.form]
        found = re.fullmatch(pattern, value, re.ASCII)
        if not found or int(found[1] or 0) > self.most:
            most = "" if self.form == "time" else f", at most {self.most}"
            raise Stop(f"{self.name}={value} is not {words}{most}. It limits: {self.meaning}.")


LIMITS = (
    Limit(
        "GOTRUE_RATE_LIMIT_EMAIL_SENT",
        "300",
        "mails of the auth service in an hour; a client's network and a recipient's domain have a tenth each",
        form="rate",
    ),
    Limit("GOTRUE_SMTP_MAX_FREQUENCY", "60s", "time between two mails of a kind to one address", form="time"),
    Limit("GOTRUE_RATE_LIMIT_OTP", "30", "requests for a mail (each kind) from one address in five minutes"),
    Limit("GOTRUE_RATE_LIMIT_VERIFY", "30", "mailed links and codes from one address in five minutes"),
    Limit(
        "GOTRUE_RATE_LIMIT_TOKEN_REFRESH", "150", "sign-ins and refreshes from one address in five minutes"
    ),
    Limit(
        "GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY",
        "15",
        "authenticator codes from one address in a minute",
    ),
    Limit(
        "HARBORLINE_AUTH_FAILURE_LIMIT", "10", "wrong passwords or codes of one account in a window", most=100
    ),
    Limit(
        "HARBORLINE_AUTH_ADDRESS_FAILURE_LIMIT",
        "50",
        "wrong passwords from one address in a window",
        most=10_000,
    ),
    Limit("HARBORLINE_AUTH_FAILURE_WINDOW", "15m", "that window", form="time"),
    Limit("HARBORLINE_AUTH_CODE_ATTEMPTS", "10", "wrong attempts at one mailed code", most=100),
    Limit("HARBORLINE_REFERRER_LIMIT", "60", "look-ups of a sponsor from one address in five minutes"),
    Limit("HARBORLINE_USERNAME_LIMIT", "30", "look-ups of a username from one address in five minutes"),
)
NAMES = tuple(limit.name for limit in LIMITS)


def check(options: Mapping[str, str]) -> None:
    """Raise unless every limit that is given is one."""
    for limit in LIMITS:
        if limit.name in options:
            limit.check(options[limit.name])


def values(options: Mapping[str, str]) -> dict[str, str]:
    """Return every limit: what the operator said, else the default."""
    return {limit.name: options.get(limit.name, limit.default) for limit in LIMITS}


def table(options: Mapping[str, str]) -> str:
    """Return the table for people: name, value, default, meaning."""
    now = values(options)
    rows = [("name", "now", "default", "limits")]
    rows += [(limit.name, now[limit.name], limit.default, limit.meaning) for limit in LIMITS]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  " + "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )
