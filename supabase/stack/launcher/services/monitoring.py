"""Monitoring: PostgreSQL's exporter, switched on by MONITORING=1, and where Prometheus finds every figure."""

from pathlib import Path
from string import Template

import httpx
from prometheus_client.parser import text_string_to_metric_families

from launcher.database.schema import Database
from launcher.host import tools
from launcher.settings import REPEATED, ROOT, SERVICES_WITH_PORTS, Settings, numbered
from launcher.terminal import step

FOLDER = ROOT / "supabase" / "monitoring"
# Debian's package has the name of its program.
PROGRAM = "prometheus-postgres-exporter"
ROLE = "monitoring"

# Each figure by its name and the values of its labels.
Figures = dict[tuple[str, ...], float]


def is_on(settings: Settings) -> bool:
    """Return whether the operator switched PostgreSQL's exporter on."""
    return settings.options.get("MONITORING") == "1"


def prepare(database: Database, log: Path) -> None:
    """Install the exporter when it is missing, and make its role."""
    tools.install_programs({PROGRAM: PROGRAM}, log)
    with step("Role of the exporter"):
        password = database.keys.values[f"PASSWORD_{ROLE}"]
        database.execute((FOLDER / "role.sql").read_text() + f"alter role {ROLE} password '{password}';\n")


def scrape_configuration(settings: Settings) -> str:
    """Return prometheus.yml for this stack; of several instances each is a target."""
    ports = {f"{name.upper()}_PORT": _targets(name, settings) for name in SERVICES_WITH_PORTS}
    text = Template((FOLDER / "prometheus.yml").read_text()).substitute(ports, FOLDER=FOLDER)
    head, _, exporter = text.partition("\n  # Only with MONITORING=1.")
    return text if is_on(settings) else head + "\n" if exporter else text


def _targets(name: str, settings: Settings) -> str:
    """Return a port, and what follows it in the list of targets when there are more instances."""
    numbers = range(1, (settings.instances if name in REPEATED else 1) + 1)
    return '", "127.0.0.1:'.join(str(settings.ports[numbered(name, number)]) for number in numbers)


def figures(settings: Settings) -> Figures | None:
    """Return what the worker publishes; nothing when it does not respond."""
    try:
        with httpx.Client(timeout=5, trust_env=False) as client:
            url = f"http://{settings.address('worker_metrics')}/metrics"
            text = client.get(url).raise_for_status().text
    except httpx.HTTPError:
        return None
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}
