"""One shape for refusals: the same stable code and exact text that PostgREST answers."""

from dataclasses import dataclass

import orjson
import psycopg

FALLBACK = {
    "42501": (403, "forbidden", "You are not allowed to do this."),
    "23505": (409, "duplicate_request", "This was already done."),
    "22P02": (400, "invalid_input", "A value has the wrong form. Check it and try again."),
    "22P05": (400, "invalid_input", "A text holds a character that cannot be stored."),
    "22003": (400, "invalid_input", "A number is out of range. Check it and try again."),
    "55P03": (503, "try_again", "The server is busy. Try again."),
    "57014": (503, "try_again", "This took too long. Try again."),
}


@dataclass
class Refusal(Exception):
    """An answer that tells the person what went wrong: HTTP status, stable slug, exact text.

    `details` is what PostgREST would answer under that name: text, or None.
    """

    status: int
    code: str
    message: str
    details: str | None = None

    def body(self) -> dict[str, str]:
        """`error` as the specification's functions answer, `code` for clients to branch on."""
        body = {"error": self.message, "code": self.code}
        return body if self.details is None else {**body, "details": self.details}


def refusal_of(error: psycopg.Error) -> Refusal | None:
    """The refusal that a database error carries, or None when it is a fault of ours.

    SQL refuses with SQLSTATE PGRST: JSON in the message (code, message) and in the detail (status).
    """
    if error.sqlstate == "PGRST":
        message = orjson.loads(error.diag.message_primary or "{}")
        detail = orjson.loads(error.diag.message_detail or "{}")
        return Refusal(int(detail["status"]), message["code"], message["message"], message.get("details"))
    fallback = FALLBACK.get(error.sqlstate or "")
    return Refusal(*fallback) if fallback else None
