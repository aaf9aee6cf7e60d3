"""One stack's settings: where its state lies, and the choices that are stored there from its first start."""

import json
import os
import secrets
import shlex
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from urllib.parse import urlencode

from launcher import limits, options, private_files
from launcher.terminal import Stop

ROOT = Path(__file__).resolve().parents[3]
FILES = Path(__file__).parent / "files"
SETUP_LOG = ROOT / ".stack-tools" / "setup.log"
SERVICES_WITH_PORTS = (
    *("gateway", "internal", "postgres", "postgrest", "postgrest_admin", "auth", "storage", "edge", "worker"),
    *("auth_metrics", "storage_metrics", "edge_metrics", "worker_metrics", "postgres_metrics"),
    *("smtp", "mail"),
)
# Behind the gateway.
PASSED_ON = ("postgrest", "auth", "storage", "edge")
# Ports of services that may have several instances.
REPEATED = (
    *("internal", "postgrest", "postgrest_admin", "auth", "storage", "edge", "worker"),
    *("auth_metrics", "storage_metrics", "edge_metrics", "worker_metrics"),
)
DATABASE_ROLES = (
    *("supabase_admin", "postgres", "authenticator", "supabase_auth_admin", "supabase_storage_admin"),
    *("edge_functions", "worker"),
)
# The data directory where PostgreSQL's user can reach the state folder.
INSIDE = "cluster"
PREFERRED_GATEWAY_PORT = 8000
# Browsers and Node never connect to this port: a bad port of the Fetch standard.
BLOCKED_PORT = 10080
TOKEN_SECONDS = 3600
ADMIN_SESSION_SECONDS = 8 * 3600
PROFILES = ("product", "reference", "benchmark")
MAIL_SETTINGS = ("SMTP_HOST", "SMTP_PORT", "SMTP_TLS", "SMTP_USER", "SMTP_PASS", "MAIL_FROM")
DISK_LIMITS = ("DISK_FULL_PERCENT", "DISK_URGENT_PERCENT")
# Credentials for an s3:// address of STORAGE_URL.
STORAGE_ACCESS = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"),
    *("AWS_ENDPOINT", "AWS_ALLOW_HTTP"),
)
# Credentials for an s3:// address of BACKUP_REPOSITORY.
BACKUP_ACCESS = (
    *("BACKUP_S3_ENDPOINT", "BACKUP_S3_REGION", "BACKUP_S3_KEY", "BACKUP_S3_SECRET"),
    "BACKUP_S3_CA",
)
RESTORE = "make restore FROM=/the/repository KEY=backup.key STATE=.stack-new"
WAY_BACK = f"Go on with that version, or restore what was before the upgrade:\n  {RESTORE} TO='a time'"
STORED_OPTIONS = (
    *("AUTH_BIN", "POSTGREST_BIN", "PG_BIN", "SERVICES_AS_ROOT", "STORAGE_URL", "DEPOSIT_ADDRESS"),
    *options.SITE_OPTIONS,
    *options.DATABASE_OPTIONS,
    *options.SET_OPTIONS,
    "IMAGE_REGISTRY",
    *("MONITORING", "ALARM_WEBHOOK_PRIVATE"),
    *("BACKUP_REPOSITORY", "BACKUP_KEYS", "BACKUP_DAYS"),
    *BACKUP_ACCESS,
    *limits.NAMES,
    *DISK_LIMITS,
    *STORAGE_ACCESS,
    *MAIL_SETTINGS,
)


def new_identity() -> str:
    """Return a name that no other stack of this machine has."""
    return secrets.token_hex(4)


