"""A migration that installations have been given is never edited, removed or preceded by another."""

import shutil
from pathlib import Path

import pytest

from launcher.settings import ROOT
from tests.checks import released


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the migrations and the list alone, to be spoilt."""
    for folder in released.FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / released.LIST, tmp_path / released.LIST)
    return tmp_path


def first_of(copy: Path) -> Path:
    """Return a released migration."""
    return copy / (copy / released.LIST).read_text().split()[1]


def test_an_edited_one_is_named(copy: Path) -> None:
    assert released.failure(copy) == ""
    with first_of(copy).open("a") as file:
        file.write("-- one word more\n")
    assert f"{first_of(copy).relative_to(copy)} was released, and differs" in released.failure(copy)


def test_one_that_was_removed_is_named(copy: Path) -> None:
    first_of(copy).unlink()
    assert "was released, and is gone" in released.failure(copy)


@pytest.mark.parametrize("folder", released.FOLDERS)
def test_a_new_one_comes_after_all_that_were_released(copy: Path, folder: str) -> None:
    (copy / folder / "99991231235959_later.sql").touch()
    assert released.failure(copy) == ""
    (copy / folder / "0001_earlier.sql").touch()
    assert f"{folder}/0001_earlier.sql is new, and comes before" in released.failure(copy)
