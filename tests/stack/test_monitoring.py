"""Rules, dashboard and runbooks name what there is: every figure is one that the running stack gives."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from launcher import settings as configuration
from launcher.keys import Keys
from launcher.services import monitoring
from launcher.settings import ROOT, Settings
from tests.checks.runbooks import PAGES, PARTS, differences, rules
from tests.support import plain_http
from tests.support.stack import Stack

DASHBOARD = monitoring.FOLDER / "dashboard.json"
PORTS = ("internal", "auth_metrics", "storage_metrics", "edge_metrics", "worker_metrics")
# Of a histogram the figures have these endings; `up` is Prometheus's own.
METRIC = re.compile(r"\b(?:up|pg_\w+|[a-z]+(?:_[a-z]+)+)\b(?=[\s{\[)>=<,/*+-]|$)")
QUERY_WORDS = {"histogram_quantile", "time_seconds"}
# There only with SITE_DOMAIN: tests/stack/test_certificate.py.
OF_A_DOMAIN = {"harborline_certificate_expiry_timestamp_seconds"}


@pytest.fixture(scope="module")
def settings(state: Path) -> Settings:
    """Return the settings of the running stack."""
    return configuration.read(state)


def exposed(settings: Settings) -> set[str]:
    """Return the name of every figure that the stack's services give now."""
    texts = [plain_http.get(f"http://{settings.address(port)}/metrics").text for port in PORTS]
    return set(re.findall(r"^(\w+)[{ ]", "\n".join(texts), re.MULTILINE))


def dashboard_panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard_panels() for target in panel["targets"]]
    return [*panels, *(rule["expr"] for rule in rules())]


def metrics_of(expression: str) -> set[str]:
    """Return the figures that an expression names."""
    without_labels = re.sub(r"\{[^}]*\}|\b(?:by|on) \([^)]*\)", "", expression)
    return set(METRIC.findall(without_labels)) - QUERY_WORDS


def test_every_figure_of_rules_and_dashboard_exists(settings: Settings, stack: Stack) -> None:
    # One request to each, so that every histogram has begun.
    key = {"apikey": stack.anon_key}
    plain_http.post(f"{stack.url}/rest/v1/rpc/get_platform", headers=key, json={}).raise_for_status()
    for path in ("/auth/v1/settings", "/storage/v1/status", "/functions/v1/none"):
        plain_http.get(f"{stack.url}{path}", headers=key)
    wanted = set().union(*map(metrics_of, expressions())) - {"up"} - OF_A_DOMAIN
    assert len(wanted) > 20
    own = {name for name in wanted if not name.startswith("pg_")}
    end = time.monotonic() + 40
    while missing := own - exposed(settings):
        assert time.monotonic() < end, missing
        time.sleep(1)


def test_every_gauge_of_the_worker_is_watched_or_drawn(settings: Settings) -> None:
    named = set().union(*map(metrics_of, expressions()))
    assert {name for name in exposed(settings) if name.startswith("harborline_")} <= named


def test_every_panel_says_what_it_shows() -> None:
    for panel in dashboard_panels():
        assert panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
    assert len({panel["id"] for panel in dashboard_panels()}) == len(dashboard_panels())


def test_every_rule_says_how_urgent_it_is_for_how_long_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert re.fullmatch(r"\d+[mh]", rule["for"]), rule["alert"]
        assert rule["annotations"]["summary"].endswith("."), rule["alert"]
        assert (ROOT / rule["annotations"]["runbook"]).is_file(), rule["alert"]


def test_a_missing_page_and_one_too_many_are_found(tmp_path: Path) -> None:
    whole = "\n".join(PARTS)
    for name, text in (("disk", whole), ("old", whole), ("repair", whole.replace(PARTS[1], ""))):
        (tmp_path / f"{name}.md").write_text(text)
    rule = {"alert": "Slow", "annotations": {"runbook": "docs/runbooks/slow.md"}}
    assert differences({"disk", "repair", "dead_job"}, [rule], tmp_path) == [
        "the alarm dead_job has no page docs/runbooks/dead_job.md",
        "the rule Slow has no page docs/runbooks/slow.md",
        "docs/runbooks/old.md is of no alarm and no rule",
        f"docs/runbooks/repair.md does not say, in this order: {', '.join(PARTS)}",
    ]


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement of a runbook with the page's name."""
    for page in sorted(PAGES.glob("*.md")):
        for statement in re.findall(
            r'psql "\$DATABASE_ADMIN_URL" -c "(.*)"$', page.read_text(), re.MULTILINE
        ):
            yield page.stem, statement


@pytest.mark.parametrize(("page", "statement"), list(statements()))
def test_every_statement_of_a_runbook_is_understood(stack: Stack, page: str, statement: str) -> None:
    filled = statement.replace("'...'", "'00000000-0000-0000-0000-000000000000'")
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as connection:
        connection.execute(f"explain {filled}".encode())


def test_the_printed_configuration_leads_to_every_figure(settings: Settings, tmp_path: Path) -> None:
    text = monitoring.scrape_configuration(settings)
    jobs = {
        job["job_name"]: job["static_configs"][0]["targets"] for job in yaml.safe_load(text)["scrape_configs"]
    }
    assert set(jobs) == {"gateway", "auth", "storage", "edge", "worker"}
    for (target,) in jobs.values():
        assert plain_http.get(f"http://{target}/metrics").status_code == 200
        assert target.startswith("127.0.0.1:")
    settings.options["MONITORING"] = "1"
    try:
        with_exporter = monitoring.scrape_configuration(settings)
    finally:
        del settings.options["MONITORING"]
    assert f"127.0.0.1:{settings.ports['postgres_metrics']}" in with_exporter
    assert yaml.safe_load(with_exporter)["rule_files"] == [str(monitoring.FOLDER / "rules.yml")]


@pytest.mark.long
def test_promtool_takes_the_configuration(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "prometheus.yml"
    path.write_text(monitoring.scrape_configuration(settings))
    subprocess.run(["promtool", "check", "config", path], check=True, capture_output=True)


def test_the_exporters_role_reads_statistics_and_no_row(stack: Stack) -> None:
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"]) as connection:
        connection.execute((monitoring.FOLDER / "role.sql").read_bytes())
        connection.execute("set local role monitoring")
        connection.execute("select count(*) from pg_stat_activity")
        connection.execute("select setting from pg_settings where name = 'data_directory'")
        for statement in (
            "select 1 from public.deposits",
            "select 1 from private.profiles",
            "select 1 from auth.users",
            "select * from jobs.read_gauges()",
            "select public.get_platform()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(statement.encode())
        roles = "select roleid::regrole::text from pg_auth_members where member = 'monitoring'::regrole"
        assert connection.execute(roles).fetchall() == [("pg_monitor",)]
        connection.rollback()


def test_the_keys_of_an_earlier_version_get_what_they_lack(tmp_path: Path) -> None:
    keys = Keys(Settings(state=tmp_path))
    keys.make()
    path = tmp_path / "keys" / "credentials.json"
    earlier = json.loads(path.read_text())
    del earlier["PASSWORD_monitoring"], earlier["ALARM_WEBHOOK_KEY"]
    path.write_text(json.dumps(earlier))
    again = Keys(Settings(state=tmp_path))
    assert "ALARM_WEBHOOK_KEY" not in again.values
    again.make()
    assert again.values.keys() - earlier.keys() == {"PASSWORD_monitoring", "ALARM_WEBHOOK_KEY"}
    assert {name: again.values[name] for name in earlier} == earlier
    assert path.stat().st_mode & 0o777 == 0o600
