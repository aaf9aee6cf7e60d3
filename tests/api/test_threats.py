"""The table of threats is true, and everything that can be tried over HTTP is tried."""

from tests.support.threats import TABLE, catalogue, marked, table, uncovered


def test_the_table_is_what_the_tests_say() -> None:
    assert TABLE.read_text() == table(), "write it anew: python -m tests.support.threats"


def test_marks_name_threats_of_the_catalogue() -> None:
    assert set(marked()) <= {threat.id for threat in catalogue()}


def test_every_threat_over_http_has_a_test() -> None:
    assert [threat.id for threat in uncovered() if threat.where in ("http", "race")] == []
