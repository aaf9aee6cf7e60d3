"""Three PostgreSQL nodes under Patroni with three etcd nodes, on loopback: Debian's packages as they are."""

import getpass
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg

from launcher import private_files
from launcher.host import environment, system_user, tools
from launcher.terminal import Stop, run
from tests.support import plain_http
from tests.support.children import ending_with_parent
from tests.support.cluster_backups import ClusterBackups
from tests.support.own_stack import until
from tests.support.plain_server import serving
from tests.support.ports import free_port

NUMBERS = (1, 2, 3)
# What docs/growing.md recommends: the smallest that Patroni documents, and the smallest that it takes.
DOCUMENTED_TTL, SMALLEST_TTL = 20, 8
SUPERUSER, REPLICATOR, REWINDER = "supabase_admin", "replicator", "rewinder"
PASSWORD = "a-password-of-loopback-alone"
START_SECONDS = 120
# The default of Patroni's `watchdog: safety_margin`.
WATCHDOG_MARGIN_SECONDS = 5


@dataclass
class Node:
    """One PostgreSQL with its Patroni.

    Attributes:
        port: of PostgreSQL.
        api: of Patroni's own interface.
    """

    name: str
    folder: Path
    port: int = field(default_factory=free_port)
    api: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def postmaster(self) -> int | None:
        """The process of its PostgreSQL, if it runs."""
        file = self.data / "postmaster.pid"
        return int(file.read_text().split()[0]) if file.exists() else None


