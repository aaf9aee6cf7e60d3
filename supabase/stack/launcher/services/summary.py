"""The result of `up` for people and for tools: addresses, the demo's sign-ins, and the env file."""

import tomllib

from launcher import private_files
from launcher.keys import Keys
from launcher.settings import ROOT, Settings

PEOPLE = (("Demo member", "MEMBER"), ("Another member", "MEMBER2"), ("Administrator", "ADMIN"))


def version() -> str:
    """Return the version of the product."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def env_values(settings: Settings, keys: Keys) -> dict[str, str]:
    """Return the lines of the env file; the demo's names only where the demo was seeded."""
    values = {
        "SITE_URL": settings.origin,
        "SUPABASE_URL": settings.origin,
        "SUPABASE_ANON_KEY": keys.values["SUPABASE_ANON_KEY"],
        "SUPABASE_SERVICE_ROLE_KEY": keys.values["SUPABASE_SERVICE_ROLE_KEY"],
        "DATABASE_URL": keys.database_url("postgres"),
    }
    if not settings.database_elsewhere:
        values["DATABASE_ADMIN_URL"] = keys.database_url("supabase_admin")
    if binary := settings.options.get("AUTH_BIN"):
        values["AUTH_BIN"] = binary
    if settings.own_mail:
        values["MAIL_URL"] = f"http://{settings.address('mail')}{keys.mail_path}"
    demo = settings.state / "keys" / "demo.env"
    lines = demo.read_text().splitlines() if demo.exists() else []
    return values | dict(line.split("=", 1) for line in lines if "=" in line)


def write_env(settings: Settings, keys: Keys) -> None:
    """Write `env` in the state folder: KEY=value lines, readable by its owner alone."""
    lines = (f"{name}={value}\n" for name, value in env_values(settings, keys).items())
    private_files.write(settings.state / "env", "".join(lines))


def show(settings: Settings, keys: Keys) -> None:
    """Print where everything is."""
    values = env_values(settings, keys)
    print(f"\n  Harborline     {version()}")
    print(f"  Web app        {values['SITE_URL']}")
    print(f"  Administrators {values['SITE_URL']}/admin/login")
    if "SITE_URL" in settings.options and "SITE_DOMAIN" not in settings.options:
        print(f"  Gateway        {settings.gateway_url}  (what the proxy in front passes requests to)")
    if "MAIL_URL" in values:
        print(f"  Mail catcher   {values['MAIL_URL']}")
    for title, name in PEOPLE:
        if f"DEMO_{name}_EMAIL" in values:
            print(f"  {title:14} {values[f'DEMO_{name}_EMAIL']}  {values[f'DEMO_{name}_PASSWORD']}")
    print(f"  Database       {settings.options.get('DATABASE_SERVER', settings.data_directory)}")
    print(f"  For tools      {settings.state / 'env'}\n")
