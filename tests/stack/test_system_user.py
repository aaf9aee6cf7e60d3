"""Whom a stack runs as: nothing that root starts is left with root's rights."""

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from launcher import lifecycle, private_files
from launcher import settings as configuration
from launcher.host import system_user
from launcher.services.supervisor import Supervisor
from launcher.terminal import Stop
from tests.stack.test_launcher import launch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what is not root has no rights to drop")
OTHER = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a new folder that every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def users(state: Path) -> dict[str, str]:
    """Return whom each process of a stack runs as, the supervisor's own too."""
    supervisor = Supervisor(configuration.read(state))
    found = {name: entry["pid"] for name, entry in supervisor.states().items()}
    found["supervisord"] = supervisor.rpc.getPID()
    return {name: Path(f"/proc/{pid}").owner() for name, pid in found.items()}


def status(pid: int) -> dict[str, str]:
    """Return what Linux says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.threat("T137")
def test_every_process_runs_as_the_system_user_without_rights(state: Path) -> None:
    settings = configuration.read(state)
    if settings.as_root:
        del settings.options["SERVICES_AS_ROOT"]
        with pytest.raises(Stop, match="may not enter"):
            lifecycle.require_access(settings)
        pytest.skip("nobody but root gets to this checkout")
    assert set(users(state).values()) == {system_user.NAME}
    for entry in Supervisor(settings).states().values():
        assert status(entry["pid"])["NoNewPrivs"] == "1"
        assert {int(status(entry["pid"])[name], 16) for name in ("CapEff", "CapPrm", "CapAmb")} == {0}
    known = {system_user.NAME, "root"}
    assert {path.owner() for path in (state, state / "keys", *(state / "keys").iterdir())} <= known
    assert not (state / "keys").stat().st_mode & 0o077


@pytest.mark.threat("T137")
def test_a_place_that_the_user_cannot_reach_is_named(folder: Path) -> None:
    state = folder / "closed" / "stack"
    state.parent.mkdir(mode=0o700)
    up = launch(state, "up", SERVICES_AS_ROOT="")
    assert up.returncode == 1
    assert "runs as the user harborline, who may not enter" in up.stderr
    assert "such as /opt/harborline" in up.stderr
    with pytest.raises(Stop, match=f"who may not enter {state.parent}.\n"):
        system_user.require_access([folder, state.parent])
    readable, closed = folder / "readable", folder / "closed.txt"
    readable.touch()
    closed.touch(mode=0o600)
    system_user.require_access([folder, readable])
    with pytest.raises(Stop, match=rf"who may not read {closed}.\n.*chmod --recursive go.rX {closed}"):
        system_user.require_access([readable, closed])


def test_real_money_never_runs_as_root(folder: Path) -> None:
    up = launch(folder / "stack", "up", DEMO="0", SERVICES_AS_ROOT="1")
    assert up.returncode == 1
    assert "SERVICES_AS_ROOT runs everything as root and is only for DEMO=1" in up.stderr


def test_of_roots_rights_only_that_of_low_ports_can_be_left() -> None:
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 97:
        pytest.skip("every user may have every port here")
    listen = "import socket; socket.socket().bind(('127.0.0.1', 97)); open('/proc/self/status').read()"
    program: list[str | Path] = ["/usr/bin/python3", "-c", listen]
    allowed = system_user.as_user(program, system_user.name(), system_user.LOW_PORTS)
    assert subprocess.run(allowed, check=False, capture_output=True).returncode == 0
    denied = subprocess.run(
        system_user.as_user(program, system_user.name()), check=False, capture_output=True, text=True
    )
    assert "PermissionError" in denied.stderr
    rights: list[str | Path] = ["grep", "CapEff", "/proc/self/status"]
    left = subprocess.run(
        system_user.as_user(rights, system_user.name(), system_user.LOW_PORTS),
        check=True,
        capture_output=True,
        text=True,
    )
    # CAP_NET_BIND_SERVICE is number 10.
    assert int(left.stdout.split()[1], 16) == 1 << 10


@pytest.mark.threat("T137")
def test_root_follows_no_link_of_the_user(folder: Path) -> None:
    other = folder / "other"
    other.write_text("untouched")
    own = folder / "own"
    own.mkdir()
    os.chown(own, OTHER, OTHER)
    (own / "settings.new").symlink_to(other)
    (own / "setup.log").symlink_to(other)
    (own / "logs").symlink_to(folder, target_is_directory=True)
    for write in (
        lambda: private_files.write(own / "settings.json", "text"),
        lambda: private_files.append(own / "setup.log", "text"),
        lambda: private_files.open_log(own / "setup.log"),
        lambda: private_files.make_folder(own / "logs"),
    ):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            write()
    system_user.hand_over(own)
    assert other.read_text() == "untouched"
    assert (other.stat().st_uid, folder.stat().st_uid) == (0, 0)


def test_what_root_writes_belongs_to_whose_folder_it_is_in(folder: Path) -> None:
    os.chown(folder, OTHER, OTHER)
    private_files.write(folder / "whole", "text")
    private_files.append(folder / "added", "text")
    private_files.make_folder(folder / "inner")
    for path, mode in ((folder / "whole", 0o600), (folder / "added", 0o600), (folder / "inner", 0o700)):
        assert (path.stat().st_uid, path.stat().st_gid) == (OTHER, OTHER)
        assert path.stat().st_mode & 0o777 == mode


@pytest.mark.long
def test_a_stack_that_ran_as_root_is_handed_over(folder: Path) -> None:
    state = folder / "stack"
    try:
        up = launch(state, "up", DEMO="1", SERVICES_AS_ROOT="1")
        assert up.returncode == 0, up.stdout + up.stderr
        before = users(state)
        assert before.pop("postgres") == system_user.NAME
        assert set(before.values()) == {"root"}
        # As versions before this user left it.
        launch(state, "down")
        with suppress(KeyError):
            pwd.getpwnam(system_user.FORMER)
            subprocess.run(["chown", "--recursive", system_user.FORMER, state / "cluster"], check=True)
        up = launch(state, "up", SERVICES_AS_ROOT="")
        if "may not enter" in up.stderr:
            pytest.skip("nobody but root gets to this checkout")
        assert up.returncode == 0, up.stdout + up.stderr
        assert set(users(state).values()) == {system_user.NAME}
        strange = ["find", state, "-not", "-user", system_user.NAME]
        assert not subprocess.run(strange, check=True, capture_output=True, text=True).stdout
        # The other way round on a running stack.
        up = launch(state, "up", SERVICES_AS_ROOT="1")
        assert "Stopping what ran as another user" in up.stdout
        assert users(state)["edge"] == "root"
    finally:
        launch(state, "down")


def test_the_unit_starts_and_stops_this_stack(state: Path) -> None:
    unit = launch(state, "systemd").stdout
    assert f'Environment="STATE={state}"' in unit
    assert f"WorkingDirectory={configuration.ROOT}\n" in unit
    assert f"PIDFile={state}/run/supervisord.pid\n" in unit
    assert (
        int((state / "run" / "supervisord.pid").read_text())
        == Supervisor(configuration.read(state)).rpc.getPID()
    )
    python, *command = next(line for line in unit.splitlines() if line.startswith("ExecStop="))[9:].split()
    assert command == ["supabase/stack", "down"]
    assert Path(python) == Path(sys.executable).resolve()
