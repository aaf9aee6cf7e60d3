"""supervisord: keeps a stack's processes running, restarts what dies, rotates the logs."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
import xmlrpc.client
from pathlib import Path
from typing import Any

import cluster
from services import Service
from settings import ROOT, Settings
from terminal import Stop
from tools import PYTHON, VENV

# Nine times the weight of a backend.
SESSION_NICE = -10
# Of a killed PostgreSQL a backend may still be at its statement; until it ends, no new one can start. Each
# pause is a second longer than the one before, so the longest must be shorter than cluster.wait is.
POSTGRES_RETRIES = 60
# States of a process that runs only when somebody asks for it.
ENDED = ("STOPPED", "EXITED", "FATAL")
# supervisord's numbers for what it refuses, and for a start that did not succeed.
SHUTDOWN_STATE, ABNORMAL_TERMINATION, SPAWN_ERROR, ALREADY_STARTED, NOT_RUNNING = 6, 40, 50, 60, 70
SUPERVISOR = """\
[supervisord]
pidfile = {run}/supervisord.pid
logfile = {logs}/supervisord.log
logfile_maxbytes = 5MB
logfile_backups = 2
childlogdir = {logs}
loglevel = warn
{as_root}
[unix_http_server]
file = {sockets}/control.sock
chmod = 0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface

[program:postgres]
command = {postgres}
user = {owner}
directory = /
priority = 1
autostart = true
autorestart = true
startretries = {retries}
stopsignal = INT
stopwaitsecs = 60
{log}

