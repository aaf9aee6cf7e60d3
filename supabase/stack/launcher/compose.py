"""What docker-compose.yml needs from outside: keys and environments that containers can read."""

import hashlib
import shutil
from pathlib import Path

from launcher import cluster, environment
from launcher.keys import Keys
from launcher.settings import DATABASE_ROLES, Settings
from launcher.terminal import Stop

MOUNTED = ("jwks.json", "admin.json", "secrets.json")
SERVICES = ("auth", "storage", "edge", "worker", "postgrest", "gateway")
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


def prepare(settings: Settings, keys: Keys) -> Path:
    """Write the folder `containers` of the state folder; return the env file in it.

    The folder is closed to others on this machine; what is mounted from it is open to the containers' users.
    """
    if settings.own_mail and not settings.demo:
        raise Stop("With DEMO=0 containers need a mail server of your own: name it in SMTP_HOST.")
    folder = settings.state / "containers"
    mounted = folder / "keys"
    mounted.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    mounted.chmod(0o755)
    for name in MOUNTED:
        shutil.copyfile(keys.folder / name, mounted / name)
        (mounted / name).chmod(0o644)
    filled = values(settings, keys)
    for name in SERVICES:
        limits = environment.fill("auth-limits", filled) if name == "auth" else {}
        _write(folder / f"{name}.env", environment.fill(name, filled) | limits)
    return _write(folder / "env", outside(settings, keys, folder))


def _write(path: Path, lines: dict[str, str]) -> Path:
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}='{value}'\n" for name, value in lines.items()))
    return path


def commands(env_file: Path, settings: Settings) -> list[str]:
    """Return what starts the containers, and what makes the first people in them, once."""
    compose = f"docker compose --env-file {env_file}"
    first = "demo" if settings.demo else "first-administrator --email ... --name ..."
    return [f"{compose} up --build --detach --wait", f"{compose} run --rm seed {first}"]


def values(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the values that supabase/services has in containers."""
    return {
        **{f"{name.upper()}_PORT": str(port) for name, (_, port) in ADDRESSES.items()},
        **{f"{name.upper()}_ADDRESS": f"{host}:{port}" for name, (host, port) in ADDRESSES.items()},
        **environment.common(settings, keys),
        **({"SMTP_HOST": "mail", "SMTP_PORT": "1025", "SMTP_TLS": "none"} if settings.own_mail else {}),
        "BIND": "0.0.0.0",  # noqa: S104
        "KEYS": "/keys",
        "STORAGE_URL": settings.options.get("STORAGE_URL", "file:///objects"),
        "AUDIT_HEADS_PATH": "/worker/audit-heads",
        # Of containers others take care.
        "BACKUPS_PATH": "",
        # Of the disk on which the volumes lie.
        "DISK_FOLDERS": '{"the volumes": "/worker"}',
        "GATEWAY_SITE": settings.options.get("SITE_DOMAIN", "http://:8000"),
        "GATEWAY_BIND": "0.0.0.0",  # noqa: S104
        "GATEWAY_DATA": "/data",
        "CERTIFICATE_ADDRESS": "gateway:443" if "SITE_DOMAIN" in settings.options else "",
        "WEB_ROOT": "/srv/web",
        "PAGES_ROOT": "/srv/pages",
        "TEMPLATES_ROOT": "/srv/templates",
    }


def outside(settings: Settings, keys: Keys, folder: Path) -> dict[str, str]:
    """Return every variable that docker-compose.yml itself names."""
    host, port = settings.options.get("SITE_HOST", "127.0.0.1"), settings.ports["gateway"]
    mounted = b"".join((folder / "keys" / name).read_bytes() for name in MOUNTED)
    return {
        "COMPOSE_PROFILES": "auth,mail" if settings.own_mail else "auth",
        "CONTAINERS": str(folder),
        "MAIL_PATH": keys.mail_path,
        "CRASH_SYNC_METHOD": cluster.crash_sync_method(),
        "KEYS_DIGEST": hashlib.sha256(mounted).hexdigest(),
        "SITE_URL": settings.origin,
        "GATEWAY_PUBLISH": "443:443" if settings.options.get("SITE_DOMAIN") else f"{host}:{port}:8000",
        **{f"PASSWORD_{role.upper()}": keys.values[f"PASSWORD_{role}"] for role in DATABASE_ROLES},
    }
