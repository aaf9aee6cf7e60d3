"""docker-compose.yml and the files beside it, as Docker Compose reads them."""

import re
from pathlib import Path
from typing import Any

import yaml

from launcher.settings import ROOT

EXTENDED = ROOT / "supabase" / "stack" / "contained.yml"
# Keys of a service whose lists grow where files or services are put together.
LISTS = ("ports", "secrets", "tmpfs", "volumes")


def file(name: str = "") -> Path:
    """Return docker-compose.yml, or docker-compose.NAME.yml."""
    return ROOT / f"docker-compose.{name}{'.' if name else ''}yml"


def described(*names: str) -> dict[str, Any]:
    """Return the services of these files together, each with what it extends."""
    services: dict[str, Any] = {}
    for name in names:
        for service, here in yaml.safe_load(file(name).read_text())["services"].items():
            services[service] = _together(services.get(service, {}), _extended(here))
    return services


def _extended(service: dict[str, Any]) -> dict[str, Any]:
    if "extends" not in service:
        return service
    base = yaml.safe_load((ROOT / service["extends"]["file"]).read_text())["services"]
    own = {key: value for key, value in service.items() if key != "extends"}
    return _together(base[service["extends"]["service"]], own)


def _together(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    grown = {key: [*first[key], *second[key]] for key in LISTS if key in first and key in second}
    return {**first, **second, **grown}


def read_env(path: Path) -> dict[str, str]:
    """Return the variables of a file that `compose_files.write_env` wrote, as compose-go reads them."""
    found = {}
    for line in path.read_text().splitlines():
        name, text = re.fullmatch(r'(\w+)="([^"]*)"', line).groups()  # type: ignore[union-attr]
        found[name] = re.sub(r"\\(?:0(\d{3})|(\$))", _escaped, text)
    return found


def _escaped(match: re.Match[str]) -> str:
    return match[2] or chr(int(match[1], 8))
