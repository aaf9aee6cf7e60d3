"""Tests interrupted: every command ends, what a test has started too, and no other starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launcher.settings import ROOT

# Suites whose commands leave marks: when they start, and what their teardown removes if it runs.
STAND_INS = """
import sys
from launcher.terminal import treat_termination_as_interrupt
from tests.runner import __main__ as runner
from tests.runner import processes

COMMAND = '''
import os, signal, subprocess, sys, time
folder, name, stubborn = sys.argv[1:]
if stubborn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
helper = subprocess.Popen(["sleep", "600"])
with open(f"{folder}/{name}.draft", "w") as file:
    file.write(f"{os.getpid()} {helper.pid}")
try:
    os.rename(f"{folder}/{name}.draft", f"{folder}/{name}.started")
    time.sleep(600)
finally:
    open(f"{folder}/{name}.torn_down", "w").close()
'''

folder, stubborn = sys.argv[1:]
suites = []
for name in ("browser", "tests-api", "tests-db", "alone"):
    command = [sys.executable, "-c", COMMAND, folder, name, stubborn]
    suites.append(runner.Suite(name, [runner.Run(runner.REPORTS / f"stand-in-{name}.xml", command)]))
treat_termination_as_interrupt()
processes.GRACE_SECONDS = 3
runner.Runner().run(suites)
"""


def runs(pid: int) -> bool:
    """Whether a process is there and not merely unburied."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interrupted_run_ends_its_commands_and_starts_no_other(tmp_path: Path, stubborn: bool) -> None:
    # Ctrl-C is ignored from here on, as a shell does for jobs in the background.
    shell = ["bash", "-c", 'trap "" INT; exec "$@"', "bash"]
    runner = [sys.executable, "-c", STAND_INS, str(tmp_path)]
    command = [*shell, *runner, "stubborn" if stubborn else ""]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'supabase' / 'stack'}"}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    started = [tmp_path / "browser.started", tmp_path / "tests-api.started"]
    try:
        deadline = time.monotonic() + 20
        while not all(path.exists() for path in started):
            assert time.monotonic() < deadline, "the stand-ins did not start"
            time.sleep(0.05)
        # To the launcher alone, as a job runner does it.
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        left = [pid for path in started if path.exists() for pid in map(int, path.read_text().split())]
        left = [pid for pid in left if runs(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert "KeyboardInterrupt" in errors
    assert not left
    assert sorted(tmp_path.glob("*.started")) == started, "another suite was started"
    assert len(list(tmp_path.glob("*.torn_down"))) == (0 if stubborn else 2)


STARTED = {
    "gateway": """
with own_gateway.running(folder) as gateway:
    ready(gateway.process.pid)
""",
    "mutant": """
command = ["sh", "-c", f"echo $$ > {folder}/own; exec sleep 600"]
with services._process(command, {"PATH": os.environ["PATH"]}, {}):
    while not (folder / "own").exists() or not (folder / "own").read_text():
        time.sleep(0.01)
    ready(int((folder / "own").read_text()))
""",
}


@pytest.mark.parametrize("name", STARTED)
def test_what_a_killed_test_has_started_ends_too(tmp_path: Path, name: str) -> None:
    before = """
import os, sys, time
from pathlib import Path
from tests.mutations import services
from tests.support import own_gateway
folder = Path(sys.argv[1])
def ready(pid):
    print(pid, flush=True)
    time.sleep(600)
"""
    command = [sys.executable, "-c", before + STARTED[name], str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
    try:
        deadline = time.monotonic() + 5
        while runs(pid):
            assert time.monotonic() < deadline, "it goes on"
            time.sleep(0.02)
    finally:
        if runs(pid):
            os.kill(pid, signal.SIGKILL)
