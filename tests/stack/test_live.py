"""The running stack is configured as it promises: time limits, durability, connections, loopback, rights."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from launcher import settings as configuration
from launcher.database import cluster
from launcher.host.environment import TEMPLATES
from launcher.services import monitoring
from launcher.settings import Settings
from tests.support import plain_http
from tests.support.stack import Stack, env_of

MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000}
CAP_SYS_NICE = 1 << 23
GATEWAY_SECONDS = 15
FUNCTIONS_SECONDS = 12
CLUSTER = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "data_checksums": "on",
    "password_encryption": "scram-sha-256",
    "log_parameter_max_length_on_error": "0",
    "log_parameter_max_length": "0",
    "log_error_verbosity": "terse",
    "max_connections": str(cluster.connections(Settings(Path("/nowhere"), profile="reference"))),
    "superuser_reserved_connections": "3",
    "listen_addresses": "127.0.0.1",
    "jit": "off",
    "recovery_init_sync_method": cluster.crash_sync_method(),
}


@pytest.fixture(scope="module")
def admin(stack: Stack) -> Iterator[psycopg.Connection[tuple[str, ...]]]:
    """Yield the cluster's superuser."""
    with psycopg.connect(stack.values["DATABASE_ADMIN_URL"], autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def settings(state: Path) -> Settings:
    """Return the settings that the launcher stored for this stack."""
    return configuration.read(state)


def milliseconds(value: str) -> int:
    """`3s` or `250ms` as a number."""
    number, unit = re.fullmatch(r"(\d+)(ms|s|min)", value).groups()  # type: ignore[union-attr]
    return int(number) * MILLISECONDS[unit]


def of_role(admin: psycopg.Connection[tuple[str, ...]], role: str) -> dict[str, str]:
    """Return a role's own settings."""
    query = """
        select unnest(s.setconfig) from pg_catalog.pg_db_role_setting as s
        inner join pg_catalog.pg_roles as r on r.oid = s.setrole where r.rolname = %s
    """
    return dict(row[0].split("=", 1) for row in admin.execute(query, [role]))


def test_the_cluster_is_durable_and_closed(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    query = "select name, current_setting(name) from unnest(%s::text[]) as name"
    assert dict(admin.execute(query, [list(CLUSTER)])) == CLUSTER


def test_no_role_switches_durability_off(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    rows = admin.execute("select unnest(setconfig) from pg_catalog.pg_db_role_setting").fetchall()
    assert not [row for row in rows if re.match("fsync|full_page_writes|synchronous_commit", row[0])]


def test_each_wait_is_shorter_than_the_one_around_it(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    pool = 1000 * int(env_of(TEMPLATES / "postgrest.env")["PGRST_DB_POOL_ACQUISITION_TIMEOUT"])
    for role in ("anon", "authenticated", "platform_admin", "edge_functions"):
        limits = of_role(admin, role)
        lock, statement = milliseconds(limits["lock_timeout"]), milliseconds(limits["statement_timeout"])
        assert (lock, statement) == ((500, 1000) if role == "anon" else (3000, 8000)), role
        assert lock < statement <= 8000 <= pool <= FUNCTIONS_SECONDS * 1000 < GATEWAY_SECONDS * 1000, role


def test_the_gateway_waits_longer_than_any_function() -> None:
    caddyfile = (configuration.ROOT / "supabase" / "gateway" / "Caddyfile").read_text()
    assert f"response_header_timeout {GATEWAY_SECONDS}s" in caddyfile


def test_an_idle_transaction_ends(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    for role in ("authenticator", "edge_functions", "supabase_auth_admin", "supabase_storage_admin"):
        limit = of_role(admin, role)["idle_in_transaction_session_timeout"]
        assert milliseconds(limit) <= 10_000, role


def test_a_confirmation_waits_for_the_members_row(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    assert "lock_timeout" not in of_role(admin, "supabase_auth_admin")


def test_all_pools_together_leave_connections_free() -> None:
    notifications, backups, monitor, reserved = 1, 2, 3, 3
    # The worker holds its pool, one connection that listens for jobs, and one that links the audit log.
    pools = {name: env_of(TEMPLATES / f"{name}.env") for name in ("auth", "storage", "edge", "worker")}
    services = sum(int(given["DATABASE_POOL_SIZE"]) for given in pools.values())
    assert pools["auth"]["GOTRUE_DB_MAX_POOL_SIZE"] == pools["auth"]["DATABASE_POOL_SIZE"]
    of_a_set = services + int(env_of(TEMPLATES / "postgrest.env")["PGRST_DB_POOL"]) + notifications + 2
    assert of_a_set <= cluster.SET_CONNECTIONS
    wanted = of_a_set + backups + monitor + reserved
    assert wanted <= 60
    for instances in (1, 2, 8):
        settings = Settings(Path("/nowhere"), options={"INSTANCES": str(instances)})
        assert instances * of_a_set + backups + monitor + reserved <= cluster.connections(settings)


def test_migrations_need_no_superuser(admin: psycopg.Connection[tuple[str, ...]]) -> None:
    query = "select rolsuper, rolcreaterole, rolbypassrls from pg_catalog.pg_roles where rolname = 'postgres'"
    assert admin.execute(query).fetchone() == (False, True, True)
    others = admin.execute("select rolname from pg_catalog.pg_roles where rolsuper").fetchall()
    assert others == [("supabase_admin",)]


def test_the_owner_ends_sign_ins_and_accounts_but_writes_none(
    admin: psycopg.Connection[tuple[str, ...]],
) -> None:
    query = """
        select c.relname || ' ' || p.privilege
        from pg_catalog.pg_class as c
        cross join unnest(array['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) as p (privilege)
        where c.relnamespace = 'auth'::regnamespace and c.relkind = 'r'
            and has_table_privilege('postgres', c.oid, p.privilege)
    """
    ended = {"users DELETE", "sessions DELETE", "one_time_tokens DELETE"}
    assert {row[0] for row in admin.execute(query)} == ended


@pytest.mark.threat("T125")
def test_everything_listens_on_this_machine_alone(settings: Settings) -> None:
    listening: dict[int, set[str]] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                address, port = fields[1].split(":")
                listening.setdefault(int(port, 16), set()).add(address)
    for service, port in settings.ports.items():
        # Nothing is there unless the operator wants it.
        is_off = service == "postgres_metrics" and not monitoring.is_on(settings)
        assert listening.get(port) == (None if is_off else {"0100007F"}), service


@pytest.mark.threat("T108")
def test_secrets_are_readable_by_their_owner_alone(state: Path) -> None:
    assert stat.S_IMODE((state / "keys").stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "services").stat().st_mode) == 0o700
    files = [
        *(state / "keys").iterdir(),
        state / "env",
        state / "settings.json",
        state / "logs" / "setup.log",
    ]
    for file in files:
        if file.exists():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.threat("T128")
def test_logs_hold_no_secret(state: Path, stack: Stack) -> None:
    secrets = [stack.service_key, stack.values["DEMO_MEMBER_PASSWORD"], stack.values["DEMO_ADMIN_PASSWORD"]]
    for file in (state / "logs").glob("*.log"):
        text = file.read_text(errors="replace")
        for secret in secrets:
            assert secret not in text, file.name


def test_the_services_weigh_more_than_a_backend(
    state: Path, admin: psycopg.Connection[tuple[str, ...]]
) -> None:
    services = Path("/proc") / (state / "run" / "supervisord.pid").read_text().strip() / "autogroup"
    rights = re.search(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert rights
    if not int(rights[1], 16) & CAP_SYS_NICE or not services.exists():
        pytest.skip("only root may weigh a session, and only where Linux shares processors among sessions")
    backend = Path(f"/proc/{admin.info.backend_pid}/autogroup").read_text()
    assert backend.endswith("nice 0\n"), "each backend is a session of its own"
    assert services.read_text().endswith("nice -10\n")


def test_the_mail_catcher_shows_its_mails_where_no_website_finds_them(stack: Stack) -> None:
    """It responds to any website that a developer has open, and the mails hold sign-in links."""
    origin, _, path = stack.mail_url.rpartition("/")
    assert re.fullmatch(r"[0-9a-f]{32}", path)
    for known in ("/", "/email", "/config", "/socket.io/?EIO=4&transport=polling"):
        assert plain_http.get(f"{origin}{known}").status_code == 404, known
    assert plain_http.get(f"{stack.mail_url}/email").status_code == 200
