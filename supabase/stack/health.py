"""Whether a stack serves: one question to every door."""

import time
import urllib.error
import urllib.request

from keys import Keys
from migrate import Database
from settings import Settings
from terminal import Stop


def questions(settings: Settings, keys: Keys) -> dict[str, tuple[str, dict[str, str]]]:
    """Address and headers of what each service answers with 200 when it is healthy."""
    inside = {
        "postgrest": f"http://{settings.address('postgrest_admin')}/ready",
        "auth": f"http://{settings.address('auth')}/health",
        "storage": f"http://{settings.address('storage')}/health",
        "edge": f"http://{settings.address('edge')}/health",
        "worker": f"http://{settings.address('worker')}/health",
    }
    if settings.own_mail:
        inside["mail"] = f"http://{settings.address('mail')}/healthz"
    door = f"{settings.origin}/auth/v1/health", {"apikey": keys.values["SUPABASE_ANON_KEY"]}
    if settings.options.get("SITE_DOMAIN"):
        # The certificate comes from outside and may take a while. Caddy opens all its ports or none.
        door = f"http://{settings.address('internal')}/confirmation.html", {}
    return {name: (url, {}) for name, url in inside.items()} | {"gateway": door}


def answers(url: str, headers: dict[str, str]) -> bool:
    """Whether the address answers 200 within two seconds."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


LAST_CHECK = """
select violations, rules, coalesce(extract(epoch from clock_timestamp() - checked_at)::integer::text, '')
from private.ledger_check_state
"""


def books(database: Database) -> tuple[bool, str]:
    """Whether the worker's last check found the books in order, and that in words."""
    violations, rules, age = database.execute(LAST_CHECK).strip().split("|")
    if not age:
        return True, "not checked yet; the worker does it every minute"
    found = f"{violations} VIOLATIONS {rules}" if int(violations) else "in order"
    return not int(violations), f"{found}, checked {age} s ago"


def wait(settings: Settings, keys: Keys, seconds: int = 120) -> None:
    """Wait until every service answers.

    Raises:
        Stop: one did not in time; the text names it and its log.
    """
    open_questions = questions(settings, keys)
    deadline = time.monotonic() + seconds
    while open_questions:
        open_questions = {name: q for name, q in open_questions.items() if not answers(*q)}
        if open_questions and time.monotonic() > deadline:
            logs = settings.state / "logs"
            names = "\n".join(f"    {name}: see {logs / name}.log" for name in open_questions)
            raise Stop(f"These did not become healthy within {seconds} s:\n{names}")
        if open_questions:
            time.sleep(0.1)