@dataclass
class Settings:
    """Choices of one stack.

    Attributes:
        state: folder with everything this stack generates.
        demo: the demo network is seeded; only the way to real money in the panel ends it.
        profile: `product`; `benchmark`, without rate limits; `reference`, with an ES256 key too, for recorded
            vectors and tests.
        ports: chosen free once, so that links and sign-ins survive a restart.
        options: settings given in the environment of `make up`; see STORED_OPTIONS.
        cluster: PostgreSQL's data directory, which its unprivileged user must be able to reach: absolute, or
            inside the state folder, which may be moved.
        stored_options: the options as they were stored, without what the environment says now.
        system_identifier: which cluster that is, also elsewhere; once it is stored, no other one is made,
            started or used.
    """

    state: Path
    demo: bool = True
    profile: str = "product"
    identity: str = field(default_factory=new_identity)
    ports: dict[str, int] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    cluster: str = ""
    stored_options: dict[str, str] = field(default_factory=dict)
    system_identifier: str = ""

    @property
    def data_directory(self) -> Path:
        """PostgreSQL's data directory."""
        return self.state / (self.cluster or INSIDE)

    @property
    def log(self) -> Path:
        """Where the commands that set the stack up are logged."""
        return self.state / "logs" / "setup.log"

    @property
    def origin(self) -> str:
        """The address at which browsers reach the site."""
        if domain := self.options.get("SITE_DOMAIN"):
            return f"https://{domain}"
        return self.options.get("SITE_URL") or self.gateway_url

    @property
    def gateway_url(self) -> str:
        """Where the gateway itself listens without a domain: what a proxy passes requests to."""
        host = self.options.get("SITE_HOST", "127.0.0.1")
        reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
        return f"http://{f'[{reached}]' if ':' in reached else reached}:{self.ports['gateway']}"

    @property
    def reference(self) -> bool:
        """Whether this stack reproduces recorded vectors."""
        return self.profile == "reference"

    @property
    def as_root(self) -> bool:
        """Whether what root starts also runs as root: for a demo where no other user gets to the checkout."""
        return "SERVICES_AS_ROOT" in self.options

    @property
    def unlimited(self) -> bool:
        """Whether no client is rejected for asking too often."""
        return self.profile != "product"

    @property
    def own_mail(self) -> bool:
        """Whether mails go to the catcher of development instead of a server of the operator."""
        return "SMTP_HOST" not in self.options

    @property
    def instances(self) -> int:
        """How many instances of each service run on this machine."""
        return int(self.options.get("INSTANCES", "1"))

    @property
    def machines(self) -> int:
        """How many machines run the services."""
        return int(self.options.get("MACHINES", "1"))

    @property
    def machine(self) -> int:
        """The number of this machine. The first has the files that only one has, and makes the backups."""
        return int(self.options.get("MACHINE", "1"))

    @property
    def replaced(self) -> Path:
        """Folder of the instances, by their addresses, that the gateway passes nothing new to."""
        return self.state / "run" / "replaced"

    @property
    def database_elsewhere(self) -> bool:
        """Whether the database is one of the operator's, which the launcher neither makes nor starts."""
        return "DATABASE_SERVER" in self.options

    @property
    def database_owner(self) -> str:
        """The role that owns the product's database and runs its migrations: never a superuser."""
        return self.options.get("DATABASE_OWNER", "postgres")

    def database(self, name: str = "", *, server: str = "") -> str:
        """Return what follows the password in an address of the database: servers, name and parameters.

        Args:
            server: the one that is meant, for who is no client of libpq's and knows no list of servers.
        """
        if not self.database_elsewhere:
            return f"{self.address('postgres')}/{name or 'postgres'}"
        parameters = options.database_parameters(self.options)
        if not server:
            parameters |= options.OF_LIBPQ
        name = name or self.options.get("DATABASE_NAME", "postgres")
        return f"{server or self.options['DATABASE_SERVER']}/{name}?{urlencode(parameters, safe='/')}"

    @property
    def sockets(self) -> Path:
        """Folder of the supervisor's control socket, whose path must stay under 108 bytes."""
        folder = self.state / "run"
        return folder if len(str(folder)) < 80 else Path("/tmp") / f"harborline-{self.identity}"  # noqa: S108

    @property
    def database_sockets(self) -> Path:
        """Folder of PostgreSQL's socket, for who backs it up: only its own user enters."""
        return Path("/tmp") / f"harborline-{self.identity}-database"  # noqa: S108

    def address(self, service: str, instance: int = 1) -> str:
        """Return `127.0.0.1:port` of a service."""
        return f"127.0.0.1:{self.ports[numbered(service, instance)]}"

    def restore_database_options(self) -> None:
        """Keep the database that this stack had; nothing where it never had one."""
        if self.system_identifier:
            for name in options.DATABASE_OPTIONS:
                self.options.pop(name, None)
                if name in self.stored_options:
                    self.options[name] = self.stored_options[name]

    def save(self) -> None:
        """Store the choices in the state folder."""
        values = asdict(self)
        del values["state"], values["stored_options"]
        private_files.write(self.state / "settings.json", json.dumps(values, indent=2) + "\n")


