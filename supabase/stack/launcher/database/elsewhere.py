"""A PostgreSQL of the operator's, which DATABASE_SERVER names: whether it is what the product needs.

The launcher has no superuser there. Who has one runs, once, what `prepare-database` prints.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from string import Template
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from launcher import options
from launcher.database.cluster import SET_CONNECTIONS
from launcher.database.schema import PASSWORDS_BEFORE, bootstrap_files, bootstrap_text
from launcher.host.tools import MINIMUM_POSTGRES, content_digest
from launcher.keys import Keys
from launcher.settings import FILES, Settings
from launcher.terminal import Stop

# For who looks after it, besides those of the services.
OTHER_CONNECTIONS = 12
# Clocks that are set by the network are never this far apart.
CLOCKS_APART_SECONDS = 10
LAG_LATE_SECONDS = 60
STATE = """
select
    pg_is_in_recovery() as is_replica,
    pg_backend_pid() as backend,
    (select system_identifier::text from pg_control_system()) as identifier,
    current_setting('server_version_num')::integer / 10000 as version,
    current_setting('max_connections')::integer as connections,
    clock_timestamp() as now,
    case
        when not pg_is_in_recovery() then null
        -- What has arrived and is replayed is not late, however long ago the last commit was.
        when
            exists (select from pg_stat_wal_receiver)
            and pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
            then 0
        else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::integer
    end as lag
"""


@dataclass(frozen=True)
class Server:
    """One of the servers that DATABASE_SERVER names.

    Attributes:
        name: host and port.
        failure: why it was not reached; empty when it was.
        state: what it says of itself, see STATE.
        is_pooled: somebody else hands out the connections.
    """

    name: str
    failure: str
    state: dict[str, Any]
    is_pooled: bool = False

    @property
    def is_primary(self) -> bool:
        """Whether it takes writes."""
        return not self.failure and not self.state["is_replica"]

    def __str__(self) -> str:
        if self.failure:
            return f"{self.name} NOT REACHED: {self.failure}"
        if self.is_primary:
            return f"{self.name} primary"
        lag = self.state["lag"]
        if lag is None:
            return f"{self.name} replica, WARNING: it replays nothing"
        late = "WARNING: " if lag > LAG_LATE_SECONDS else ""
        return f"{self.name} replica, {late}{lag} s behind"


def look(settings: Settings, keys: Keys) -> list[Server]:
    """Ask every server, each alone, who it is."""
    found = []
    for host, port in options.servers(settings.options["DATABASE_SERVER"]):
        name = f"{host}:{port}"
        try:
            with psycopg.connect(
                url_of_server(keys, host, port), autocommit=True, row_factory=dict_row
            ) as connection:
                state = connection.execute(STATE).fetchone() or {}
                is_pooled = connection.info.backend_pid != state["backend"]
        except psycopg.Error as error:
            said = str(error).strip().splitlines()[-1]
            found.append(Server(name, said.rpartition(" failed: ")[2], {}))
        else:
            found.append(Server(name, "", state, is_pooled))
    return found


def url_of_server(keys: Keys, host: str, port: int) -> str:
    """Return the owner's address of one server, whatever it is now."""
    url = keys.database_url("postgres")
    return make_conninfo(url, host=host.strip("[]"), port=port, target_session_attrs="any")


def require_suitable(settings: Settings, keys: Keys) -> str:
    """Raise in words unless the servers are one cluster that was prepared; return which one it is."""
    found = look(settings, keys)
    reached = [server for server in found if not server.failure]
    if not reached:
        _stop_unreached(found, settings.database_owner)
    identifiers: dict[str, str] = {server.state["identifier"]: server.name for server in reached}
    if len(identifiers) > 1:
        raise Stop(f"{' and '.join(identifiers.values())} are two clusters. Name the servers of one.")
    (identifier,) = identifiers
    if settings.system_identifier not in ("", identifier):
        raise Stop(
            f"The database of the stack in {settings.state} is another cluster than the one at\n"
            f"  {reached[0].name} (system identifier {settings.system_identifier}, not {identifier}).\n"
            "  Nothing was changed. docs/growing.md says how a database moves."
        )
    _require_one_primary(found)
    primary = next(server for server in reached if server.is_primary)
    _require_suitable_primary(primary, settings, keys)
    return identifier


def _stop_unreached(found: list[Server], owner: str) -> None:
    said = "\n    ".join(map(str, found))
    raise Stop(
        f"No server of DATABASE_SERVER lets role {owner} in:\n    {said}\n"
        "  If the database is new, its superuser runs once what this prints, which sets the passwords too:\n"
        "  python3 supabase/stack prepare-database"
    )


