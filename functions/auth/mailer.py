"""Mails: templates with `{{ .Name }}` placeholders and no logic, sent over SMTP."""

import asyncio
import html
import logging
import re
from datetime import timedelta
from email.utils import formataddr, formatdate, make_msgid
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx

from functions.auth.settings import AuthSettings
from functions.core.email import DELIVERY_ERRORS, SmtpServer, compose, log_fields
from functions.core.errors import ApiError

log = logging.getLogger("auth.mailer")

_SMTP_TIMEOUT_SECONDS = 8

_PLACEHOLDER = re.compile(r"(=?)\{\{\s*\.([A-Za-z_][\w.]*)\s*\}\}")
_LINK_ADDRESS = re.compile(r'(?<=\bhref=")([^"]*)(?=")')
_LINK = '<p><a href="{{ .ConfirmationURL }}">%s</a></p><p>Code: {{ .Token }}</p>'
_SUBJECTS = {
    "confirmation": "Confirm your email address",
    "recovery": "Reset your password",
    "recovery_unconfirmed": "Reset your password",
    "invite": "You have been invited",
    "email_change": "Confirm your new email address",
    "magic_link": "Your sign-in link",
    "reauthentication": "{{ .Token }} is your confirmation code",
    "password_changed_notification": "Your password was changed",
    "email_changed_notification": "Your email address was changed",
    "mfa_factor_enrolled_notification": "A second factor was added",
    "mfa_factor_unenrolled_notification": "A second factor was removed",
    "sign_in_blocked_notification": "Sign-in to your account was paused",
    "mfa_blocked_notification": "Two-step sign-in was paused",
    "code_blocked_notification": "A code was entered wrongly too often",
}
# Sent while no template is set, or the one that is set cannot be read.
_BODIES = {
    "confirmation": _LINK % "Confirm your email address",
    "recovery": _LINK % "Choose a new password",
    "recovery_unconfirmed": _LINK % "Confirm your email address and choose a new password",
    "invite": _LINK % "Accept the invitation",
    "email_change": _LINK % "Confirm the change to {{ .NewEmail }}",
    "magic_link": _LINK % "Sign in",
    "reauthentication": "<p>Your code: {{ .Token }}</p>",
    "password_changed_notification": "<p>The password of {{ .Email }} was changed.</p>",
    "email_changed_notification": "<p>Your address was changed from {{ .OldEmail }} to {{ .Email }}.</p>",
    "mfa_factor_enrolled_notification": "<p>A second factor was added to {{ .Email }}.</p>",
    "mfa_factor_unenrolled_notification": "<p>A second factor was removed from {{ .Email }}.</p>",
    "sign_in_blocked_notification": "<p>Sign-in to {{ .Email }} is paused: too many failed attempts.</p>",
    "mfa_blocked_notification": "<p>Codes for {{ .Email }} are paused: too many failed attempts.</p>",
    "code_blocked_notification": "<p>The code we emailed you no longer works: too many failed attempts.</p>",
}


def render(template: str, values: dict[str, Any], escape: bool = True) -> str:
    """Return the template with its placeholders filled, as a real GoTrue does.

    `{{ .Data.x }}` reads user_metadata. A name without a value becomes empty. In the query of a link a value
    is percent-encoded: in HTML within `href="..."`, in text after any `=`.
    """

    def fill(match: re.Match[str], is_link: bool) -> str:
        value: Any = values
        for name in match[2].split("."):
            value = value.get(name) if isinstance(value, dict) else None
        text = "" if value is None or isinstance(value, dict | list) else str(value)
        if match[1] and is_link:
            return f"={quote(text, safe='')}"
        return match[1] + (html.escape(text) if escape else " ".join(text.split()))

    def filled(part: str, is_link: bool) -> str:
        return _PLACEHOLDER.sub(lambda match: fill(match, is_link), part)

    if not escape:
        return filled(template, True)
    parts = _LINK_ADDRESS.split(template)
    return "".join(filled(part, number % 2 == 1) for number, part in enumerate(parts))


