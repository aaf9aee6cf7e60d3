"""Whether a stack serves: one request to every endpoint of its services."""

import math
import shutil
import time
from collections.abc import Collection
from pathlib import Path

import httpx
import psycopg

from launcher.database import elsewhere
from launcher.database.schema import Database
from launcher.keys import Keys
from launcher.services import monitoring
from launcher.services.monitoring import Figures
from launcher.settings import Settings, numbered
from launcher.terminal import Stop

# How much of a disk is in use, in percent, when somebody should know; at the latter storage takes no more.
FILLING, URGENT = 80, 90
# Open alarms of these kinds cannot wait; the others can until somebody has time.
URGENT_ALARMS = ("ledger_violation", "deposit_address", "audit_entry")
MAIL_LATE_SECONDS = 15 * 60
# A check takes ten minutes at most, and nine times as long passes until the next.
CHECK_LATE_SECONDS = 100 * 60
# Caddy renews a certificate long before.
CERTIFICATE_LATE_DAYS, CERTIFICATE_URGENT_DAYS = 14, 3
# A clock that is set by the network may be corrected by this much.
CLOCK_LATE_SECONDS = 5
LAST_ENTRY_AHEAD = """
select coalesce(extract(epoch from max(at) - clock_timestamp()), 0)::integer from private.audit_log
"""
LAST_CHECK = """
select violations, rules::text, extract(epoch from clock_timestamp() - checked_at)::integer,
    extract(epoch from checked_at - whole_at)::integer,
    extract(epoch from clock_timestamp() - seen_since)::integer
from private.ledger_check_state
"""


def requests(settings: Settings, keys: Keys) -> dict[str, httpx.Request]:
    """Return what each service responds to with 200 when it is healthy."""
    paths = {"postgrest_admin": "ready"} | dict.fromkeys(("auth", "storage", "edge", "worker"), "health")
    urls = {
        numbered(name.partition("_")[0], number): f"http://{settings.address(name, number)}/{path}"
        for number in range(1, settings.instances + 1)
        for name, path in paths.items()
    }
    if settings.own_mail:
        urls["mail"] = f"http://{settings.address('mail')}{keys.mail_path}/healthz"
    urls["gateway"] = f"{settings.gateway_url}/auth/v1/health"
    if settings.options.get("SITE_DOMAIN") or settings.instances > 1:
        # The certificate comes from outside and may take a while, and which of several gateways responds is
        # chance. Caddy opens all its ports or none.
        for number in range(1, settings.instances + 1):
            internal = settings.address("internal", number)
            urls[numbered("gateway", number)] = f"http://{internal}/confirmation.html"
    if monitoring.is_on(settings):
        urls["exporter"] = f"http://{settings.address('postgres_metrics')}/metrics"
    key = {"apikey": keys.values["SUPABASE_ANON_KEY"]}
    return {name: httpx.Request("GET", url, headers=key) for name, url in urls.items()}


def is_healthy(request: httpx.Request) -> bool:
    """Return whether the response is 200 and comes within two seconds."""
    try:
        with httpx.Client(timeout=2, trust_env=False) as client:
            return client.send(request).status_code == 200
    except httpx.HTTPError:
        return False


def sign_in(settings: Settings, keys: Keys) -> tuple[bool, str]:
    """Return whether auth can look into its tables: an unknown refresh token is then only rejected."""
    url = f"http://{settings.address('auth')}/token?grant_type=refresh_token"
    headers, body = {"apikey": keys.values["SUPABASE_ANON_KEY"]}, {"refresh_token": "aaaaaaaaaaaa"}
    try:
        with httpx.Client(timeout=5, trust_env=False) as client:
            well = client.post(url, headers=headers, json=body).status_code < 500
    except httpx.HTTPError:
        well = False
    return well, "healthy" if well else "NOT HEALTHY"


def disk(folder: Path) -> tuple[bool, str]:
    """Return whether uploads are still taken, and how full the disk is, in words."""
    usage = shutil.disk_usage(folder)
    percent = 100 * usage.used // (usage.used + usage.free)
    rejecting, filling = percent >= URGENT, percent >= FILLING
    warning = "URGENT, uploads are rejected: " if rejecting else "warning: " if filling else ""
    return not rejecting, f"{warning}{percent}% used, {usage.free // 2**20} MB free in {folder}"


def database(opened: Database) -> tuple[bool, str]:
    """Return whether the database takes what is written, and whether the ledger is in order, in words."""
    try:
        # It needs room in a file of its own, which nobody else sees, and leaves nothing.
        opened.execute(
            "create temporary table probe on commit drop as"
            " select repeat('x', 1900) from generate_series(1, 500)"
        )
        return ledger(opened)
    except psycopg.Error as error:
        return False, f"NOT HEALTHY: {error.diag.message_primary or error}"


