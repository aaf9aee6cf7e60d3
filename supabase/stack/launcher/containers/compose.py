"""Keys, secrets and environments that docker-compose.yml needs, where containers can read them."""

import os
import shlex
from pathlib import Path

from launcher.containers import compose_backups, compose_images
from launcher.containers.compose_files import secret, write_env, write_mounted
from launcher.database import cluster
from launcher.database.schema import PASSWORDS_AFTER, PASSWORDS_BEFORE, password_statements
from launcher.host import environment, tools
from launcher.keys import Keys
from launcher.settings import ROOT, Settings
from launcher.terminal import Stop

MOUNTED = ("jwks.json", "admin.json", "secrets.json")
# By the file in `containers`, the one of supabase/services.
SERVICES = {
    **{name: name for name in ("auth", "storage", "edge", "worker", "postgrest", "gateway")},
    "gotrue": "auth",
}
# Settings that a service reads from a file of that name in /run/secrets. A real GoTrue, Caddy and the library
# for S3 read the environment alone.
SECRETS = {
    "auth": ("DATABASE_URL", "GOTRUE_JWT_SECRET", "GOTRUE_JWT_KEYS", "GOTRUE_SMTP_PASS"),
    "storage": ("DATABASE_URL", "SIGNING_SECRET"),
    "edge": ("DATABASE_URL", "SUPABASE_SERVICE_ROLE_KEY"),
    "worker": ("DATABASE_URL", "SMTP_PASS", "SUPABASE_SERVICE_ROLE_KEY", "ALARM_WEBHOOK_KEY"),
    "postgrest": ("PGRST_DB_URI",),
}
# Where a container listens: its name, and one port of those that only other containers reach.
ADDRESSES = {
    "postgres": ("database", 5432),
    "postgrest": ("postgrest", 3000),
    "postgrest_admin": ("postgrest", 3001),
    "auth": ("auth", 9999),
    "storage": ("storage", 9001),
    "edge": ("edge", 9002),
    "worker": ("worker", 9003),
    "internal": ("gateway", 8001),
    **{f"{name}_metrics": (name, 9100) for name in ("auth", "storage", "edge", "worker")},
}
# Only the networks of its container may ask the database.
HOST, PORT = ADDRESSES["postgres"]


def prepare(settings: Settings, keys: Keys) -> Path:
    """Write the folder `containers` of the state folder; return the env file in it.

    The folder is closed to others on this machine; what is mounted from it is open to the containers' users.
    """
    _require_sensible(settings)
    folder = _folder(settings)
    write_mounted(folder / "keys", {name: (keys.folder / name).read_text() for name in MOUNTED})
    secrets, filled = _passwords(keys), values(settings, keys)
    for name, file in SERVICES.items():
        limits = environment.fill("auth-limits", filled) if file == "auth" else {}
        given = environment.fill(file, filled) | limits
        for setting in SECRETS.get(name, ()):
            secrets[f"{name}.{setting}"] = secret(setting, given.pop(setting, ""))
        write_env(folder / f"{name}.env", given)
    write_mounted(folder / "secrets", secrets)
    backups, archive_command = compose_backups.prepare(settings, keys, folder)
    _configure_database(settings, folder, archive_command)
    return write_env(folder / "env", {**outside(settings, keys, folder), **backups})


def prepare_restore() -> tuple[Path, Settings]:
    """Write what docker-compose.restore.yml needs; return its env file and the settings of the new stack."""
    settings, variables = compose_backups.prepare_restore(os.environ)
    folder = _folder(settings)
    given = {**_project(settings, folder, [ROOT / "docker-compose.restore.yml"]), **variables}
    return write_env(folder / "env", {**given, "DATABASE_MEMORY": _memory()}), settings


def command(env_file: Path, words: str) -> str:
    """Return what a person types."""
    return f"docker compose --env-file {shlex.quote(str(env_file))} {words}"


def commands(env_file: Path, settings: Settings) -> list[str]:
    """Return what starts the containers, and what makes the first people in them, once."""
    first = "demo" if settings.demo else "first-administrator --email ... --name ..."
    return [command(env_file, "up --build --detach --wait"), command(env_file, f"run --rm seed {first}")]


def _require_sensible(settings: Settings) -> None:
    if settings.database_elsewhere:
        raise Stop("docker-compose.yml brings a database. For one elsewhere see docs/growing.md: Kubernetes.")
    if settings.own_mail and not settings.demo:
        raise Stop("With DEMO=0 containers need a mail server of your own: name it in SMTP_HOST.")
    if settings.options.get("STORAGE_URL", "s3://").startswith("file:"):
        raise Stop(
            "In containers receipts lie in a volume or at an s3:// address. Drop the folder:\n"
            "  STORAGE_URL= python3 supabase/stack containers"
        )


def _folder(settings: Settings) -> Path:
    folder = settings.state / "containers"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    return folder


