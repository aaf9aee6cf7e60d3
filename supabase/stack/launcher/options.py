"""Options of the site, its proxies and its mail server; a wrong value stops `make up`."""

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
# A PostgreSQL of the operator's: its servers, the product's database, its owner, who signed its certificate.
DATABASE_OPTIONS = ("DATABASE_SERVER", "DATABASE_NAME", "DATABASE_OWNER", "DATABASE_CA")
# How many sets of services run here, on how many machines, and which of these this is.
SET_OPTIONS = ("INSTANCES", "MACHINES", "MACHINE")
# Options that only a database of the stack's own takes.
OWN_DATABASE_OPTIONS = ("PG_BIN", "AUTH_BIN", "MONITORING")
DATABASE_PORT = 5432
# Where Debian and its like keep the authorities that everybody trusts.
SYSTEM_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# To find the primary. A server whose machine is lost says nothing: connections to it end after ten seconds.
OF_LIBPQ = {
    "target_session_attrs": "read-write",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
# Names of roles and databases that need no quotes in SQL and no escape in an address.
NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
# More than a machine has processors for.
MOST_INSTANCES = 8
MOST_MACHINES = 16
SMTP_TLS = ("starttls", "implicit", "none")
DEFAULT_PORTS = {"http": 80, "https": 443}
# Caddy's name for them: 10.0.0.0/8 and its like, which the networks of containers and clouds have.
PRIVATE_RANGES = "private_ranges"
CLIENT_IP_HEADER = "X-Forwarded-For"
# A browser that returns within a week is safe from the first request on, and a site that must go back to http
# is free of it again in a week. A year is for a site that has run for a while.
HSTS_SECONDS = 7 * 24 * 3600
# Browsers' preload lists ask for a year.
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
    _check_database(options)
    _check_instances(options)
    _check_machines(options)


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
    if tls == "none" and not is_loopback(host):
        raise Stop(
            f"SMTP_TLS=none would send passwords and sign-in links to {host} for anybody between to read.\n"
            "  It is for a mail server on this machine alone (127.0.0.1)."
        )


def _check_instances(options: Mapping[str, str]) -> None:
    instances = options.get("INSTANCES", "1")
    if instances not in map(str, range(1, MOST_INSTANCES + 1)):
        raise Stop(f"INSTANCES={instances} is no number from 1 to {MOST_INSTANCES}.")
    if instances != "1" and "AUTH_BIN" in options:
        raise Stop("INSTANCES is for the stack's own auth service: a real GoTrue counts its limits alone.")


def _check_machines(options: Mapping[str, str]) -> None:
    machines, machine = options.get("MACHINES", ""), options.get("MACHINE", "")
    if not machines + machine:
        return
    if machines not in map(str, range(2, MOST_MACHINES + 1)):
        raise Stop(f"MACHINES={machines} is no number from 2 to {MOST_MACHINES}.")
    if machine not in map(str, range(1, int(machines) + 1)):
        raise Stop(f"MACHINE={machine} is no number from 1 to {machines}: say which of them this is.")
    if "DATABASE_SERVER" not in options:
        raise Stop("MACHINES is for services that share a database elsewhere: name its DATABASE_SERVER.")
    if not options.get("STORAGE_URL", "").startswith("s3://"):
        raise Stop("MACHINES need receipts that all of them reach: STORAGE_URL=s3://...")
    if "SITE_URL" not in options:
        raise Stop("MACHINES are reached through a proxy in front of them: name its address in SITE_URL.")
    if machine != "1" and "BACKUP_REPOSITORY" in options:
        raise Stop("The first machine makes the backups. Drop it here: BACKUP_REPOSITORY= make up")


def _check_database(options: dict[str, str]) -> None:
    server = options.get("DATABASE_SERVER")
    if server is None:
        for name in DATABASE_OPTIONS:
            if name in options:
                raise Stop(f"{name} is for a database elsewhere: name its servers in DATABASE_SERVER.")
        return
    options["DATABASE_SERVER"] = ",".join(f"{host}:{port}" for host, port in servers(server))
    for name in OWN_DATABASE_OPTIONS:
        if name in options:
            raise Stop(f"{name} is for a database of the stack's own. Drop it: {name}= make up")
    for name in ("DATABASE_NAME", "DATABASE_OWNER"):
        if name in options and not NAME.fullmatch(options[name]):
            raise Stop(f"{name}={options[name]} is no name of small letters, digits and _.")
    if (authority := options.get("DATABASE_CA")) and not (
        Path(authority).is_absolute() and Path(authority).is_file()
    ):
        raise Stop(f"DATABASE_CA={authority} is no file. Name the whole path of the authority's certificate.")


def database_parameters(options: Mapping[str, str]) -> dict[str, str]:
    """Return what every client of DATABASE_SERVER is told: how long to try, and whom to trust.

    Only servers on this machine are spoken to without TLS.
    """
    found = {"connect_timeout": "3"}
    authority = options.get("DATABASE_CA")
    if not authority and all(
        is_loopback(host.strip("[]")) for host, _ in servers(options["DATABASE_SERVER"])
    ):
        return {**found, "sslmode": "disable"}
    return {**found, "sslmode": "verify-full", "sslrootcert": authority or SYSTEM_AUTHORITIES}


def servers(text: str) -> list[tuple[str, int]]:
    """Return host and port of each server that DATABASE_SERVER names; an IPv6 address keeps its brackets."""
    found = []
    for part in re.split(r"[\s,]+", text.strip(" \t\r\n,")):
        match = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::([0-9]{1,5}))?", part)
        host = match[1] if match else ""
        port = int(match[2] or DATABASE_PORT) if match else 0
        bare = host.strip("[]")
        if not (HOST.fullmatch(host) or (_is_address(bare) and (":" in bare) == (host != bare))):
            raise Stop(f"DATABASE_SERVER: {part} is no server such as db1.example.org or 10.0.0.5:5432.")
        if not 0 < port < 2**16 or (host, port) in found:
            raise Stop(f"DATABASE_SERVER: {part} has no port of its own between 1 and 65535.")
        found.append((host, port))
    return found


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