def _require_one_primary(found: list[Server]) -> None:
    primaries = [server.name for server in found if server.is_primary]
    listed = "\n    ".join(map(str, found))
    if not primaries:
        raise Stop(f"No server of DATABASE_SERVER takes writes; its engine promotes a replica:\n    {listed}")
    if len(primaries) > 1:
        raise Stop(
            f"{' and '.join(primaries)} both take writes: the cluster has come apart, and what is\n"
            "  written to one is not on the other. Nothing was started. Decide by hand which one is right,\n"
            "  and stop the other."
        )


def _require_suitable_primary(primary: Server, settings: Settings, keys: Keys) -> None:
    state = primary.state
    if state["version"] < MINIMUM_POSTGRES:
        raise Stop(f"{primary.name} is PostgreSQL {state['version']}; {MINIMUM_POSTGRES} or newer is needed.")
    apart = (state["now"] - datetime.now(UTC)).total_seconds()
    if abs(apart) > CLOCKS_APART_SECONDS:
        raise Stop(
            f"The clocks of {primary.name} and of this machine are {abs(apart):.0f} s apart. Let the\n"
            "  network set both (chrony, systemd-timesyncd): tokens and the audit log go by them."
        )
    if primary.is_pooled and _is_shared_between_transactions(keys):
        raise Stop(
            f"At {primary.name} a pooler lends connections for one transaction each: notifications\n"
            "  and settings get lost. Name the servers themselves, or a port of the pooler in session mode."
        )
    needed = OTHER_CONNECTIONS + SET_CONNECTIONS * settings.instances * settings.machines
    if state["connections"] < needed:
        raise Stop(
            f"{primary.name} takes {state['connections']} connections (max_connections);\n"
            f"  the services need {needed}."
        )
    _require_prepared(settings, keys)


def _is_shared_between_transactions(keys: Keys) -> bool:
    """Return whether what one connection sets is gone, or another's, in its next transaction."""
    url = keys.database_url("postgres")
    with psycopg.connect(url, autocommit=True) as first, psycopg.connect(url, autocommit=True) as second:
        first.execute("select set_config('harborline.probe', 'first', false)")
        with second.transaction():
            second.execute("select 1")
            row = first.execute("select current_setting('harborline.probe', true)").fetchone()
        first.execute("select set_config('harborline.probe', '', false)")
    return row != ("first",)


def _require_prepared(settings: Settings, keys: Keys) -> None:
    with psycopg.connect(keys.database_url("postgres")) as connection:
        row = connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
        if row == (True,):
            raise Stop(
                f"{settings.database_owner} is a superuser of this cluster. The product's owner is none,\n"
                "  and its right is not taken away. Give the owner another name: DATABASE_OWNER=harborline"
            )
        lacking = [text for (text,) in connection.execute((FILES / "lacking.sql").read_text().encode())]
        said = connection.execute("select obj_description('extensions'::regnamespace)").fetchone()
    if not lacking and said != (_mark(settings),):
        lacking = ["what this version brings, or the passwords of these keys"]
    lacking += [f"the password of role {role}" for role in PASSWORDS_BEFORE if not _lets_in(keys, role)]
    if lacking:
        listed = "\n    ".join(lacking)
        raise Stop(
            f"The database lacks:\n    {listed}\n"
            "  Its superuser runs once what this prints: python3 supabase/stack prepare-database"
        )


def _lets_in(keys: Keys, role: str) -> bool:
    try:
        psycopg.connect(keys.database_url(role)).close()
    except psycopg.OperationalError:
        return False
    return True


def preparation(settings: Settings, keys: Keys) -> str:
    """Return what a superuser runs once, in SQL alone: the bootstrap with the passwords, hashed."""
    head = Template((FILES / "prepare.sql").read_text()).substitute(owner=settings.database_owner)
    parts = [bootstrap_text(file, settings) for file in bootstrap_files()]
    passwords = [f"alter role {name} password '{verifier}';" for name, verifier in _verifiers(settings, keys)]
    mark = f"comment on schema extensions is '{_mark(settings)}';"
    return "\n".join([head, *parts, *passwords, mark, "commit;"])


def require_prepared_statement(settings: Settings) -> str:
    """Return the statement that fails where a superuser has not run what these files bring."""
    return Template((FILES / "prepared.sql").read_text()).substitute(mark=_mark(settings))


def _verifiers(settings: Settings, keys: Keys) -> list[tuple[str, str]]:
    """Return each role with what PostgreSQL stores of its password, so that no log of a server holds it."""
    connection = pq.PGconn.connect_start(b"")
    found = []
    for role in PASSWORDS_BEFORE:
        name = settings.database_owner if role == "postgres" else role
        password = keys.values[f"PASSWORD_{role}"].encode()
        found.append((name, connection.encrypt_password(password, name.encode(), b"scram-sha-256").decode()))
    connection.finish()
    return found


def _mark(settings: Settings) -> str:
    """Return what the database says when it was prepared by these files."""
    return f"Prepared for Harborline, {content_digest(settings.database_owner, *bootstrap_files())[:16]}"