def numbered(name: str, instance: int) -> str:
    """Return the name of an instance: the first has that of the service."""
    return name if instance == 1 else f"{name}-{instance}"


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder named by STATE, default `.stack`; relative paths count from the checkout."""
    return (ROOT / environment.get("STATE", ".stack")).resolve()


def command_prefix(state: Path) -> str:
    """Return what stands before a command for this stack: nothing for the usual state folder."""
    return "" if state == ROOT / ".stack" else f"STATE={shlex.quote(str(state))} "


def load() -> Settings:
    """Return the settings of the stack in the state folder."""
    if not (state_folder() / "settings.json").exists():
        raise Stop(f"No stack in {state_folder()}. Start one with: make up")
    return read(state_folder())


def read(state: Path) -> Settings:
    """Return the settings stored in a state folder."""
    values = json.loads((state / "settings.json").read_text())
    if strange := values.keys() - {known.name for known in fields(Settings)}:
        raise Stop(
            f"{state / 'settings.json'} has {min(strange)}, which this version does not know: a later one\n"
            f"  wrote it. {WAY_BACK}"
        )
    settings = Settings(state=state, stored_options=values.get("options", {}).copy(), **values)
    if Path(settings.cluster).name == INSIDE:
        # Earlier versions stored where the state folder was at its first start.
        settings.cluster = INSIDE
    return settings


def load_or_create(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of `up`: those stored, with what the environment says now."""
    state = state_folder(environment)
    first = not (state / "settings.json").exists()
    settings = Settings(state=state) if first else read(state)
    _take_environment(settings, first, environment)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(
            f"The state folder {state} cannot be made: {error.strerror}. Set STATE to another."
        ) from error
    choose_ports(settings)
    return settings


def choose_ports(settings: Settings) -> None:
    """Choose the ports that are not chosen yet: once, so that links and sign-ins survive a restart."""
    others = [numbered(name, number) for number in range(2, settings.instances + 1) for name in REPEATED]
    used = (*SERVICES_WITH_PORTS, *others)
    settings.ports = {service: port for service, port in settings.ports.items() if service in used}
    for service in used:
        if service not in settings.ports or _was_of_a_domain(service, settings):
            settings.ports[service] = _choose_port(service, settings)
    settings.save()


def _take_environment(settings: Settings, first: bool, environment: Mapping[str, str]) -> None:
    demo = environment.get("DEMO", str(int(settings.demo)))
    profile = environment.get("STACK_PROFILE", settings.profile)
    if demo not in ("0", "1"):
        raise Stop("DEMO is 1 (seed the demo network) or 0.")
    if profile not in PROFILES:
        raise Stop(f"STACK_PROFILE is one of {', '.join(PROFILES)}.")
    if not first and int(demo) != settings.demo:
        raise Stop(
            f"The stack in {settings.state} was started with DEMO={int(settings.demo)} and keeps it.\n"
            f"  For another one use a new folder: STATE=.stack-new DEMO={demo} make up"
        )
    if not first and profile != settings.profile:
        raise Stop(f"{settings.state} keeps its profile, {settings.profile}. Use a new STATE folder.")
    settings.demo, settings.profile = demo == "1", profile
    if settings.unlimited and not settings.demo:
        raise Stop(f"STACK_PROFILE={settings.profile} switches rate limits off and is only for DEMO=1.")
    given = {name: environment[name] for name in STORED_OPTIONS if name in environment}
    settings.options = {name: value for name, value in (settings.options | given).items() if value}
    if settings.as_root and not settings.demo:
        raise Stop("SERVICES_AS_ROOT runs everything as root and is only for DEMO=1.")
    options.check(settings.options)
    limits.check(settings.options)
    _require_same_postgres(settings, given.get("PG_BIN", ""))


def _require_same_postgres(settings: Settings, pg_bin: str) -> None:
    """Raise before a PG_BIN is stored that the stack's cluster cannot be served by."""
    made_by = settings.data_directory / "PG_VERSION"
    if not pg_bin or not made_by.exists():
        return
    if (found := options.major_version(Path(pg_bin))) != (version := int(made_by.read_text())):
        raise Stop(
            f"PG_BIN is PostgreSQL {found}, and the database is of {version}. To upgrade it:\n"
            f"  make down && make postgres-upgrade PG_BIN={pg_bin}"
        )


def _was_of_a_domain(service: str, settings: Settings) -> bool:
    return service == "gateway" and settings.ports[service] == 443 and "SITE_DOMAIN" not in settings.options


def _choose_port(service: str, settings: Settings) -> int:
    if service == "gateway":
        if settings.options.get("SITE_DOMAIN"):
            return 443
        if settings.state == ROOT / ".stack" and is_free(PREFERRED_GATEWAY_PORT):
            return PREFERRED_GATEWAY_PORT
    for _ in range(1000):
        # Below the range from which the system takes ports for outgoing connections.
        port = 10000 + secrets.randbelow(10000)
        if port not in {*settings.ports.values(), BLOCKED_PORT} and is_free(port):
            return port
    raise Stop("No free port between 10000 and 19999 was found.")


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    try:
        take_port(port)
    except OSError:
        return False
    return True


def take_port(port: int) -> None:
    """Listen on the port for a moment; a PermissionError says that it is for root alone."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
