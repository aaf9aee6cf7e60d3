"""Figures of the business and of the worker's surroundings for Prometheus: one gauge each.

They are read now and then, not at a scrape. A figure that cannot be read is absent, not zero: a rule about
absence notices it (supabase/monitoring/rules.yml).
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

import psycopg
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from functions.core.database import Pool, transaction
from functions.worker.certificate import expiry_of
from functions.worker.disks import measure_disks
from functions.worker.settings import WorkerSettings

MEANINGS = {
    "queue_depth": "What waits to be done, by queue and state.",
    "harborline_oldest_mail_seconds": "Age of the oldest email that waits to be sent; 0 when none does.",
    "harborline_pending_requests": "Requests that wait for a decision, by kind.",
    "harborline_oldest_pending_seconds": "Age of the oldest request that waits, by kind; 0 when none does.",
    "harborline_ledger_violations": "Violations that the last ledger check found, by rule.",
    "harborline_ledger_checked_timestamp_seconds": "When the last ledger check began.",
    "harborline_ledger_seen_timestamp_seconds": "The oldest time at which a row was last checked.",
    "harborline_repaired_bonuses": "Bonuses that were ever stored differently from what is due.",
    "harborline_coverage_ratio": "Money received and not paid out, by what members could withdraw.",
    "harborline_unlinked_audit_seconds": "Age of the oldest audit entry outside the chain; 0 when none is.",
    "harborline_open_alarms": "Open alarms that nobody has acknowledged, by kind.",
    "harborline_backup_timestamp_seconds": "When a part of the backups was last made, or tried.",
    "harborline_wal_archived_timestamp_seconds": "When WAL last reached the archive.",
    "harborline_disk_used_ratio": "Used part of the disk on which something lies.",
    "harborline_certificate_expiry_timestamp_seconds": "When the gateway's certificate expires.",
}
READ = "select name, labels, value from jobs.read_gauges()"
log = logging.getLogger("worker")


class Figure(NamedTuple):
    """One figure: its gauge, its labels and its value."""

    name: str
    labels: Mapping[str, str]
    value: float


class Gauges(Collector):
    """The figures that were read last."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        self._pool = pool
        self._settings = settings
        self._figures: list[Figure] = []

    async def publish(self, every_seconds: float) -> None:
        """Read all figures again and again until cancelled; then there are none."""
        REGISTRY.register(self)
        try:
            while True:
                self._figures = await self.read()
                await asyncio.sleep(every_seconds)
        finally:
            REGISTRY.unregister(self)

    async def read(self) -> list[Figure]:
        """Return what can be read now."""
        return [*await self.of_database(), *self.of_disks(), *await self.of_certificate()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield one family for each gauge that has a figure."""
        return families(self._figures)

    async def of_database(self) -> list[Figure]:
        """Return what SQL knows."""
        try:
            async with transaction(self._pool) as connection:
                rows = await (await connection.execute(READ)).fetchall()
        except psycopg.Error:
            log.warning("gauge query failed", exc_info=True)
            return []
        return [Figure(**row) for row in rows]

    def of_disks(self) -> list[Figure]:
        """Return how full each disk is that can be looked at."""
        found = measure_disks(self._settings.disk_folders)
        name = "harborline_disk_used_ratio"
        return [Figure(name, {"folder": disk["folder"]}, disk["percent"] / 100) for disk in found]

    async def of_certificate(self) -> list[Figure]:
        """Return when the gateway's certificate expires, if it serves one."""
        if not self._settings.certificate_address:
            return []
        domain = urlsplit(self._settings.site_url).hostname or ""
        expiry = await expiry_of(self._settings.certificate_address, domain)
        name = "harborline_certificate_expiry_timestamp_seconds"
        return [] if expiry is None else [Figure(name, {}, expiry)]


def families(figures: Iterable[Figure]) -> Iterator[GaugeMetricFamily]:
    """Yield the figures by gauge, as the client library wants them."""
    by_name: dict[str, list[Figure]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    for name, members in by_name.items():
        labels = sorted(members[0].labels)
        family = GaugeMetricFamily(name, MEANINGS[name], labels=labels)
        for member in members:
            family.add_metric([member.labels[label] for label in labels], member.value)
        yield family
