"""The worker's gauges of the business: those of the database, and their absence when it cannot be read."""

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from functions.worker.gauges import MEANINGS, Figure, Gauges, families
from tests.api.test_worker import worker_settings
from tests.support.rollback_pool import RollbackPool, rolled_back
from tests.support.stack import Stack


async def test_every_figure_of_the_database_has_its_meaning(stack: Stack) -> None:
    async with rolled_back(stack) as connection:
        pool = RollbackPool(connection)
        gauges = Gauges(pool, worker_settings(stack, Path("unused")))  # type: ignore[arg-type]
        await connection.execute("update private.backup_state set database_at = now()")
        found = await gauges.of_database()
    of_python = {"harborline_disk_used_ratio", "harborline_certificate_expiry_timestamp_seconds"}
    # Nothing is archived without backups.
    absent = of_python | {"harborline_wal_archived_timestamp_seconds"}
    assert {figure.name for figure in found} == MEANINGS.keys() - absent


async def test_what_cannot_be_read_is_absent_and_the_rest_is_there(stack: Stack) -> None:
    settings = worker_settings(stack, Path("unused")).model_copy(
        update={"disk_folders": {"the receipts": "/", "lost": "/no/such/folder"}}
    )
    async with rolled_back(stack) as connection:
        await connection.execute("set local role authenticated")
        figures = await Gauges(RollbackPool(connection), settings).read()  # type: ignore[arg-type]
    assert [(figure.name, figure.labels) for figure in figures] == [
        ("harborline_disk_used_ratio", {"folder": "the receipts"})
    ]
    assert 0 < figures[0].value < 1


def test_figures_are_published_by_their_labels() -> None:
    class Published(Gauges):
        def __init__(self) -> None:
            self._figures = [
                Figure("queue_depth", {"queue": "mail", "state": "todo"}, 2),
                Figure("queue_depth", {"state": "failed", "queue": "mail"}, 1),
                Figure("harborline_coverage_ratio", {}, 1.25),
            ]

    registry = CollectorRegistry()
    registry.register(Published())
    text = generate_latest(registry).decode()
    assert 'queue_depth{queue="mail",state="todo"} 2.0' in text
    assert 'queue_depth{queue="mail",state="failed"} 1.0' in text
    assert "harborline_coverage_ratio 1.25" in text
    assert list(families([])) == []
