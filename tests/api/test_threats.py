"""The table of threats is true, and no threat is without a test."""

from tests.support.threats import TABLE, catalogue, marked, table, uncovered


def test_the_table_is_what_the_tests_say() -> None:
    assert TABLE.read_text() == table(), "write it anew: python -m tests.support.threats"


def test_marks_name_threats_of_the_catalogue() -> None:
    assert set(marked()) <= {threat.id for threat in catalogue()}


def test_every_threat_has_a_test() -> None:
    assert [threat.id for threat in uncovered()] == []