def servers(settings: Settings, keys: Keys) -> tuple[bool, str]:
    """Return whether exactly one of the database's servers takes writes, and what each is, in words."""
    found = elsewhere.look(settings, keys)
    well = sum(server.is_primary for server in found) == 1
    return well, f"{'' if well else 'NOT HEALTHY: '}{', '.join(map(str, found))}"


def ledger(database: Database) -> tuple[bool, str]:
    """Return whether the worker's last check found the ledger in order, and that in words."""
    ((violations, rules, age, since_whole, oldest),) = database.rows(LAST_CHECK)
    if age is None:
        return True, "not checked yet; the worker does it every minute"
    found = f"{violations} VIOLATIONS {rules}" if violations else "in order"
    if late := age > CHECK_LATE_SECONDS:
        found = f"NOT HEALTHY: the check is late; {found}"
    return not violations and not late, f"{found}, checked {age} s ago{_sweep(age, since_whole, oldest)}"


def _sweep(age: int, since_whole: int | None, oldest: int | None) -> str:
    """Return in words, of a check of a part: how long ago everything was looked at, and each row."""
    if since_whole == 0:
        return ""
    if since_whole is None or oldest is None:
        return "; the first sweep over everything has not ended"
    return f"; everything {(age + since_whole) // 60} min ago, no row before {oldest // 60} min ago"


def clock(database: Database) -> tuple[bool, str]:
    """Return whether the clock is where it was, in words: entries of the audit log were made by it."""
    try:
        ((ahead,),) = database.rows(LAST_ENTRY_AHEAD)
    except psycopg.Error:
        return False, "NOT KNOWN: the database does not answer"
    late = ahead > CLOCK_LATE_SECONDS
    return not late, f"NOT HEALTHY: {ahead} s behind the last entry of the audit log" if late else "in order"


def operations(settings: Settings) -> dict[str, tuple[bool, str]]:
    """Return in words what the worker last read of mail, alarms and the certificate: whether all can wait."""
    figures = monitoring.figures(settings)
    if figures is None or ("harborline_oldest_mail_seconds",) not in figures:
        return {"mail": (False, "NOT KNOWN: the worker has no figures"), "alarms": (False, "NOT KNOWN")}
    found = {"mail": mail(figures), "alarms": alarms(figures)}
    if settings.options.get("SITE_DOMAIN"):
        found["HTTPS"] = certificate(figures)
    return found


def mail(figures: Figures) -> tuple[bool, str]:
    """Return whether e-mail leaves, and how many e-mails wait or were given up."""
    waiting, failed = (int(figures["queue_depth", "mail", state]) for state in ("todo", "failed"))
    late = figures["harborline_oldest_mail_seconds",] > MAIL_LATE_SECONDS
    warning = "NOT HEALTHY: " if late else "warning: " if failed else ""
    return not late, f"{warning}{waiting} waiting, {failed} failed"


def alarms(figures: Figures) -> tuple[bool, str]:
    """Return whether open alarms can wait, and how many there are of each kind."""
    name = "harborline_open_alarms"
    open_ones = {key[1]: int(value) for key, value in figures.items() if key[0] == name and value}
    urgent = not open_ones.keys().isdisjoint(URGENT_ALARMS)
    listed = ", ".join(f"{number} {kind}" for kind, number in sorted(open_ones.items()))
    warning = "NOT HEALTHY: " if urgent else "warning: " if open_ones else ""
    return not urgent, f"{warning}{listed or 'none open'}"


def certificate(figures: Figures) -> tuple[bool, str]:
    """Return whether the certificate is good for a while, and for how many days."""
    expiry = figures.get(("harborline_certificate_expiry_timestamp_seconds",))
    if expiry is None:
        return False, "NOT HEALTHY: the gateway serves no certificate"
    days = math.floor((expiry - time.time()) / 86_400)
    urgent, late = days < CERTIFICATE_URGENT_DAYS, days < CERTIFICATE_LATE_DAYS
    return not urgent, f"{'NOT HEALTHY: ' if urgent else 'warning: ' if late else ''}{days} days left"


def wait(settings: Settings, keys: Keys, seconds: int = 120, names: Collection[str] = ()) -> None:
    """Wait until every service, or each of those named, is healthy."""
    waiting, deadline = requests(settings, keys), time.monotonic() + seconds
    if names:
        waiting = {name: request for name, request in waiting.items() if name in names}
    while waiting := {name: request for name, request in waiting.items() if not is_healthy(request)}:
        if time.monotonic() > deadline:
            logs = settings.state / "logs"
            names = "\n".join(f"    {name}: see {logs / name}.log" for name in waiting)
            raise Stop(f"These did not become healthy within {seconds} s:\n{names}")
        time.sleep(0.1)
