"""`make test` interrupted: every command ends, and no other starts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from settings import ROOT

# Suites whose commands leave marks: when they start, and what their teardown removes if it runs.
STAND_INS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import commands
import suites
from settings import Settings

COMMAND = '''
import os, signal, subprocess, sys, time
folder, name, stubborn = sys.argv[1:]
if stubborn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
helper = subprocess.Popen(["sleep", "600"])
with open(f"{folder}/{name}.draft", "w") as file:
    file.write(f"{os.getpid()} {helper.pid}")
os.rename(f"{folder}/{name}.draft", f"{folder}/{name}.started")
try:
    time.sleep(600)
finally:
    open(f"{folder}/{name}.torn_down", "w").close()
'''

class StandIns(suites.Suites):
    def _pytest(self, out, folders, marks, workers=()):
        return self._mark("-".join(folders).replace("/", "-"), out)
    def _browser(self, out, script, browser):
        return self._mark("browser", out)
    def _mark(self, name, out):
        command = [sys.executable, "-c", COMMAND, str(self.settings.state), name, sys.argv[3]]
        return suites.Counts(self._commands.run(command, self.settings.state, self.env, out), 0)

commands.treat_termination_as_interrupt()
commands.GRACE_SECONDS = 3
state = Path(sys.argv[2])
StandIns(Settings(state=state), Path("/usr/bin"), state / "log").usual()
"""


def runs(pid: int) -> bool:
    """Whether a process is there and not merely unburied."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("stubborn", [False, True])
def test_an_interrupted_run_ends_its_commands_and_starts_no_other(tmp_path: Path, stubborn: bool) -> None:
    # Ctrl-C is ignored from here on, as a shell does for jobs in the background.
    shell = ["bash", "-c", 'trap "" INT; exec "$@"', "bash"]
    launcher = [sys.executable, "-c", STAND_INS, str(ROOT / "supabase" / "stack"), str(tmp_path)]
    command = [*shell, *launcher, "stubborn" if stubborn else ""]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
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
