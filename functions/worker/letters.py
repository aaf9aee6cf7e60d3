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

FONT = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
# The colours are those of the auth service's letters in supabase/templates.
SHEET = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light">
<title>$subject</title>
</head>
<body style="margin:0;padding:32px 16px;background:#f4f8f9;color:#10222b;font:16px/1.5 $font">
<table role="presentation" align="center" cellpadding="0" cellspacing="0" bgcolor="#fcfefe" \
style="width:100%;max-width:560px;margin:0 auto;border:1px solid #d3dde0;border-radius:8px">
<tr><td style="padding:32px">
<p style="margin:0;font-weight:600;color:#12556a">$sender</p>
<h1 style="margin:24px 0 16px;font-size:22px;line-height:1.3;font-weight:600">$subject</h1>
<p style="margin:0 0 16px">Hello $name,</p>
$paragraphs
$amount
$button
</td></tr>
<tr><td style="padding:16px 32px;border-top:1px solid #d3dde0;font-size:13px;color:#4b626c">\
You receive this because it concerns your account. $choice\
</td></tr>
</table>
</body>
</html>
""")
ALWAYS = "Mail about money and security cannot be switched off."
OPTIONAL = "You can switch this mail off in your settings."
CHOICES_PATH = "/settings"
PARAGRAPH = Template('<p style="margin:0 0 16px">$text</p>')
AMOUNT = Template(
    '<p style="margin:0 0 24px;font-size:26px;font-weight:600;'
    'font-variant-numeric:tabular-nums">$$$amount</p>'
)
BUTTON = Template(
    '<p style="margin:24px 0 0"><a href="$href" style="display:inline-block;padding:12px 20px;'
    'background:#12556a;color:#fcfefe;text-decoration:none;border-radius:6px;font-weight:600">'
    "Open $sender</a></p>"
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
        if data.get("topic"):
            letter["List-Unsubscribe"] = f"<{self.site_url}{CHOICES_PATH}>"
        letter.set_content(self._text(data))
        letter.add_alternative(self._html(data), subtype="html")
        return letter

    def _text(self, data: Mapping[str, Any]) -> str:
        parts = [f"Hello {_name(data)},", data["body"]]
        if data.get("amount"):
            parts.append(f"Amount: ${data['amount']}")
        if data.get("link"):
            parts.append(f"{self.site_url}{data['link']}")
        if data.get("topic"):
            parts.append(f"{OPTIONAL} {self.site_url}{CHOICES_PATH}")
        return "\n\n".join([*parts, self.sender]) + "\n"

    def _html(self, data: Mapping[str, Any]) -> str:
        paragraphs = [PARAGRAPH.substitute(text=escape(text)) for text in data["body"].split("\n") if text]
        amount, link, sender = data.get("amount"), data.get("link"), escape(self.sender)
        return SHEET.substitute(
            font=FONT,
            subject=escape(data["title"]),
            choice=OPTIONAL if data.get("topic") else ALWAYS,
            sender=sender,
            name=escape(_name(data)),
            paragraphs="\n".join(paragraphs),
            amount=AMOUNT.substitute(amount=escape(amount)) if amount else "",
            button=BUTTON.substitute(href=escape(f"{self.site_url}{link}"), sender=sender) if link else "",
        )


def _name(data: Mapping[str, Any]) -> str:
    return data.get("display_name") or data.get("username") or "there"


def _line(text: str) -> str:
    return " ".join(text.split())
