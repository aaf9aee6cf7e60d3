"""PostgreSQL's exporter as MONITORING=1 runs it: its role, and the figures that rules and dashboard name."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from launcher import settings as configuration
from launcher.host import environment
from launcher.keys import Keys
from launcher.services import monitoring, processes
from launcher.settings import Settings
from tests.stack.test_monitoring import expressions, metrics_of
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.stack import Stack

pytestmark = pytest.mark.long


@pytest.fixture
def monitored(state: Path) -> Settings:
    """Return the settings of the running stack as if monitoring were on."""
    settings = configuration.read(state)
    settings.options["MONITORING"] = "1"
    return settings


@pytest.fixture
def exporter(monitored: Settings, stack: Stack) -> Iterator[str]:
    """Run the exporter as the launcher would; yield the address of its figures."""
    keys = Keys(monitored)
    (described,) = [each for each in processes.describe(monitored, keys) if each.name == "exporter"]
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as owner:
        owner.execute((monitoring.FOLDER / "role.sql").read_bytes())
        owner.execute(f"alter role monitoring password '{keys.values['PASSWORD_monitoring']}'")
        process = subprocess.Popen(
            ending_with_parent(described.command),
            env=environment.base() | described.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://{monitored.address('postgres_metrics')}/metrics"
        finally:
            process.kill()
            process.wait()
            owner.execute("drop role monitoring")


def test_it_has_every_figure_that_rules_and_dashboard_name(exporter: str) -> None:
    wanted = {
        name for expression in expressions() for name in metrics_of(expression) if name.startswith("pg_")
    }
    assert len(wanted) > 5
    end = time.monotonic() + 30
    while True:
        try:
            text = plain_http.get(exporter).text
        except httpx.TransportError:
            text = ""
        if wanted <= set(re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)):
            break
        assert time.monotonic() < end, wanted
        time.sleep(0.5)
    assert re.search(r"^pg_up 1$", text, re.MULTILINE)


def test_it_runs_only_when_it_is_switched_on(state: Path, monitored: Settings) -> None:
    off, keys = configuration.read(state), Keys(monitored)
    assert "exporter" not in [each.name for each in processes.describe(off, keys)]
    monitored.options["MONITORING"] = "0"
    assert "exporter" not in [each.name for each in processes.describe(monitored, keys)]
