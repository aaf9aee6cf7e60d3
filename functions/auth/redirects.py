"""Where a person may be sent after a link: the site, what the allow-list names, or loopback beside it."""

import ipaddress
import re
from urllib.parse import SplitResult, parse_qsl, quote_plus, urlsplit, urlunsplit

from starlette.requests import Request

from functions.auth.settings import AuthSettings
from functions.core.errors import ApiError

_ERRORS = {
    400: "invalid_request",
    401: "unauthorized_client",
    403: "access_denied",
    500: "server_error",
    503: "temporarily_unavailable",
}
# Other letters come escaped; as they are they would read as a sentence of the mail that says where it leads.
_UNSAFE = re.compile(r"[^\x21-\x5b\x5d-\x7e]")
_LONGEST = 2000


class Redirects:
    """The rules of one installation."""

    def __init__(self, settings: AuthSettings) -> None:
        """Read the site and the allow-list."""
        self._site = settings.site_url
        self._base = urlsplit(settings.site_url)
        self._is_local = _is_loopback(self._base.hostname or "")
        self._allowed = [_glob(pattern) for pattern in settings.uri_allow_list]

    def target(self, request: Request) -> str:
        """Return the first valid of header or query `redirect_to`, and Referer; else the site."""
        asked = request.headers.get("redirect_to") or request.query_params.get("redirect_to", "")
        for url in (asked, request.headers.get("referer", "")):
            if self.is_valid(url):
                return url
        return self._site

    def is_valid(self, url: str) -> bool:
        """Return whether a person may be sent there."""
        if not url or len(url) > _LONGEST or _UNSAFE.search(url):
            return False
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        # An app that claims a scheme of its own, or a program of the same machine, would get the tokens.
        if parts.scheme not in {"http", "https"} or "@" in parts.netloc:
            return False
        if host == self._base.hostname and parts.scheme == self._base.scheme and port == self._base.port:
            return True
        if _is_loopback(host):
            return self._is_local
        return _is_name(host) and any(pattern.fullmatch(url.partition("#")[0]) for pattern in self._allowed)


def _is_loopback(host: str) -> bool:
    """Return whether a host is this very machine, by name or number."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback or (mapped or address).is_unspecified


def _is_name(host: str) -> bool:
    """Return whether a host is a plain name: no number in any of the spellings that browsers read."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", host):
        return False
    last = host.rpartition(".")[2]
    return not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last)


def _glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern as GoTrue's glob library for Go reads it, which neither fnmatch nor glob does.

    `*` and `?` stop at `.` and `/`, `**` does not; `[..]` and `{a,b}` as usual.
    """
    out, depth, index = "", 0, 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**", index):
            out, index = out + ".*", index + 1
        elif char == "*":
            out += "[^./]*"
        elif char == "?":
            out += "[^./]"
        elif char == "[" and "]" in pattern[index + 1 :]:
            end = pattern.index("]", index + 1)
            out += "[" + re.escape(pattern[index + 1 : end]).replace(r"\-", "-").replace(r"\!", "^", 1) + "]"
            index = end
        elif char == "{":
            out, depth = out + "(?:", depth + 1
        elif char == "}" and depth:
            out, depth = out + ")", depth - 1
        elif char == "," and depth:
            out += "|"
        else:
            out += re.escape(char)
        index += 1
    return re.compile(out)


def form(values: dict[str, str]) -> str:
    """Return `a=1&b=2`, sorted by name and escaped as a form is."""
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in sorted(values.items()))


def with_fragment(target: str, values: dict[str, str]) -> str:
    """Return the target with values after `#`, and `sb`, by which clients know whose redirect this is."""
    return urlunsplit(urlsplit(target)._replace(fragment="")) + "#" + form(values | {"sb": ""})


def with_query(target: str, values: dict[str, str]) -> str:
    """Return the target with values added to its query and without its fragment."""
    parts: SplitResult = urlsplit(target)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | values
    return urlunsplit(parts._replace(query=form(query), fragment=""))


def error_values(error: ApiError) -> dict[str, str]:
    """Return what a redirect says about an error."""
    values = {"error_code": error.code or "unknown", "error_description": error.message}
    if error.status in _ERRORS:
        values["error"] = _ERRORS[error.status]
    return values
