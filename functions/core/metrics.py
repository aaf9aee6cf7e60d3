"""Figures for Prometheus, on a port of their own that the gateway does not know.

A request counts under its route's template, never its path: paths hold names and ids of people.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import REGISTRY, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from functions.core.database import Pool
from functions.core.settings import ServiceSettings

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
POOL_FIGURES = {
    "pool_max": "connections allowed",
    "pool_size": "connections open",
    "pool_available": "connections nobody uses",
    "requests_waiting": "requests waiting for a connection",
}

_requests = Histogram(
    "http_request_duration_seconds", "Time to the end of the answer.", ("method", "route", "status")
)


def observe(scope: Mapping[str, Any], status: int, seconds: float) -> None:
    """Count one request of an ASGI scope that has been routed and responded to."""
    template = getattr(scope.get("route"), "path", NO_ROUTE)
    method = scope["method"] if scope["method"] in METHODS else "other"
    _requests.labels(method, template, str(status)).observe(seconds)


@contextmanager
def published(settings: ServiceSettings, pool: Pool) -> Iterator[None]:
    """While the block runs, `METRICS_PORT` answers with the figures of process and pool; unset, nothing does.

    It listens where the service does: on loopback unless a container says otherwise.
    """
    if settings.metrics_port is None:
        yield
        return
    collector = _PoolFigures(pool)
    REGISTRY.register(collector)
    server, thread = start_http_server(settings.metrics_port, settings.host)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        REGISTRY.unregister(collector)


class _PoolFigures(Collector):
    """Reads the pool whenever it is asked, so that nothing has to keep a gauge right."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One gauge for each figure."""
        figures = self._pool.get_stats()
        for name, meaning in POOL_FIGURES.items():
            yield GaugeMetricFamily(
                f"database_{name}", f"Database: {meaning}.", value=float(figures.get(name, 0))
            )