def _passwords(keys: Keys) -> dict[str, str]:
    """Return the files of who sets the database up, by their names in docker-compose.yml."""
    owner = keys.values["PASSWORD_postgres"]
    return {
        "supabase_admin": keys.values["PASSWORD_supabase_admin"],
        "postgres": owner,
        "seed.DATABASE_URL": f"postgresql://postgres:{owner}@{HOST}:{PORT}/postgres",
        "passwords_before.sql": password_statements(keys, PASSWORDS_BEFORE),
        "passwords_after.sql": password_statements(keys, PASSWORDS_AFTER),
    }


def _configure_database(settings: Settings, folder: Path, archive_command: str) -> None:
    listener = cluster.Listener(
        "*", PORT, str(compose_backups.SOCKETS), "samenet", cluster.crash_sync_method()
    )
    # The settings that initdb chose come first, as for a process.
    chosen = f"include '{compose_backups.DATA}/postgresql.conf'\n"
    texts = {
        "postgresql.conf": chosen + cluster.configuration(settings, listener, archive_command),
        "pg_hba.conf": cluster.rules(listener),
    }
    write_mounted(folder / "postgresql", texts)


def _memory() -> str:
    """Return the limit of PostgreSQL's memory: what its configuration counts on in all."""
    return f"{max(cluster.memory_megabytes() // 2, 512)}m"


def _project(settings: Settings, folder: Path, files: list[Path]) -> dict[str, str]:
    """Return a name that no other stack of this machine has, and the files that describe this one."""
    locked = compose_images.override(folder, files)
    return {
        "COMPOSE_PROJECT_NAME": f"harborline-{settings.identity}",
        "COMPOSE_FILE": ":".join(map(str, [*files, locked] if locked else files)),
        "CONTAINERS": str(folder),
    }


def values(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the values that supabase/services has in containers."""
    addresses = {f"{name.upper()}_ADDRESS": f"{host}:{port}" for name, (host, port) in ADDRESSES.items()}
    return {
        **{f"{name.upper()}_PORT": str(port) for name, (_, port) in ADDRESSES.items()},
        **addresses,
        "STORAGE_FILES_ADDRESS": environment.files_address(addresses["STORAGE_ADDRESS"]),
        **environment.common(settings, keys),
        **({"SMTP_HOST": "mail", "SMTP_PORT": "1025", "SMTP_TLS": "none"} if settings.own_mail else {}),
        "DATABASE": f"{HOST}:{PORT}/postgres",
        "BIND": "0.0.0.0",  # noqa: S104
        "KEYS": "/keys",
        "STORAGE_URL": settings.options.get("STORAGE_URL", "file:///objects"),
        # /tmp is a tmpfs: its files count as memory.
        "SPOOL_PATH": "/objects/uploads",
        "AUDIT_HEADS_PATH": "/worker/audit-heads",
        "BACKUPS_PATH": "/backups/backups.json" if "BACKUP_REPOSITORY" in settings.options else "",
        # The disk on which the volumes lie.
        "DISK_FOLDERS": '{"the volumes": "/worker"}',
        "GATEWAY_SITE": settings.options.get("SITE_DOMAIN", "http://:8000"),
        "GATEWAY_BIND": "0.0.0.0",  # noqa: S104
        "GATEWAY_DATA": "/certificates",
        "CERTIFICATE_ADDRESS": "gateway:443" if "SITE_DOMAIN" in settings.options else "",
        # The engine's network finds the instances of a service.
        "BALANCING": "",
        "SHUTDOWN_DELAY": "",
        "REPLACED_ROOT": "",
        "WEB_ROOT": "/srv/web",
        "PAGES_ROOT": "/srv/pages",
        "TEMPLATES_ROOT": "/srv/templates",
    }


def outside(settings: Settings, keys: Keys, folder: Path) -> dict[str, str]:
    """Return every variable that docker-compose.yml itself names."""
    host, port = settings.options.get("SITE_HOST", "127.0.0.1"), settings.ports["gateway"]
    domain, backups = "SITE_DOMAIN" in settings.options, "BACKUP_REPOSITORY" in settings.options
    files = ["", *(["domain."] if domain else []), *(["backups."] if backups else [])]
    archived = compose_backups.digest(settings, folder)
    return {
        **_project(settings, folder, [ROOT / f"docker-compose.{name}yml" for name in files]),
        "COMPOSE_PROFILES": "auth,mail" if settings.own_mail else "auth",
        "MAIL_PATH": keys.mail_path,
        "MAIL_PORT": str(settings.ports["mail"]),
        "MOUNTED_DIGEST": tools.content_digest(archived, folder / "keys", folder / "secrets"),
        "DATABASE_DIGEST": tools.content_digest(archived, folder / "postgresql"),
        "DATABASE_MEMORY": _memory(),
        "DATABASE_CPUS": str(os.cpu_count() or 1),
        "SITE_URL": settings.origin,
        "HTTP_PUBLISH": "80:80" if domain else f"{f'[{host}]' if ':' in host else host}:{port}:8000",
    }
