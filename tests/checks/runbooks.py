"""Every kind of alarm and every rule of Prometheus has its page in docs/runbooks, every page its alarm."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from launcher.database.schema import Database
from launcher.settings import ROOT

PAGES = ROOT / "docs" / "runbooks"
RULES = ROOT / "supabase" / "monitoring" / "rules.yml"
KINDS = "select pg_get_constraintdef(oid) from pg_constraint where conname = 'alarms_kind_check'"
# What each page says, in this order.
PARTS = (
    "**What it means.**",
    "**What it stops.**",
    "**First.**",
    "**Find the cause.**",
    "**It is over when:**",
)


def failure(database: Database) -> str:
    """Return what is missing, empty when nothing is."""
    ((definition,),) = database.rows(KINDS)
    return "\n".join(differences(set(re.findall(r"'(\w+)'", definition)), rules(), PAGES))


def rules() -> list[dict[str, Any]]:
    """Return every rule."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def differences(kinds: set[str], listed: list[dict[str, Any]], folder: Path) -> list[str]:
    """Return what lacks a page, a page that nothing names, and a page that lacks a part."""
    named = {rule["alert"]: rule["annotations"].get("runbook", "") for rule in listed}
    wanted = {f"docs/runbooks/{kind}.md": f"the alarm {kind}" for kind in kinds}
    wanted |= {page: f"the rule {alert}" for alert, page in named.items()}
    there = {f"docs/runbooks/{path.name}": path for path in folder.glob("*.md") if path.stem != "README"}
    found = [f"{wanted[page]} has no page {page}" for page in sorted(wanted.keys() - there.keys())]
    found += [f"{page} is of no alarm and no rule" for page in sorted(there.keys() - wanted.keys())]
    for name, path in sorted(there.items()):
        places = [path.read_text().find(part) for part in PARTS]
        if -1 in places or places != sorted(places):
            found.append(f"{name} does not say, in this order: {', '.join(PARTS)}")
    return found


def failure_of_rules() -> str:
    """Return what promtool finds wrong in the rules or their tests; nothing where it is not installed."""
    promtool = shutil.which("promtool")
    if not promtool:
        return ""
    commands = (["check", "rules", RULES.name], ["test", "rules", "rules.test.yml"])
    said = [
        subprocess.run([promtool, *command], cwd=RULES.parent, capture_output=True, text=True, check=False)
        for command in commands
    ]
    return "\n".join(done.stdout + done.stderr for done in said if done.returncode)
