"""What docker-compose.yml needs from outside: keys that containers can read, and one env file."""

import hashlib
import shutil
from pathlib import Path

import environment
from keys import Keys
from settings import DATABASE_ROLES, Settings
from terminal import Stop

MOUNTED = ("jwks.json", "admin.json", "secrets.json")


def prepare(settings: Settings, keys: Keys) -> Path:
    """Write the folder `containers` of the state folder; returns the env file in it.

    The folder is closed to others on this machine; what is mounted from it is open to the containers' users.

    Raises:
        Stop: nobody would send the mails.
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
    path = folder / "env"
    path.touch(mode=0o600)
    path.write_text("".join(f"{name}='{value}'\n" for name, value in values(settings, keys, mounted).items()))
    return path


def commands(settings: Settings, env_file: Path) -> list[str]:
    """What starts the containers, and what makes the first people in them, once."""
    compose = f"docker compose --env-file {env_file}"
    mail = "--profile mail " if settings.own_mail else ""
    first = "demo" if settings.demo else "first-administrator --email ... --name ..."
    return [f"{compose} {mail}up --build --detach --wait", f"{compose} run --rm seed {first}"]


def values(settings: Settings, keys: Keys, mounted: Path) -> dict[str, str]:
    """Every variable that docker-compose.yml names."""
    mail, domain = environment.mail(settings), settings.options.get("SITE_DOMAIN")
    host, port = settings.options.get("SITE_HOST", "127.0.0.1"), settings.ports["gateway"]
    own = {"SMTP_HOST": "mail", "SMTP_PORT": "1025"} if settings.own_mail else {}
    passwords = {f"PASSWORD_{role.upper()}": keys.values[f"PASSWORD_{role}"] for role in DATABASE_ROLES}
    shared = ("JWT_SECRET", "SIGNING_SECRET", "SUPABASE_ANON_KEY", "SUPABASE_SERVICE_ROLE_KEY")
    return {
        "SITE_URL": settings.origin,
        "GATEWAY_SITE": domain or "http://:8000",
        "GATEWAY_PUBLISH": "443:443" if domain else f"{host}:{port}:8000",
        "KEYS_FOLDER": str(mounted),
        "KEYS_DIGEST": hashlib.sha256(
            b"".join((mounted / name).read_bytes() for name in MOUNTED)
        ).hexdigest(),
        "GOTRUE_JWT_KEYS": keys.gotrue,
        **{name: keys.values[name] for name in shared},
        **passwords,
        **mail,
        **own,
        "DEPOSIT_ADDRESS": settings.options.get("DEPOSIT_ADDRESS", ""),
        "SMTP_ADMIN_EMAIL": mail["MAIL_FROM"].rpartition(" ")[2].strip("<>"),
    }