class PatroniCluster:
    """The cluster in a folder that its user can enter.

    Attributes:
        ttl: seconds after which a primary that says nothing has lost its place.
        password: of its superuser, and of those who copy from one node to another.
        backups: the repository that the primary archives its WAL into.
    """

    def __init__(self, folder: Path, ttl: int = DOCUMENTED_TTL, password: str = PASSWORD) -> None:
        self.folder, self.ttl, self.password = folder, ttl, password
        postgres = tools.find_postgres(tools.EXTENSIONS)
        assert postgres
        self.postgres = postgres
        self.nodes = [Node(f"node{number}", folder / f"node{number}") for number in NUMBERS]
        self._etcd_ports = [(free_port(), free_port()) for _ in NUMBERS]
        self.etcd: list[subprocess.Popen[bytes] | None] = [None for _ in NUMBERS]
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.backups = ClusterBackups(folder)
        self.backups.make()

    @property
    def servers(self) -> str:
        """The nodes as DATABASE_SERVER names them."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def start(self) -> None:
        """Start everything and wait until one node takes writes and the others follow it."""
        for number in NUMBERS:
            self.start_etcd(number)
        self._start_nodes()

    def _start_nodes(self) -> None:
        # The first may have data, which the others then copy.
        self.start_node(self.nodes[0])
        until(lambda: self.primary() is not None and self._has_settings(), START_SECONDS)
        self._set()
        self.backups.run(self.nodes[0].folder, "stanza-create")
        for node in self.nodes[1:]:
            self.start_node(node)
        until(lambda: self.primary() is not None and self.synchronous() is not None, START_SECONDS)

    def _has_settings(self) -> bool:
        """Return whether the cluster has settings to edit: it may get them after it has its primary."""
        return plain_http.get(f"http://127.0.0.1:{self.nodes[0].api}/config", timeout=2).is_success

    def _set(self) -> None:
        """Give the cluster its settings: where the first node had data, nobody has."""
        file = self.folder / "settings.json"
        private_files.write(file, json.dumps(self._settings()))
        self._patronictl("edit-config", "--apply", file)

    def _patronictl(self, command: str, *arguments: str | Path) -> None:
        # Any node's file names etcd; without that it would wait for ever.
        called: list[str | Path] = ["timeout", "60", "patronictl", "-c", self.nodes[0].folder / "patroni.yml"]
        run([*called, command, "harborline", *arguments, "--force"], None, env=environment.base())

    def start_etcd(self, number: int) -> None:
        """Start one etcd node."""
        client, peer = self._etcd_ports[number - 1]
        members = ",".join(
            f"etcd{other}=http://127.0.0.1:{ports[1]}"
            for other, ports in zip(NUMBERS, self._etcd_ports, strict=True)
        )
        data = self.folder / f"etcd{number}"
        private_files.make_folder(data)
        system_user.hand_over(data)
        options = {
            "name": f"etcd{number}",
            "data-dir": str(data),
            "listen-client-urls": f"http://127.0.0.1:{client}",
            "advertise-client-urls": f"http://127.0.0.1:{client}",
            "listen-peer-urls": f"http://127.0.0.1:{peer}",
            "initial-advertise-peer-urls": f"http://127.0.0.1:{peer}",
            "initial-cluster": members,
            "logger": "zap",
        }
        command: list[str | Path] = ["etcd", *(f"--{name}={value}" for name, value in options.items())]
        self.etcd[number - 1] = self._spawn(command, f"etcd{number}")

    def start_node(self, node: Node) -> None:
        """Start Patroni on a node; it starts PostgreSQL, and makes it what the others need."""
        private_files.make_folder(node.folder)
        self.backups.configure(node.folder, node.data, node.port)
        file = node.folder / "patroni.yml"
        private_files.write(file, json.dumps(self._configuration(node), indent=2))
        system_user.hand_over(node.folder)
        node.process = self._spawn(["patroni", file], node.name)

    def _spawn(self, command: list[str | Path], name: str) -> subprocess.Popen[bytes]:
        command = ending_with_parent(command, "TERM")
        # Not PGPASSWORD and the like: Patroni would hand them on.
        env = environment.base() | {"HOME": str(self.folder)}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                system_user.as_user(command, system_user.name()), cwd="/", env=env, stdout=log, stderr=log
            )

    def _settings(self) -> dict[str, Any]:
        parameters = {
            "max_connections": 200,
            "password_encryption": "scram-sha-256",
            "wal_log_hints": "on",
            # A replica looks for the new primary so soon: after 5 s by default, for which every commit waits.
            "wal_retrieve_retry_interval": "500ms",
            "log_checkpoints": "off",
        }
        return {
            "ttl": self.ttl,
            "loop_wait": 1,
            "retry_timeout": 3,
            "failsafe_mode": True,
            "maximum_lag_on_failover": 16 * 2**20,
            "synchronous_mode": True,
            "synchronous_mode_strict": True,
            "primary_start_timeout": 0,
            "postgresql": {"use_pg_rewind": True, "parameters": parameters},
        }

    def _configuration(self, node: Node) -> dict[str, Any]:
        access = [
            # pgBackRest, from the machine itself and without a password.
            f"local all {SUPERUSER} peer map=backups",
            f"host replication {REPLICATOR} 127.0.0.1/32 scram-sha-256",
            "host all all 127.0.0.1/32 scram-sha-256",
        ]
        archive = {
            "archive_mode": "on",
            "archive_timeout": "60s",
            "archive_command": self.backups.archive_command(node.folder),
            "unix_socket_directories": str(node.folder),
        }
        people = {"superuser": SUPERUSER, "replication": REPLICATOR, "rewind": REWINDER}
        return {
            "scope": "harborline",
            "name": node.name,
            "restapi": {"listen": f"127.0.0.1:{node.api}", "connect_address": f"127.0.0.1:{node.api}"},
            "etcd3": {"hosts": [f"127.0.0.1:{client}" for client, _ in self._etcd_ports]},
            "bootstrap": {
                "dcs": self._settings(),
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{node.port}",
                "connect_address": f"127.0.0.1:{node.port}",
                "data_dir": str(node.data),
                "bin_dir": str(self.postgres),
                "pgpass": str(node.folder / "pgpass"),
                "pg_hba": access,
                "pg_ident": [f"backups {system_user.name() or getpass.getuser()} {SUPERUSER}"],
                "parameters": archive,
                "authentication": {
                    use: {"username": name, "password": self.password} for use, name in people.items()
                },
            },
        }

    def _seen(self, node: Node) -> dict[str, Any]:
        """Return what a node's Patroni says of it; nothing when it does not respond."""
        try:
            return dict(plain_http.get(f"http://127.0.0.1:{node.api}/patroni", timeout=2).json())
        except (httpx.HTTPError, ValueError):
            return {}

    def primary(self) -> Node | None:
        """Return the node that takes writes."""
        found = [node for node in self.nodes if self._seen(node).get("role") in ("master", "primary")]
        return found[0] if len(found) == 1 else None

    def replicas(self) -> list[Node]:
        """Return the nodes that follow the primary and receive from it."""
        primary = self.primary()
        if not primary:
            return []
        names = {name for name, _ in self.streaming(primary)}
        return [node for node in self.nodes if node.name in names]

    def streaming(self, primary: Node) -> list[tuple[str, str]]:
        """Return the replicas that receive from the primary, with how a commit waits for them."""
        query = "select application_name, sync_state from pg_stat_replication where state = 'streaming'"
        try:
            with psycopg.connect(self.url(primary), connect_timeout=3) as connection:
                return connection.execute(query.encode()).fetchall()
        except psycopg.Error:
            return []

    def synchronous(self) -> str | None:
        """Return the name of the replica that each commit waits for."""
        primary = self.primary()
        found = [name for name, state in self.streaming(primary) if state == "sync"] if primary else []
        # While it is copied a replica receives under another name.
        return next((node.name for node in self.nodes if node.name in found), None)

    def url(self, node: Node) -> str:
        """Return the superuser's address of a node."""
        return self.url_at(node.port)

    def url_at(self, port: int) -> str:
        """Return the superuser's address of a server with its data."""
        return f"postgresql://{SUPERUSER}:{self.password}@127.0.0.1:{port}/postgres"

    def superuser_url(self) -> str:
        """Return the superuser's address of the primary, whichever node it is."""
        return f"postgresql://{SUPERUSER}:{self.password}@{self.servers}/postgres?target_session_attrs=read-write"

    def lose(self, node: Node) -> None:
        """End a node's Patroni and PostgreSQL at once, as a machine that is lost does."""
        postmaster = node.postmaster
        assert node.process
        assert postmaster
        for pid in (node.process.pid, postmaster):
            os.kill(pid, signal.SIGKILL)
        node.process.wait()
        node.process = None

    def hang(self, node: Node) -> None:
        """Stop a node's processes: its connections stay open and say nothing until the watchdog resets it.

        The watchdog of Patroni does so 5 s before another node may become the primary.
        """
        postmaster = node.postmaster
        assert node.process
        assert postmaster
        for pid in (node.process.pid, postmaster):
            os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        self._signal(children, signal.SIGSTOP)
        time.sleep(self.ttl - WATCHDOG_MARGIN_SECONDS)
        self.lose(node)
        self._signal(children, signal.SIGKILL)

    def _signal(self, pids: list[str], number: int) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), number)

    def switch(self) -> None:
        """Let another node become the primary, as before planned work."""
        primary = self.primary()
        assert primary
        self._patronictl("switchover", "--master", primary.name)
        until(lambda: self.primary() not in (None, primary), START_SECONDS)

    @contextmanager
    def restored(self, folder: Path, port: int, to: datetime) -> Iterator[None]:
        """Restore the database as it was at a moment into a new folder, and run it there by itself.

        Raises:
            Stop: the repository does not have all until that moment.
        """
        data = self.backups.restore(folder, port, to)
        # It is no node: nobody follows it, and it archives nothing into the repository of the cluster.
        alone = {
            "archive_mode": "off",
            "synchronous_standby_names": "",
            "hba_file": str(data / "pg_hba.conf"),
            "ident_file": str(data / "pg_ident.conf"),
            # Nothing is read before all of it is there.
            "hot_standby": "off",
        }
        with serving(data, port, self.postgres, **alone) as server:
            until(lambda: server.poll() is not None or self._accepts(port), START_SECONDS)
            if server.poll() is not None:
                raise Stop("recovery ended before it came to the moment")
            yield

    def _accepts(self, port: int) -> bool:
        try:
            psycopg.connect(self.url_at(port), connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def take_back(self, to: datetime) -> None:
        """Take the cluster back to a moment: the first node is restored, and the others copy it."""
        self._stop_nodes()
        for node in self.nodes:
            shutil.rmtree(node.data)
        # It would wait for a node that has what is no longer wanted.
        file: str | Path = self.nodes[0].folder / "patroni.yml"
        remove = ["patronictl", "-c", file, "remove", "harborline"]
        confirmed = b"harborline\nYes I am aware\n"
        subprocess.run(remove, input=confirmed, check=True, capture_output=True, timeout=60)
        first = self.nodes[0]
        with self.restored(first.folder, first.port, to), psycopg.connect(self.url(first)) as connection:
            connection.execute("select private.mark_restored()")
        self._start_nodes()

    def _stop_nodes(self) -> None:
        running = [node for node in self.nodes if node.process]
        for node in running:
            assert node.process
            node.process.terminate()
        for node in running:
            assert node.process
            node.process.wait(60)
            node.process = None

    def remove(self) -> None:
        """End everything and remove the data."""
        self._stop_nodes()
        for process in self.etcd:
            if process:
                process.terminate()
                process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)
