"""supervisord: keeps a stack's processes running, restarts what dies, rotates the logs."""

import contextlib
import getpass
import os
import time
import xmlrpc.client
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from string import Template
from typing import Any

from supervisor.xmlrpc import Faults, SupervisorTransport

from launcher import private_files
from launcher.host import environment, system_user
from launcher.host.tools import VENV
from launcher.services.processes import Service
from launcher.settings import FILES, ROOT, Settings
from launcher.terminal import Stop, run

# Nine times the weight of a backend.
SESSION_NICE = -10
ENDED = ("STOPPED", "EXITED", "FATAL")


class Supervisor:
    """supervisord of one stack, called through its socket."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.configuration = settings.state / "supervisord.conf"
        self._log = settings.state / "logs" / "supervisord.log"
        self._transport = SupervisorTransport(serverurl=f"unix://{settings.sockets / 'control.sock'}")
        self.rpc: Any = xmlrpc.client.ServerProxy("http://localhost", transport=self._transport).supervisor

    def configure(self, services: list[Service], postgres: Path | None) -> None:
        """Write the supervisor's configuration, and each service's script (0600).

        Args:
            postgres: folder of PostgreSQL's programs; None where the database is elsewhere.
        """
        settings, logs = self.settings, self.settings.state / "logs"
        scripts = settings.state / "services"
        run = settings.state / "run"
        for folder in (logs, settings.state / "mail", run, settings.replaced, settings.sockets, scripts):
            private_files.make_folder(folder)
        text = Template((FILES / "supervisord.conf").read_text()).substitute(
            run=_written(settings.state / "run"),
            logs=_written(logs),
            socket=_written(settings.sockets / "control.sock"),
            as_root="user = root" if self._user() is None and os.geteuid() == 0 else "",
        )
        if postgres:
            text += Template((FILES / "postgres_program.conf").read_text()).substitute(
                logs=_written(logs),
                postgres=_written(postgres / "postgres"),
                cluster=_written(settings.data_directory),
                owner=system_user.name() or getpass.getuser(),
            )
        program = Template((FILES / "program.conf").read_text())
        for service in services:
            script = scripts / f"{service.name}.sh"
            private_files.write(script, service.script)
            places = {"script": _written(script), "root": _written(ROOT), "logs": _written(logs)}
            rights = "" if service.at_low_ports else "--inh-caps=-all --ambient-caps=-all"
            text += program.substitute(places, name=service.name, digest=service.digest(), rights=rights)
        private_files.write(self.configuration, text)
        if self._user():
            system_user.hand_over(settings.state, settings.sockets)

    def _user(self) -> str | None:
        """Return whom the supervisor and all services run as; None: as who starts them."""
        return None if self.settings.as_root else system_user.name()

    def is_running(self) -> bool:
        """Return whether the supervisor responds."""
        try:
            self.rpc.getState()
        except (OSError, HTTPException, xmlrpc.client.ProtocolError):
            self._transport.close()
            return False
        return True

    def is_of_its_user(self) -> bool:
        """Return whether it runs as the user that it would be started as now."""
        return Path(f"/proc/{self.rpc.getPID()}").owner() == (self._user() or getpass.getuser())

    def start(self) -> bool:
        """Start the supervisor with PostgreSQL; return whether it was started.

        One that runs may have given PostgreSQL up, or been left between its end and its start.
        """
        if self.is_running():
            self._update([] if self.settings.database_elsewhere else ["postgres"])
            return False
        command: list[str | Path] = [VENV / "bin" / "supervisord", "--configuration", self.configuration]
        rights = (system_user.LOW_PORTS,) if "SITE_DOMAIN" in self.settings.options else ()
        command = system_user.as_user(command, self._user(), *rights)
        run(command, self.settings.log, cwd=ROOT, env=environment.base())
        if not _within(15, self.is_running):
            raise Stop(f"supervisord does not respond. See {self._log}")
        self._weigh_session()
        return True

    def run_services(self, services: list[Service]) -> None:
        """Start what does not run, and replace what no longer is what it should be."""
        self._update([service.name for service in services])

    def outdated(self) -> set[str]:
        """Return which processes no longer are what they should be, by the configuration as written."""
        return set(self._call("reloadConfig")[0][1])

    def _update(self, names: list[str]) -> None:
        """Do to these programs what `supervisorctl update` does to all, one after the other."""
        added, changed, removed = self._call("reloadConfig")[0]
        for name in [*removed, *names]:
            if name in {*changed, *removed}:
                self._call("stopProcessGroup", name)
                self._call("removeProcessGroup", name)
            if name in {*changed, *added}:
                self._call("addProcessGroup", name)
            if name in names:
                self._start(name)

    def _start(self, name: str) -> None:
        """Start a process unless it runs; what does not start at once is tried again."""
        while (state := self._call("getProcessInfo", name)["statename"]) == "STOPPING":
            time.sleep(0.1)
        if state in ENDED:
            harmless = (Faults.ALREADY_STARTED, Faults.SPAWN_ERROR, Faults.ABNORMAL_TERMINATION)
            self._call("startProcess", name, harmless=harmless)

    def _call(self, method: str, *arguments: str | bool, harmless: tuple[int, ...] = ()) -> Any:
        """Call the supervisor; a fault of a harmless number needs nothing done."""
        try:
            return getattr(self.rpc, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode in harmless:
                return None
            raise Stop(f"supervisord failed at {method}: {fault.faultString}. See {self._log}") from fault

    def _weigh_session(self) -> None:
        """Give all services together more of the processors than one backend of PostgreSQL has.

        Linux may share them among sessions, and each backend is a session of its own: under load the gateway
        would hardly run and could not even reject requests. Only root may weigh a session.
        """
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.rpc.getPID()}/autogroup").write_text(str(SESSION_NICE))

    def states(self) -> dict[str, dict[str, Any]]:
        """Return what the supervisor knows of each process, by name."""
        return {entry["name"]: entry for entry in self.rpc.getAllProcessInfo()}

    def restart(self, name: str) -> None:
        """Stop a process and start it again; after PostgreSQL's the services connect again by themselves."""
        self._call("stopProcess", name, harmless=(Faults.NOT_RUNNING,))
        self._start(name)

    def stop(self) -> None:
        """Stop the services together, then PostgreSQL and the supervisor; return when they have ended."""
        if not self.is_running():
            return
        pid = self.rpc.getPID()
        services = self.states().keys() - {"postgres"}
        for name in services:
            self._call("stopProcess", name, False, harmless=(Faults.NOT_RUNNING,))
        _within(20, lambda: all(self.states()[name]["statename"] in ENDED for name in services))
        # The supervisor would take a second for each that it still knows of.
        for name in services:
            self._call("removeProcessGroup", name, harmless=(Faults.STILL_RUNNING,))
        self._call("shutdown", harmless=(Faults.SHUTDOWN_STATE,))
        if not _within(90, lambda: not Path(f"/proc/{pid}").exists()):
            raise Stop(f"The supervisor (process {pid}) did not stop within 90 s.")


def _written(path: Path) -> str:
    """Return a path as supervisord's file takes it, which is quoted there where it stands in a command."""
    text = str(path)
    if found := set(text) & set("\"'\\;%\n"):
        raise Stop(
            f"{path} holds {' '.join(sorted(found))}, which supervisord's file cannot. Use another folder."
        )
    return text


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
