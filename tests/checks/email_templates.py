"""The auth service's e-mail templates: flat files, as a GoTrue reads them, made from one layout.

A source has one element a line: `h1` the title, `p` a paragraph, `dt` and `dd` a detail, `small` a note,
`code` a code, and `a` the button, which leads to the page that confirms, with the code and the address below.
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
# Both addresses get this one; Email is the present one in both.
FOOTERS = {"email_change": f"Sent by {SENDER} to {{{{ .SendingTo }}}}."}
TOKEN = "{{ .Token }}"
# A page of the site, because a mail program that looks at a link must not use it up.
ADDRESS = "{{{{ .SiteURL }}}}/auth/confirm?token_hash={{{{ .TokenHash }}}}&type={kind}"
# The asker chooses it, and it may read as a sentence: no text that a person reads has it.
REDIRECT = "&redirect_to={{ .RedirectTo }}"
KINDS = {
    "confirmation": "signup",
    "invite": "invite",
    "recovery": "recovery",
    "recovery_unconfirmed": "recovery",
    "magic_link": "magiclink",
    "email_change": "email_change",
}
# What a real GoTrue gives each template; recovery_unconfirmed and the notices about pauses are ours alone.
_LINK = {"SiteURL", "Email", "Token", "TokenHash", "RedirectTo", "Data.username", "Data.referrer_username"}
NAMES = {
    "email_change": _LINK | {"NewEmail", "SendingTo"},
    "email_changed": {"Email", "OldEmail", "SiteURL"},
    "reauthentication": {"SiteURL", "Email", "Token"},
}
_PLACEHOLDER = re.compile(r"\{\{ \.([\w.]+) \}\}")
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
        title, *blocks = _blocks(source)
        footer = FOOTERS.get(source.stem, FOOTER)
        html = html_of(title.text, SENDER, blocks, footer)
        unknown = set(_PLACEHOLDER.findall(html)) - NAMES.get(source.stem, _LINK)
        if unknown or "{{" in _PLACEHOLDER.sub("", html):
            raise ValueError(f"{source.name} has what a real GoTrue does not fill: {unknown or 'logic'}")
        yield FOLDER / source.name, html
        yield FOLDER / f"{source.stem}.txt", text_of(blocks, footer)


def _blocks(source: Path) -> Iterator[Block]:
    """Yield the title, as a paragraph, and the blocks below it."""
    label = ""
    for tag, escaped in _ELEMENT.findall(source.read_text(encoding="utf-8")):
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
                address = ADDRESS.format(kind=KINDS[source.stem])
                yield Block("button", text, href=address + REDIRECT)
                yield Block("note", "Or enter this code where you are asked for it:")
                yield Block("code", TOKEN)
                yield Block("fallback", address, href=address + REDIRECT)
            case _:
                raise ValueError(f"<{tag}> has no block")
