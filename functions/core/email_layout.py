"""The layout of every e-mail, as HTML and as plain text from the same blocks.

Styles stand inline in email_layout.html, because mail clients know no style sheets; values are escaped, and
nothing is loaded from elsewhere. Imports nothing but the standard library: templates are generated with it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Literal

FONT = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
_parts = re.split(r"^<!-- (\w+) -->\n", Path(__file__).with_suffix(".html").read_text(), flags=re.MULTILINE)
_HTML = {name: Template(part.rstrip("\n")) for name, part in zip(_parts[1::2], _parts[2::2], strict=True)}
_PLAIN_OF = {
    "amount": Template("Amount: $$$text"),
    "detail": Template("$label: $text"),
    "button": Template("$href"),
}
_PLAIN = Template("$text")

Kind = Literal["paragraph", "note", "amount", "code", "detail", "button", "fallback"]


@dataclass(frozen=True)
class Block:
    """A part of an e-mail; its kind names its section of email_layout.html.

    Attributes:
        label: what a detail is.
        href: where a button leads, or the address that `text` shows for when it does not work (only in HTML).
    """

    kind: Kind
    text: str = ""
    label: str = ""
    href: str = ""

    def html(self) -> str:
        """Return the block as HTML."""
        values = {"text": self.text, "label": self.label, "href": self.href}
        return _HTML[self.kind].substitute({name: escape(value) for name, value in values.items()}, font=FONT)

    def plain(self) -> str:
        """Return the block as plain text."""
        template = _PLAIN_OF.get(self.kind, _PLAIN)
        return template.substitute(text=self.text, label=self.label, href=self.href)


def html_of(title: str, sender: str, blocks: Iterable[Block], footer: str) -> str:
    """Return the HTML of an e-mail."""
    body = [
        _HTML["details"].substitute(rows=_joined(group)) if is_detail else _joined(group)
        for is_detail, group in groupby(blocks, lambda block: block.kind == "detail")
    ]
    return (
        _HTML["page"].substitute(
            title=escape(title), sender=escape(sender), body="\n".join(body), footer=escape(footer), font=FONT
        )
        + "\n"
    )


def text_of(blocks: Sequence[Block], *last: str) -> str:
    """Return the plain text of an e-mail, with what stands below it."""
    shown = [block for block in blocks if block.kind != "fallback"]
    parts = [
        ("\n" if is_detail else "\n\n").join(block.plain() for block in group)
        for is_detail, group in groupby(shown, lambda block: block.kind == "detail")
    ]
    return "\n\n".join([*parts, *last]) + "\n"


def _joined(blocks: Iterable[Block]) -> str:
    return "\n".join(block.html() for block in blocks)
