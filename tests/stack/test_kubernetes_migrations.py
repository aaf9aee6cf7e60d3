"""The migrations' Job of supabase/kubernetes, run container by container on a PostgreSQL with TLS.

Its superuser is called postgres, as that of a CloudNativePG cluster, whose operator sends what it is given in
one query and knows no command of psql.
"""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from launcher.database import elsewhere
from launcher.host import system_user
from launcher.settings import ROOT
from tests.support.kubernetes_manifests import Written, containers, pods
from tests.support.own_cluster import OwnCluster, settings_of_own
from tests.support.pod import Pod
from tests.support.tls_mail import Authority

HOST, NAME = "database.example", "harborline"
# Those that change what every run changes.
SERIAL = {"rights-auth", "rights-storage", "history", "passwords"}
# How often the Job itself would try again at least.
TRIES = 5


@dataclass
class Place:
    """A server with an empty database, and the manifests of a stack on it."""

    own: OwnCluster
    written: Written
    folder: Path

    def execute(self, statements: str, name: str = NAME) -> list[tuple[object, ...]]:
        """Run statements in one query, as the superuser."""
        with psycopg.connect(make_conninfo(self.own.url(), dbname=name), autocommit=True) as connection:
            found = connection.execute(statements.encode())
            return found.fetchall() if found.description else []

    def job(self, number: int) -> tuple[Pod, list[dict[str, object]]]:
        """Return a pod of the Job, and its containers in their order."""
        (spec,) = pods(self.written.steps["migrations"]).values()
        pod = Pod(spec, self.written.steps["migrations"], HOST, self.folder / str(number))
        return pod, containers(spec)


@pytest.fixture
def empty(place: Path) -> Iterator[Place]:
    """Start a server of its own, with the role and the database that the operator makes."""
    authority = Authority.make(place)
    authority.context(HOST)
    certificate = str(place / f"{HOST}.pem")
    Path(certificate).chmod(0o600)
    system_user.hand_over(Path(certificate))
    own = OwnCluster(settings_of_own(place / "server"))
    own.create()
    # The first of them is away, and the Supabase CLI would ask no other.
    servers = f"{HOST}:1,{HOST}:{own.settings.ports['postgres']}"
    written = Written(place / "state", DATABASE_SERVER=servers, DATABASE_CA=authority.file)
    with own.running(ssl="on", ssl_cert_file=certificate, ssl_key_file=certificate):
        found = Place(own, written, place / "pods")
        found.execute("create role postgres superuser", "template1")
        password = written.keys.values["PASSWORD_postgres"]
        found.execute(f"create role {NAME} login password '{password}'", "template1")
        found.execute(f"create database {NAME} owner {NAME}", "template1")
        yield found


def ended(result: subprocess.CompletedProcess[str]) -> bool:
    """Return whether a container ended well."""
    return result.returncode == 0


@pytest.mark.long
def test_the_job_waits_for_the_superuser_then_runs_twice_at_once_and_again(empty: Place) -> None:
    pod, steps = empty.job(0)
    rejected = pod.run(steps[0])
    assert not ended(rejected)
    assert (
        "HINT:  Its superuser runs once what this prints: python3 supabase/stack prepare-database"
        in rejected.stdout
    )

    empty.execute(elsewhere.preparation(empty.written.settings, empty.written.keys))
    assert empty.execute(
        "select rolname, rolsuper from pg_roles where rolname in ('harborline', 'postgres')"
    ) == [
        ("postgres", True),
        (NAME, False),
    ]

    def run(number: int) -> list[str]:
        """Run the containers of a pod, each again while it fails; return what failed."""
        pod, steps = empty.job(number)
        failures = []
        for step in steps:
            for _ in range(TRIES):
                result = pod.run(step)
                if ended(result):
                    break
                failures.append(f"{step['name']}: {result.stdout}")
            assert ended(result), result.stdout
        return failures

    with ThreadPoolExecutor(2) as pool:
        failures = [*pool.map(run, (1, 2))]
    # Only a push that meets the other one fails, and goes on when it is tried again.
    for failure in (line for lines in failures for line in lines):
        assert failure.startswith("product: "), failure
    assert run(3) == []

    crowd = [empty.job(number)[0] for number in range(4, 12)]
    for step in (step for step in steps if step["name"] in SERIAL):
        with ThreadPoolExecutor(len(crowd)) as pool:
            at_once = [pool.submit(pod.run, step) for pod in crowd]
        assert [each.result().stdout for each in at_once if not ended(each.result())] == []

    versions = [path.name.partition("_")[0] for path in sorted((ROOT / "sql" / "migrations").glob("*.sql"))]
    applied = empty.execute("select version from supabase_migrations.schema_migrations order by version")
    assert [version for (version,) in applied] == versions
    assert empty.execute("select * from private.check_ledger()") == []
    for role in ("edge_functions", "worker"):
        url = make_conninfo(
            empty.written.keys.database_url(role),
            hostaddr="127.0.0.1,127.0.0.1",
            sslrootcert=str(empty.folder.parent / "ca.pem"),
        )
        with psycopg.connect(url) as connection:
            found = connection.execute("select ssl from pg_stat_ssl where pid = pg_backend_pid()").fetchone()
            assert found == (True,)


def test_the_owner_is_never_the_superuser(empty: Place) -> None:
    empty.execute(sql.SQL("alter role {} superuser").format(sql.Identifier(NAME)).as_string())
    with pytest.raises(psycopg.errors.RaiseException, match="is a superuser here"):
        empty.execute(elsewhere.preparation(empty.written.settings, empty.written.keys))
    assert empty.execute("select count(*) from pg_roles where rolname = 'authenticator'") == [(0,)]
