"""The gate finds retired words in file names, names and prose, and nowhere else."""

from pathlib import Path

import pytest

from tests.checks import words

GLOSSARY = "| not | but |\n| **`door`** | endpoint |\n| `refuse`, `refused` | reject |\n"
PYTHON = (
    '"""Every door is refused."""\n\n\nclass _FrontDoor:  # A DOOR.\n    refused, kind = "door", r\'door\'\n'
)
MARKDOWN = "Ask `the_door`\nand refuse the door.\n"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Plant retired words in two files."""
    (tmp_path / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "allowed.txt").touch()
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "door.py").write_text(PYTHON)
    (tmp_path / "sources" / "text.md").write_text(MARKDOWN)
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "GLOSSARY", tmp_path / "glossary.md")
    monkeypatch.setattr(words, "ALLOWED", tmp_path / "allowed.txt")
    monkeypatch.setattr(words, "PLACES", ("sources/*",))
    return tmp_path


def test_retired_words_are_found_where_they_count(planted: Path) -> None:
    *found, hint = words.failure().splitlines()
    assert found == [
        "sources/door.py:0: door: not 'door' but endpoint",
        "sources/door.py:4: _FrontDoor: not 'door' but endpoint",
        "sources/door.py:5: refused: not 'refused' but reject",
        "sources/door.py:1: door: not 'door' but endpoint",
        "sources/door.py:4: DOOR: not 'door' but endpoint",
        "sources/text.md:2: door: not 'door' but endpoint",
    ]
    assert "CONTRIBUTING.md" in hint


def test_exceptions_are_names_or_a_word_of_one_file(planted: Path) -> None:
    (planted / "allowed.txt").write_text("door\n_FrontDoor\nrefused\nDOOR\n")
    assert words.failure() == ""
    (planted / "allowed.txt").write_text("_FrontDoor\nrefused\nsources/door.py door\nsources/text.md door\n")
    assert words.failure() == ""