[group:services]
programs = {names}
priority = 10
"""
PROGRAM = """
[program:{name}]
command = setpriv --pdeathsig TERM -- {python} -IS {runner} {specification}
directory = {root}
autostart = false
autorestart = true
startsecs = 0
stopwaitsecs = 15
stopasgroup = true
killasgroup = true
{log}
"""
LOG = """redirect_stderr = true
stdout_logfile = {logs}/{name}.log
stdout_logfile_maxbytes = 10MB
stdout_logfile_backups = 3"""


class Supervisor:
    """supervisord of one stack, spoken to through its socket."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.configuration = settings.state / "supervisord.conf"
        transport = _SocketTransport(settings.sockets / "control.sock")
        self.rpc: Any = xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=transport)

    def configure(self, services: list[Service], postgres: Path) -> None:
        """Write the supervisor's configuration."""
        settings, logs = self.settings, self.settings.state / "logs"
        for folder in (logs, settings.state / "run", settings.sockets):
            folder.mkdir(parents=True, exist_ok=True)
        settings.sockets.chmod(0o755 if settings.sockets == settings.state / "run" else 0o700)
        text = SUPERVISOR.format(
            run=settings.state / "run",
            sockets=settings.sockets,
            logs=logs,
            as_root="user = root\n" if os.geteuid() == 0 else "",
            postgres=cluster.command(settings, postgres),
            owner=cluster.owner(),
            retries=POSTGRES_RETRIES,
            names=",".join(service.name for service in services),
            log=LOG.format(logs=logs, name="postgres"),
        )
        for service in services:
            text += PROGRAM.format(
                name=service.name,
                python=PYTHON,
                runner=ROOT / "supabase" / "stack" / "run_service.py",
                specification=self._specification(service),
                root=ROOT,
                log=LOG.format(logs=logs, name=service.name),
            )
        self.configuration.write_text(text)

    def is_running(self) -> bool:
        """Whether the supervisor answers."""
        try:
            self.rpc.supervisor.getState()
        except (OSError, http.client.HTTPException):
            return False
        return True

    def start(self) -> bool:
        """Start the supervisor with PostgreSQL, or make a running one read its configuration again.

        A running one may have given PostgreSQL up, or been left between its end and its start.

        Returns whether the supervisor was started.
        """
        if not self.is_running():
            command = [str(VENV / "bin" / "supervisord"), "--configuration", str(self.configuration)]
            result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            if result.returncode:
                raise Stop(f"supervisord did not start: {result.stderr.strip()}")
            self._wait_for_answer()
            self._weigh_session()
            return True
        added, changed, removed = self._ask("reloadConfig")[0]
        for group in (*changed, *removed):
            self._ask("stopProcessGroup", group)
            self._ask("removeProcessGroup", group)
        for group in (*changed, *added):
            self._ask("addProcessGroup", group)
        self._start("postgres")
        return False

    def _start(self, name: str) -> None:
        """Start a process unless it runs, once it has ended if it is about to.

        Whether it then serves is asked elsewhere: what does not start at once is tried again.
        """
        while (state := self._ask("getProcessInfo", name)["statename"]) == "STOPPING":
            time.sleep(0.1)
        if state in ENDED:
            self._ask("startProcess", name, but=(ALREADY_STARTED, SPAWN_ERROR, ABNORMAL_TERMINATION))

    def _stop(self, name: str) -> None:
        self._ask("stopProcess", name, but=(NOT_RUNNING,))

    def _ask(self, method: str, *arguments: str, but: tuple[int, ...] = ()) -> Any:
        """Call the supervisor; what it refuses with one of the numbers in `but` needs nothing done.

        Raises:
            Stop: it refuses for another reason.
        """
        try:
            return getattr(self.rpc.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as refusal:
            if refusal.faultCode in but:
                return None
            log = self.settings.state / "logs" / "supervisord.log"
            raise Stop(f"supervisord refused {method}: {refusal.faultString}. See {log}") from refusal

    def _weigh_session(self) -> None:
        """Give all services together more of the processors than one backend of PostgreSQL has.

        Linux may share them among sessions, and each backend is a session of its own: under load the gateway
        would hardly run and could not even send anybody away. Only root may weigh a session; elsewhere, and
        where there is no such sharing, everything stays as it is.
        """
        group = Path("/proc") / str(self.rpc.supervisor.getPID()) / "autogroup"
        with contextlib.suppress(OSError):
            group.write_text(str(SESSION_NICE))

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + 15
        while not self.is_running():
            if time.monotonic() > deadline:
                log = self.settings.state / "logs" / "supervisord.log"
                raise Stop(f"supervisord does not answer. See {log}")
            time.sleep(0.05)

    def states(self) -> dict[str, dict[str, object]]:
        """What the supervisor knows of each process, by name."""
        listed = self.rpc.supervisor.getAllProcessInfo()
        return {entry["name"]: entry for entry in listed}

    def _specification(self, service: Service) -> Path:
        return self.settings.state / "services" / f"{service.name}.json"

    def _specify(self, service: Service) -> None:
        """Write the service's command and environment (0600)."""
        path = self._specification(service)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps({"command": service.command, "env": service.env}, indent=2))

    def run_services(self, services: list[Service]) -> None:
        """Start what does not run, and restart what no longer is what it should be."""
        stamps = self.settings.state / "run" / "fingerprints.json"
        known = json.loads(stamps.read_text()) if stamps.exists() else {}
        states = self.states()
        for service in services:
            name, running = f"services:{service.name}", states[service.name]["statename"] == "RUNNING"
            fingerprint = service.fingerprint()
            if running and known.get(service.name) == fingerprint:
                continue
            self._specify(service)
            self._stop(name)
            self._start(name)
            known[service.name] = fingerprint
        stamps.write_text(json.dumps(known))

    def restart_postgres(self) -> None:
        """For settings that it reads at its start; the services connect again by themselves."""
        self._stop("postgres")
        self._start("postgres")

    def stop(self) -> None:
        """Stop the services, then PostgreSQL, then the supervisor; return when all are gone."""
        if not self.is_running():
            return
        pid = int((self.settings.state / "run" / "supervisord.pid").read_text())
        self._ask("shutdown", but=(SHUTDOWN_STATE,))
        deadline = time.monotonic() + 90
        while _exists(pid):
            if time.monotonic() > deadline:
                raise Stop(f"The supervisor (process {pid}) did not stop within 90 s.")
            time.sleep(0.1)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class _SocketTransport(xmlrpc.client.Transport):
    """XML-RPC over a UNIX socket."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def make_connection(self, host: object) -> http.client.HTTPConnection:
        """A fresh connection: the supervisor closes them after each answer."""
        return _SocketConnection(self.path)


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=90)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))
