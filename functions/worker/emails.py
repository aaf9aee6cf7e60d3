"""E-mails of the outbox as HTML and as plain text."""

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Any
from urllib.parse import urlsplit

from functions.core.email import compose
from functions.core.email_layout import Block, html_of, text_of

REQUIRED = "Mail about money and security cannot be switched off."
OPTIONAL = "You can switch this mail off in your settings."
SETTINGS_PATH = "/settings"


@dataclass(frozen=True)
class EmailTemplate:
    """The sender, and the site that links lead to."""

    mail_from: str
    site_url: str

    @property
    def sender(self) -> str:
        """The name under which the e-mails go out."""
        name, address = parseaddr(self.mail_from)
        return name or address

    def render(self, row: Mapping[str, Any]) -> EmailMessage:
        """Return the e-mail of one outbox row.

        Its Message-ID depends on the row alone: an e-mail sent twice, because the worker died after the
        server took it and before that was recorded, is recognised as the same one.
        """
        data = row["data"]
        is_optional = bool(data.get("topic"))
        name = data.get("display_name") or data.get("username") or "there"
        greeting, rest = Block("paragraph", f"Hello {name},"), self._links(data)
        paragraphs = [Block("paragraph", text) for text in data["body"].split("\n") if text]
        choice = [f"{OPTIONAL} {self.site_url}{SETTINGS_PATH}"] if is_optional else []
        message = compose(
            sender=self.mail_from,
            recipient=row["recipient"],
            subject=_one_line(data["title"]),
            date=format_datetime(row["created_at"]),
            message_id=f"<outbox-{row['id']}@{urlsplit(self.site_url).hostname}>",
            html=html_of(
                data["title"],
                self.sender,
                [greeting, *paragraphs, *rest],
                f"You receive this because it concerns your account. {OPTIONAL if is_optional else REQUIRED}",
            ),
            text=text_of([greeting, Block("paragraph", data["body"]), *rest], *choice, self.sender),
        )
        message["Auto-Submitted"] = "auto-generated"
        if is_optional:
            message["List-Unsubscribe"] = f"<{self.site_url}{SETTINGS_PATH}>"
        return message

    def _links(self, data: Mapping[str, Any]) -> list[Block]:
        """Return the amount and the button, of what the row has."""
        amount, link = data.get("amount"), data.get("link")
        return [
            *([Block("amount", amount)] if amount else []),
            *([Block("button", f"Open {self.sender}", href=f"{self.site_url}{link}")] if link else []),
        ]


def _one_line(text: str) -> str:
    return " ".join(text.split())
