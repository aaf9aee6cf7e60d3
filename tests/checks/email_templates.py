"""The auth service's e-mail templates: flat files, as a GoTrue reads them, made from one layout.

A source has one element a line: `h1` the title, `p` a paragraph, `dt` and `dd` a detail, `small` a note,
`code` a code, and `a` the button that confirms, with the code and the address below it.
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from functions.core.email_layout import Block, html_of, text_of
from launcher.settings import ROOT

FOLDER = ROOT / "supabase" / "templates"
SOURCES = FOLDER / "source"
SENDER = "Harborline"
FOOTER = f"Sent by {SENDER} to {{{{ .Email }}}}."
TOKEN, ADDRESS = "{{ .Token }}", "{{ .ConfirmationURL }}"
_ELEMENT = re.compile(r"<(\w+)>(.*?)</\1>")


def write() -> None:
    """Write the templates."""
    for path, text in _made():
        path.write_text(text, encoding="utf-8")


def failure() -> str:
    """Return which templates are out of date and how to renew them; empty when none is."""
    made = dict(_made())
    wrong = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    wrong += [path for path in FOLDER.iterdir() if path.suffix in (".html", ".txt") and path not in made]
    names = "\n".join(sorted(str(path.relative_to(ROOT)) for path in wrong))
    return (
        f"{names}\nNot what supabase/templates/source makes. To correct them: make generate" if names else ""
    )


def _made() -> Iterator[tuple[Path, str]]:
    """Yield each file and its content."""
    for source in sorted(SOURCES.glob("*.html")):
        title, *blocks = _blocks(source.read_text(encoding="utf-8"))
        yield FOLDER / source.name, html_of(title.text, SENDER, blocks, FOOTER)
        yield FOLDER / f"{source.stem}.txt", text_of(blocks, FOOTER)


def _blocks(source: str) -> Iterator[Block]:
    """Yield the title, as a paragraph, and the blocks below it."""
    label = ""
    for tag, escaped in _ELEMENT.findall(source):
        text = unescape(escaped)
        match tag:
            case "h1" | "p":
                yield Block("paragraph", text)
            case "dt":
                label = text
            case "dd":
                yield Block("detail", text, label)
            case "small":
                yield Block("note", text)
            case "code":
                yield Block("code", text)
            case "a":
                yield Block("button", text, href=ADDRESS)
                yield Block("note", "If you are asked for a code, it is")
                yield Block("code", TOKEN)
                yield Block("fallback", href=ADDRESS)
            case _:
                raise ValueError(f"<{tag}> has no block")