class Mailer:
    """Sends one mail at a time; without an SMTP host it sends nothing and says so in the log."""

    def __init__(self, settings: AuthSettings) -> None:
        """Read where the mail server, the templates and the paths of links are."""
        self._settings = settings
        self._server = SmtpServer(
            settings.smtp_host,
            settings.smtp_port,
            settings.smtp_user,
            settings.smtp_pass,
            _SMTP_TIMEOUT_SECONDS,
            settings.smtp_tls,
        )
        self._fetched: dict[str, str] = {}
        self._paths = {
            "invite": settings.urlpath_invite,
            "recovery": settings.urlpath_recovery,
            "email_change": settings.urlpath_email_change,
        }

    @property
    def frequency(self) -> timedelta:
        """Return the least time between two mails of one kind to one user."""
        return self._settings.smtp_max_frequency

    def action_link(self, kind: str, token_hash: str, target: str) -> str:
        """Return the link of a mail: our public origin, the kind's path, the hash, where to go afterwards."""
        path = self._paths.get(kind, self._settings.urlpath_confirmation)
        base = urlsplit(urljoin(self._settings.api_external_url, path))
        to = quote(target, safe="") if re.search("[&=#]", target) else target
        return f"{base.scheme}://{base.netloc}{base.path}?token={token_hash}&type={kind}&redirect_to={to}"

    async def send(self, mail: str, to: str, values: dict[str, Any]) -> None:
        """Send one mail, which was counted before (limits/mail.py).

        Raises:
            ApiError: 500 when it cannot be delivered to SMTP.
        """
        settings = self._settings
        values = {"SiteURL": settings.site_url, **values}
        message = compose(
            sender=formataddr(
                (settings.smtp_sender_name, settings.smtp_admin_email or f"noreply@{settings.site_host}")
            ),
            recipient=to,
            subject=render(settings.subjects.get(mail) or _SUBJECTS[mail], values, escape=False),
            date=formatdate(),
            message_id=make_msgid(domain=urlsplit(settings.site_url).hostname or "localhost"),
            html=render(await self._template(mail), values),
            text=render(await self._text_template(mail), values, escape=False),
        )
        if not settings.smtp_host:
            log.warning("no SMTP host is set: the mail was not sent", extra={"fields": {"mail": mail}})
            return
        try:
            await self._server.send(message)
        except DELIVERY_ERRORS as error:
            log.error("a mail could not be sent", extra={"fields": {"mail": mail, **log_fields(error)}})
            raise ApiError(
                500, "unexpected_failure", f"Error sending {mail.replace('_', ' ')} email"
            ) from error

    async def _template(self, mail: str) -> str:
        """Return the template that the settings name: a file, or an address that is fetched once."""
        place = self._settings.templates.get(mail)
        if not place:
            return _BODIES[mail]
        if place not in self._fetched:
            try:
                self._fetched[place] = await self._read(place)
            except (OSError, httpx.HTTPError):
                log.exception("a mail template could not be read", extra={"fields": {"mail": mail}})
                return _BODIES[mail]
        return self._fetched[place]

    async def _read(self, place: str) -> str:
        if place.startswith(("http://", "https://")):
            async with httpx.AsyncClient(timeout=5, follow_redirects=False) as client:
                return (await client.get(place)).raise_for_status().text
        return await asyncio.to_thread(Path(place.removeprefix("file://")).read_text)

    async def _text_template(self, mail: str) -> str:
        """Return the text template beside the HTML one; empty when there is none."""
        place = self._settings.templates.get(mail, "")
        if not place.endswith(".html"):
            return ""
        place = place.removesuffix(".html") + ".txt"
        if place not in self._fetched:
            try:
                self._fetched[place] = await self._read(place)
            except (FileNotFoundError, httpx.HTTPStatusError):
                self._fetched[place] = ""
            except (OSError, httpx.HTTPError):
                # Away for a moment: this e-mail goes out without its text part.
                return ""
        return self._fetched[place]
