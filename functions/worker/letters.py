"""What a mail looks like: one sober sheet, as HTML and as plain text.

Every value is escaped; nothing is loaded from elsewhere, so a mail client shows it as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from html import escape
from string import Template
from typing import Any
from urllib.parse import urlsplit

SHEET = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>$subject</title>
</head>
<body style="margin:0;padding:32px 16px;background:#f4f5f3;color:#16211d;\
font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">
<table role="presentation" align="center" cellpadding="0" cellspacing="0" \
style="width:100%;max-width:560px;margin:0 auto;background:#ffffff;border:1px solid #dfe3df;\
border-radius:8px">
<tr><td style="padding:20px 32px;border-bottom:1px solid #dfe3df;font-weight:600">$sender</td></tr>
<tr><td style="padding:32px">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3;font-weight:600">$subject</h1>
<p style="margin:0 0 16px">Hello $name,</p>
$paragraphs
$amount
$button
</td></tr>
<tr><td style="padding:16px 32px;border-top:1px solid #dfe3df;font-size:13px;color:#5a6661">\
You receive this because it concerns your account. Mail about money and security cannot be switched off.\
</td></tr>
</table>
</body>
</html>
""")
PARAGRAPH = Template('<p style="margin:0 0 16px">$text</p>')
AMOUNT = Template(
    '<p style="margin:0 0 24px;font-size:24px;font-weight:600;'
    'font-variant-numeric:tabular-nums">$$$amount</p>'
)
BUTTON = Template(
    '<p style="margin:24px 0 0"><a href="$href" style="display:inline-block;padding:12px 20px;'
    'background:#0f5c46;color:#ffffff;text-decoration:none;border-radius:6px;font-weight:600">Open</a></p>'
)


@dataclass(frozen=True)
class Stationery:
    """Who writes, and where the links lead."""

    mail_from: str
    site_url: str

    @property
    def sender(self) -> str:
        """The name under which the letters go out."""
        name, address = parseaddr(self.mail_from)
        return name or address

    def write(self, outgoing: Mapping[str, Any]) -> EmailMessage:
        """The letter of one outbox row.

        Its Message-ID depends on the row alone: a letter sent twice, because the worker died after the
        server took it and before that was noted, is recognised as the same one.
        """
        data = outgoing["data"]
        letter = EmailMessage()
        letter["Subject"] = _line(data["title"])
        letter["From"] = self.mail_from
        letter["To"] = outgoing["recipient"]
        letter["Date"] = format_datetime(outgoing["created_at"])
        letter["Message-ID"] = f"<outbox-{outgoing['id']}@{urlsplit(self.site_url).hostname}>"
        letter["Auto-Submitted"] = "auto-generated"
        letter.set_content(self._text(data))
        letter.add_alternative(self._html(data), subtype="html")
        return letter

    def _text(self, data: Mapping[str, Any]) -> str:
        parts = [f"Hello {_name(data)},", data["body"]]
        if data.get("amount"):
            parts.append(f"Amount: ${data['amount']}")
        if data.get("link"):
            parts.append(f"{self.site_url}{data['link']}")
        return "\n\n".join([*parts, self.sender]) + "\n"

    def _html(self, data: Mapping[str, Any]) -> str:
        paragraphs = [PARAGRAPH.substitute(text=escape(text)) for text in data["body"].split("\n") if text]
        amount, link = data.get("amount"), data.get("link")
        return SHEET.substitute(
            subject=escape(data["title"]),
            sender=escape(self.sender),
            name=escape(_name(data)),
            paragraphs="\n".join(paragraphs),
            amount=AMOUNT.substitute(amount=escape(amount)) if amount else "",
            button=BUTTON.substitute(href=escape(f"{self.site_url}{link}")) if link else "",
        )


def _name(data: Mapping[str, Any]) -> str:
    return data.get("display_name") or data.get("username") or "there"


def _line(text: str) -> str:
    return " ".join(text.split())
