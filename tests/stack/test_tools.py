"""What the launcher cannot install itself it names at once, in a line to type."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import lifecycle
from launcher import settings as configuration
from launcher.host import tools
from launcher.terminal import Stop

LISTED = "postgresql-15-plpgsql-check - a linter\npostgresql-17-plpgsql-check - a linter\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Return a simulated machine with Node and apt, and a user who is not root."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in tools.TEST_PROGRAMS else which(name))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(tools, "find_postgres", lambda extensions, settings: None)
    return monkeypatch


@pytest.mark.parametrize(
    ("listed", "for_tests", "packages"),
    [
        (LISTED, False, "postgresql-17-plpgsql-check"),
        (
            LISTED,
            True,
            "postgresql-17-plpgsql-check postgresql-17-pgtap chromium-headless-shell chromium",
        ),
        # The lists of a new container are empty, and only root may fetch them.
        ("", False, "postgresql-*-plpgsql-check"),
    ],
    ids=["to run", "to test", "without lists"],
)
def test_everything_that_is_missing_is_in_one_line(
    bare: pytest.MonkeyPatch, tmp_path: Path, listed: str, for_tests: bool, packages: str
) -> None:
    bare.setattr(tools, "run", lambda command, log: listed)
    with pytest.raises(Stop) as failure:
        tools.install(tmp_path / "log", for_tests=for_tests)
    lines = [line for line in str(failure.value).splitlines() if "sudo" in line]
    install = "sudo apt-get install -y --no-install-recommends"
    assert len(lines) == 1
    assert shlex.split(lines[0]) == shlex.split(f"sudo apt-get update && {install}") + packages.split()


def test_what_is_there_is_not_asked_for(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setattr(tools, "find_postgres", lambda extensions, settings: tmp_path)
    with pytest.raises(Stop) as failure:
        tools.install(tmp_path / "log", for_tests=True)
    assert str(failure.value).endswith("recommends chromium-headless-shell chromium")


def test_what_makes_environments_is_named_too(tmp_path: Path) -> None:
    # A checkout of the bootstrap alone, run by somebody else's Python without ensurepip.
    (tmp_path / "supabase" / "stack").mkdir(parents=True)
    shutil.copy(tools.ROOT / "supabase" / "stack" / "__main__.py", tmp_path / "supabase" / "stack")
    (tmp_path / "requirements.lock").touch()
    start = (
        "import importlib.util, os, runpy; importlib.util.find_spec = lambda name: None; "
        "os.geteuid = lambda: 1000; runpy.run_path('supabase/stack/__main__.py')"
    )
    run = subprocess.run(
        [sys.executable, "-c", start], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "sudo apt-get update && sudo apt-get install -y --no-install-recommends python3-venv" in run.stderr


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of a web app that is built by writing one page, with an earlier one served."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text("earlier")
    (tmp_path / "index.ts").touch()
    draft = tmp_path / "node_modules" / ".build"

    def build(*_: object, **__: object) -> None:
        draft.mkdir(exist_ok=True)
        (draft / "index.html").write_text("new")

    monkeypatch.setattr(tools, "WEB", tmp_path)
    monkeypatch.setattr(tools, "SERVED", tmp_path / "dist")
    monkeypatch.setattr(tools, "DRAFT", draft)
    monkeypatch.setattr(tools, "BUILD", tmp_path / "node_modules" / ".build-digest")
    monkeypatch.setattr(tools, "node_packages", lambda *_: None)
    monkeypatch.setattr(tools, "run", build)
    return tmp_path / "dist" / "index.html"


def test_what_is_built_is_served_when_it_is_said(web: Path, tmp_path: Path) -> None:
    first, second = (tools.build_web(tmp_path / "log") for _ in range(2))
    assert first
    assert web.read_text() == "earlier"
    tools.serve_web(first)
    assert web.read_text() == "new"
    # Of two launchers the later one finds it done.
    tools.serve_web(second)
    assert web.read_text() == "new"
    assert not tools.build_web(tmp_path / "log")


def test_pages_stay_when_the_database_stays_as_it_was(
    web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Stop("a migration failed")

    monkeypatch.setattr(lifecycle, "bring_up_database", fail)
    settings = configuration.Settings(state=tmp_path / "state")
    with pytest.raises(Stop, match="a migration failed"):
        lifecycle.bring_up(settings, tmp_path, tmp_path / "log")
    assert web.read_text() == "earlier"
