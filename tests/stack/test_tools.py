"""What the launcher cannot install itself it names at once, in a line to type."""

import importlib.util
import os
import shlex
import shutil
from pathlib import Path

import pytest

import tools
from terminal import Stop

LISTED = "postgresql-15-plpgsql-check - a linter\npostgresql-17-plpgsql-check - a linter\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Return a simulated machine with Node and apt, and a user who is not root."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in tools.TEST_PROGRAMS else which(name))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(tools, "find_postgres", lambda extensions: None)
    monkeypatch.setattr(tools, "UV", tmp_path / "uv")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return monkeypatch


@pytest.mark.parametrize(
    ("listed", "for_tests", "packages"),
    [
        (LISTED, False, "postgresql-17-plpgsql-check python3-venv"),
        (
            LISTED,
            True,
            "postgresql-17-plpgsql-check postgresql-17-pgtap python3-venv chromium-headless-shell chromium",
        ),
        # The lists of a new container are empty, and only root may fetch them.
        ("", False, "postgresql-*-plpgsql-check python3-venv"),
    ],
    ids=["to run", "to test", "without lists"],
)
def test_everything_that_is_missing_is_in_one_line(
    bare: pytest.MonkeyPatch, tmp_path: Path, listed: str, for_tests: bool, packages: str
) -> None:
    bare.setattr(tools, "run", lambda command, log: listed)
    with pytest.raises(Stop) as stopped:
        tools.install(tmp_path / "log", for_tests=for_tests)
    lines = [line for line in str(stopped.value).splitlines() if "sudo" in line]
    install = "sudo apt-get install -y --no-install-recommends"
    assert len(lines) == 1
    assert shlex.split(lines[0]) == shlex.split(f"sudo apt-get update && {install}") + packages.split()


def test_what_is_there_is_not_asked_for(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bare.setattr(tools, "find_postgres", lambda extensions: tmp_path)
    with pytest.raises(Stop) as stopped:
        tools.install(tmp_path / "log", for_tests=False)
    assert str(stopped.value).endswith("recommends python3-venv")
