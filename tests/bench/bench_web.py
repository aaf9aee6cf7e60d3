"""P10: a page's first load on a slow phone's network: what is seen when, what moves, and how much is fetched.

Chromium with the applied Slow 4G of `browser.mjs`, cold, medians of 5; Lighthouse beside it. The demo's
member and administrator are signed in. Run by `make bench`; STACK_ENV names the stack. Exits with 1 when a
goal is missed.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from tests.bench.report import exit_code, record
from tests.support.stack import Stack

ROUNDS = int(os.environ.get("ROUNDS", "5"))
KILOBYTE = 1000
MOVED = 0.01
REQUESTS = 30
BALANCE = "#balance"


class Goals(NamedTuple):
    """First paint in seconds, kB of scripts without headers, Lighthouse's score; None without a goal."""

    paint: float
    script: float | None = None
    score: int | None = None


PAGES = {
    "/": Goals(1.8, 100, 97),
    "/terms": Goals(1.8, None, 97),
    "/sign-in": Goals(1.8, None, 94),
    "/sign-up": Goals(1.8, None, 94),
    "/dashboard": Goals(2.0, 200, 90),
    "/admin/deposits": Goals(2.0),
}
IN_SIGHT = 4.5


def member_session(stack: Stack) -> dict[str, str]:
    """Return what the web app keeps of the demo member's session, by its key in local storage."""
    response = httpx.post(
        f"{stack.url}/auth/v1/token?grant_type=password",
        headers={"apikey": stack.anon_key},
        json={"email": stack.values["DEMO_MEMBER_EMAIL"], "password": stack.values["DEMO_MEMBER_PASSWORD"]},
    ).raise_for_status()
    host = (urlsplit(stack.url).hostname or "").split(".")[0]
    return {f"sb-{host}-auth-token": response.text}


def administrator_session(stack: Stack) -> dict[str, str]:
    """Return what the web app keeps of the demo administrator's session."""
    response = httpx.post(
        f"{stack.url}/functions/v1/admin-auth",
        headers={"apikey": stack.anon_key, "authorization": f"Bearer {stack.anon_key}"},
        json={
            "action": "login",
            "email": stack.values["DEMO_ADMIN_EMAIL"],
            "password": stack.values["DEMO_ADMIN_PASSWORD"],
        },
    ).raise_for_status()
    return {"harborline-admin-session": response.text}


def wanted(stack: Stack) -> list[dict[str, object]]:
    """Return the pages as `browser.mjs` wants them."""
    stored = {"/dashboard": member_session(stack), "/admin/deposits": administrator_session(stack)}
    return [
        {
            "path": path,
            "stored": stored.get(path),
            "awaited": BALANCE if path == "/dashboard" else None,
            "score": goals.score is not None,
        }
        for path, goals in PAGES.items()
    ]


def load(stack: Stack) -> list[dict[str, float]]:
    """Return a row for each load of a page."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert chromium, "Chromium is missing; CHROMIUM names it"
    wish = {"origin": stack.url, "rounds": ROUNDS, "pages": wanted(stack), "chromium": chromium}
    done = subprocess.run(
        ["node", "browser.mjs"],
        cwd=Path(__file__).parent,
        input=json.dumps(wish),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    rows: list[dict[str, float]] = json.loads(done.stdout)
    return rows


def most(what: str, value: float, unit: str, limit: float | None) -> None:
    """Record a figure that has at most a limit."""
    if limit is None:
        record("P10", what, value, unit)
    else:
        record("P10", what, value, unit, f"at most {limit:g}", value <= limit)


def main() -> int:
    """Load all pages in turn, several times, and record their medians."""
    rows = load(Stack.read())
    for path, goals in PAGES.items():
        seen = [row for row in rows if row["path"] == path]

        def median(key: str, seen: list[dict[str, float]] = seen) -> float:
            return statistics.median(row[key] for row in seen)

        most(f"{path}, first paint", median("paint") / 1000, "s", goals.paint)
        most(f"{path}, largest paint", median("largest") / 1000, "s", None)
        if path == "/dashboard":
            most(f"{path}, balance in sight", median("awaited") / 1000, "s", IN_SIGHT)
        most(f"{path}, what moved (CLS)", median("moved"), "", MOVED)
        most(f"{path}, requests", median("requests"), "", REQUESTS)
        most(f"{path}, scripts", median("script") / KILOBYTE, "kB", goals.script)
        most(f"{path}, everything", median("bytes") / KILOBYTE, "kB", None)
        if goals.score:
            name, score = f"{path}, Lighthouse {seen[0]['version']}, phone", median("score")
            record("P10", name, score, "", f"at least {goals.score}", score >= goals.score)
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
