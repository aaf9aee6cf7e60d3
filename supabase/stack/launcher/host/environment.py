"""The environment of each service: supabase/services/NAME.env, filled with the values of one stack."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from string import Template

from launcher import limits
from launcher import options as site
from launcher.host.tools import site_pages
from launcher.keys import Keys
from launcher.settings import (
    DISK_LIMITS,
    MAIL_SETTINGS,
    PASSED_ON,
    REPEATED,
    ROOT,
    SERVICES_WITH_PORTS,
    STORAGE_ACCESS,
    TOKEN_SECONDS,
    Settings,
    numbered,
)

TEMPLATES = ROOT / "supabase" / "services"
OPTIONAL = ("DEPOSIT_ADDRESS", "ALARM_WEBHOOK_PRIVATE", "ALARM_WEBHOOK_KEY")
# An ending gateway, of several at one port, gives clients this long to go to another one.
HANDING_OVER_SECONDS = 2
CATCHER_SENDER = "Harborline <no-reply@harborline.example>"


def base() -> dict[str, str]:
    """Return what every process gets: no more of the shell's environment than it needs.

    Equal from every shell, because a service restarts when its environment changes.
    """
    node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
    inherited = {name: os.environ[name] for name in ("HOME", "SSL_CERT_FILE") if name in os.environ}
    path = f"{node}:/usr/local/bin:/usr/bin:/bin"
    return {**inherited, "PATH": path, "TZ": "UTC", "PYTHONUNBUFFERED": "1"}


def of_process(settings: Settings) -> dict[str, str]:
    """Return what every process of a stack gets: it reads no settings of the person who started it."""
    return {**base(), "HOME": str(settings.state)}


def fill(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in supabase/services/NAME.env; one that is empty is left out."""
    lines = (TEMPLATES / f"{name}.env").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    filled = {setting: Template(text).substitute(values) for setting, text in pairs}
    return {setting: value for setting, value in filled.items() if value}


def service(name: str, settings: Settings, keys: Keys, instance: int = 1) -> dict[str, str]:
    """Return the whole environment of a service as a process of this machine."""
    values = native(settings, keys, instance) | (_upstreams(settings) if name == "gateway" else {})
    limits = fill("auth-without-limits" if settings.unlimited else "auth-limits", values)
    return of_process(settings) | fill(name, values) | (limits if name == "auth" else {})


def bootstrap(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the environment of functions/edge/bootstrap, which writes as the database's owner."""
    return {**service("edge", settings, keys), "DATABASE_URL": keys.database_url("postgres")}


def common(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the values that native processes and containers share."""
    options = dict.fromkeys((*OPTIONAL, *DISK_LIMITS, *STORAGE_ACCESS, *MAIL_SETTINGS), "") | settings.options
    sender, _, address = (options["MAIL_FROM"] or CATCHER_SENDER).rpartition(" ")
    return {
        **options,
        **keys.values,
        **limits.values(settings.options),
        "SITE_URL": settings.origin,
        "TRUSTED_PROXIES": settings.options.get("TRUSTED_PROXIES", ""),
        "CLIENT_IP_HEADER": settings.options.get("CLIENT_IP_HEADER", site.CLIENT_IP_HEADER),
        "HSTS": site.hsts(settings.origin, settings.options),
        "TOKEN_SECONDS": str(TOKEN_SECONDS),
        "KEEPS_FILES": "false" if settings.machine > 1 else "",
        "INSTANCES": str(settings.instances * settings.machines),
        "GOTRUE_JWT_KEYS": keys.gotrue,
        "SMTP_PORT": options["SMTP_PORT"] or "587",
        "MAIL_CATCHER": "true" if settings.own_mail else "",
        "MAIL_FROM": options["MAIL_FROM"] or CATCHER_SENDER,
        "MAIL_SENDER": sender or "Harborline",
        "MAIL_ADDRESS": address.strip("<>"),
    }


def native(settings: Settings, keys: Keys, instance: int = 1) -> dict[str, str]:
    """Return the values of processes of this machine.

    An instance knows the services of its own number, with which it is replaced.
    """
    own = {name: settings.ports[numbered(name, instance)] for name in REPEATED}
    used = {name: settings.ports[name] for name in SERVICES_WITH_PORTS} | own
    ports = {f"{name.upper()}_PORT": str(port) for name, port in used.items()}
    addresses = {f"{name.upper()}_ADDRESS": f"127.0.0.1:{port}" for name, port in used.items()}
    catcher = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(settings.ports["smtp"]), "SMTP_TLS": "none"}
    domain, host = settings.options.get("SITE_DOMAIN"), settings.options.get("SITE_HOST", "127.0.0.1")
    return {
        **ports,
        **addresses,
        **common(settings, keys),
        **(catcher if settings.own_mail else {}),
        "DATABASE": settings.database(),
        "BIND": "127.0.0.1",
        "KEYS": str(keys.folder),
        "STORAGE_URL": settings.options.get("STORAGE_URL", (settings.state / "objects").as_uri()),
        "SPOOL_PATH": str(settings.state / "uploads"),
        "AUDIT_HEADS_PATH": str(settings.state / "audit-heads"),
        "BACKUPS_PATH": str(settings.state / "run" / "backups.json")
        if "BACKUP_REPOSITORY" in settings.options
        else "",
        "DISK_FOLDERS": json.dumps(_disk_folders(settings)),
        "GATEWAY_SITE": domain or f"http://:{settings.ports['gateway']}",
        "GATEWAY_BIND": "0.0.0.0" if domain else host,  # noqa: S104
        "CERTIFICATE_ADDRESS": "127.0.0.1:443" if domain else "",
        "GATEWAY_DATA": str(settings.state / "gateway"),
        "REPLACED_ROOT": str(settings.replaced) if settings.instances > 1 else "",
        "WEB_ROOT": str(ROOT / "web" / "dist"),
        "PAGES_ROOT": str(site_pages(settings.origin)),
        "TEMPLATES_ROOT": str(ROOT / "supabase" / "templates"),
    }


def files_address(addresses: str) -> str:
    """Return the addresses of storage as the gateway counts files that arrive there apart from the rest."""
    return " ".join(f"tcp/{address}" for address in addresses.split())


def _upstreams(settings: Settings) -> dict[str, str]:
    """Return where the gateway finds all instances of the services behind it."""
    numbers = range(1, settings.instances + 1)
    addresses = {
        f"{name.upper()}_ADDRESS": " ".join(settings.address(name, number) for number in numbers)
        for name in PASSED_ON
    }
    several = settings.instances > 1
    return {
        **addresses,
        "STORAGE_FILES_ADDRESS": files_address(addresses["STORAGE_ADDRESS"]),
        "BALANCING": "balanced" if several else "",
        "SHUTDOWN_DELAY": f"{HANDING_OVER_SECONDS}s" if several else "",
    }


def _disk_folders(settings: Settings) -> dict[str, str]:
    """Return whose disks the worker watches: of an own database the folder around, which it may enter.

    Of several machines each has a name of its own, which its alarm has.
    """
    if settings.machines > 1:
        return {f"machine {settings.machine}": str(settings.state)}
    database = {} if settings.database_elsewhere else {"the database": str(settings.data_directory.parent)}
    return {**database, "the receipts": str(settings.state)}
