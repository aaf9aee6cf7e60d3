"""What an operator may say of the site, its proxies and its mail server; a wrong value stops `make up`."""

import ipaddress
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from launcher.terminal import Stop

# Where browsers reach the site, who may say a client's address, and how long browsers insist on HTTPS.
SITE_OPTIONS = (
    *("SITE_HOST", "SITE_DOMAIN", "SITE_URL", "TRUSTED_PROXIES", "CLIENT_IP_HEADER"),
    *("HSTS_SECONDS", "HSTS_SUBDOMAINS", "HSTS_PRELOAD"),
)
SMTP_TLS = ("starttls", "implicit", "none")
DEFAULT_PORTS = {"http": 80, "https": 443}
# Caddy's name for them: 10.0.0.0/8 and its like, which the networks of containers and clouds have.
PRIVATE_RANGES = "private_ranges"
CLIENT_IP_HEADER = "X-Forwarded-For"
# Who comes back within a week is safe from the first request on, and a site that must go back to http is
# free of it again in a week. A year is for a site that has run for a while.
HSTS_SECONDS = 7 * 24 * 3600
# What browsers' lists ask for.
PRELOAD_SECONDS = 365 * 24 * 3600
HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")


def check(options: dict[str, str]) -> None:
    """Raise unless the options make sense, each and together; write lists the way Caddy reads them."""
    if domain := options.get("SITE_DOMAIN"):
        _require_host("SITE_DOMAIN", domain)
    if host := options.get("SITE_HOST"):
        _require_host("SITE_HOST", host)
    if (pg_bin := options.get("PG_BIN")) and not Path(pg_bin).is_absolute():
        raise Stop(f"PG_BIN={pg_bin} is stored: name the whole path.")
    if url := options.get("SITE_URL"):
        _require_origin(url)
        if domain and url != f"https://{domain}":
            raise Stop(
                f"SITE_URL={url} and SITE_DOMAIN={domain} do not agree. SITE_DOMAIN is for a\n"
                "  gateway with HTTPS of its own, SITE_URL for a site behind another's. Drop one of them:\n"
                "  SITE_DOMAIN= make up"
            )
    if proxies := options.get("TRUSTED_PROXIES"):
        options["TRUSTED_PROXIES"] = " ".join(_ranges(proxies))
    _check_client_ip_header(options)
    _check_hsts(options)
    _check_smtp(options)


def major_version(folder: Path) -> int:
    """Return the major version of the PostgreSQL whose programs lie in a folder."""
    program, said = folder / "pg_config", ""
    if program.exists():
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    if not (found := re.match(r"PostgreSQL (\d+)", said)):
        raise Stop(f"PG_BIN={folder} is no folder of PostgreSQL's programs: its pg_config says no version.")
    return int(found[1])


def hsts(origin: str, options: Mapping[str, str]) -> str:
    """Return the value of Strict-Transport-Security; empty for a site without HTTPS."""
    if not origin.startswith("https://"):
        return ""
    parts = [f"max-age={options.get('HSTS_SECONDS', HSTS_SECONDS)}"]
    parts += ["includeSubDomains"] if options.get("HSTS_SUBDOMAINS") == "1" else []
    parts += ["preload"] if options.get("HSTS_PRELOAD") == "1" else []
    return "; ".join(parts)


def _require_host(name: str, value: str) -> None:
    if not HOST.fullmatch(value) and not _is_address(value):
        raise Stop(f"{name}={value} is no host name and no address, such as example.org.")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _require_origin(text: str) -> None:
    """Raise unless the text is an origin as browsers write it, with which they compare it."""
    try:
        url = urlsplit(text)
        canonical = _origin(url)
    except ValueError:
        canonical = ""
    if text != canonical:
        raise Stop(
            f"SITE_URL={text} is no origin such as https://example.org: http or https and a name in small\n"
            "  letters, with a port only where it is not the usual one, without a path or a slash at the end."
        )


def _origin(url: SplitResult) -> str:
    host = url.hostname or ""
    if url.scheme not in DEFAULT_PORTS or not (HOST.fullmatch(host) or _is_address(host)):
        return ""
    name = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{name}" + (
        f":{url.port}" if url.port not in (None, DEFAULT_PORTS[url.scheme]) else ""
    )


def _ranges(text: str) -> list[str]:
    """Return addresses and networks, separated by blanks or commas, as a list."""
    found = []
    for part in re.split(r"[\s,]+", text.strip(" \t\r\n,")):
        if part == PRIVATE_RANGES:
            found.append(part)
            continue
        try:
            network = ipaddress.ip_network(part)
        except ValueError:
            raise Stop(
                f"TRUSTED_PROXIES: {part} is no address and no network such as 10.0.0.0/8 (zeros behind its\n"
                f"  prefix). Separate several by blanks or commas; {PRIVATE_RANGES} is all private networks."
            ) from None
        if network.prefixlen == 0:
            raise Stop(f"TRUSTED_PROXIES: {part} is everybody: all could then say any address.")
        found.append(str(network) if "/" in part else part)
    return found


def _check_client_ip_header(options: Mapping[str, str]) -> None:
    header = options.get("CLIENT_IP_HEADER")
    if header is None:
        return
    if not HEADER.fullmatch(header):
        raise Stop(f"CLIENT_IP_HEADER={header} is no name of a header, such as CF-Connecting-IP.")
    if "TRUSTED_PROXIES" not in options:
        raise Stop("CLIENT_IP_HEADER is what a proxy sends: name the proxy's addresses in TRUSTED_PROXIES.")


def _check_hsts(options: Mapping[str, str]) -> None:
    seconds = options.get("HSTS_SECONDS", str(HSTS_SECONDS))
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", seconds):
        raise Stop(f"HSTS_SECONDS={seconds} is no number of seconds. 0 takes back what browsers remember.")
    for name in ("HSTS_SUBDOMAINS", "HSTS_PRELOAD"):
        if options.get(name, "0") not in ("0", "1"):
            raise Stop(f"{name} is 1 or 0.")
    preload = options.get("HSTS_PRELOAD") == "1"
    if preload and (options.get("HSTS_SUBDOMAINS") != "1" or int(seconds) < PRELOAD_SECONDS):
        raise Stop(f"HSTS_PRELOAD=1 needs HSTS_SUBDOMAINS=1 and HSTS_SECONDS={PRELOAD_SECONDS} or more.")


def _check_smtp(options: Mapping[str, str]) -> None:
    tls = options.get("SMTP_TLS")
    if tls is None:
        return
    if tls not in SMTP_TLS:
        raise Stop(f"SMTP_TLS={tls} is none of {', '.join(SMTP_TLS)}.")
    host = options.get("SMTP_HOST", "")
    if not host:
        raise Stop("SMTP_TLS says how to speak to a mail server of your own: name it in SMTP_HOST.")
    if tls == "none" and not _is_loopback(host):
        raise Stop(
            f"SMTP_TLS=none would send passwords and sign-in links to {host} for anybody between to read.\n"
            "  It is for a mail server on this machine alone (127.0.0.1)."
        )


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
