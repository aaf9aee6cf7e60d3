"""Coverage of a past day and the income disclosure, computed while a decision is under way."""

import pytest

from tests.support.race_harness import PATIENCE_SECONDS, RaceHarness, operations

STORES = """
select set_config('app.demo_clock', (now() at time zone 'UTC')::date + 1 || ' 00:05+00', true),
    jobs.snapshot_coverage(), private.publish_disclosure()
"""
SAW = """
select (select max(c.decision_no) from private.coverage_days as c),
    (select d.decision_no from private.income_disclosures as d order by d.computed_at desc limit 1),
    (select max(d.decision_no) from public.deposits as d)
"""


@pytest.mark.threat("T44")
def test_what_is_not_committed_has_a_later_number(harness: RaceHarness) -> None:
    """The sequence is ahead of what anybody sees; a stored day names what its figures include."""
    group = harness.groups(1)[0]
    with harness.sessions(1) as [session]:
        approval = operations(group)["approve a first package"]
        session.start(group, approval).result(PATIENCE_SECONDS)
        with harness.director.transaction():
            harness.director.execute(STORES)
        session.commit().result(PATIENCE_SECONDS)
    day, disclosure, last = harness.director.execute(SAW).fetchone() or (None, None, None)
    assert day == disclosure
    assert last is not None
    assert day < last
    assert harness.violations() == []
