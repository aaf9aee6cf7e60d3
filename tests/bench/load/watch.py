"""What a load does to the services: memory, descriptors, database sessions, what is written to disk."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

NAMES = ("functions.auth", "functions.storage", "functions.edge", "functions.worker", "postgrest", "caddy")
SAMPLE_SECONDS = 1.0
MEGABYTE = 1024 * 1024
EMPTIED = ["counter_deltas", "flow_deltas", "network_deltas"]


def services(state: Path) -> dict[str, int]:
    """Return the process of each service that the supervisor started."""
    supervisor = (state / "run" / "supervisord.pid").read_text().strip()
    found = {}
    for child in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        command = Path(f"/proc/{child}/cmdline").read_bytes().decode()
        for name in NAMES:
            if name in command:
                found[name] = int(child)
                break
    return found


def memory(process: int, what: str = "VmRSS") -> float:
    """Resident megabytes of a process; VmHWM for the most it ever had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def reset_peak(process: int) -> None:
    """Reset VmHWM."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


@dataclass
class Watch:
    """Samples once a second until it is cancelled."""

    processes: dict[str, int]
    database_url: str
    rss: dict[str, list[float]] = field(default_factory=dict)
    descriptors: dict[str, list[int]] = field(default_factory=dict)
    connections: int = 0
    idle_in_transaction: float = 0

    async def run(self) -> None:
        """Sample."""
        async with await psycopg.AsyncConnection.connect(self.database_url, autocommit=True) as connection:
            while True:
                for name, process in self.processes.items():
                    self.rss.setdefault(name, []).append(memory(process))
                    self.descriptors.setdefault(name, []).append(len(os.listdir(f"/proc/{process}/fd")))
                found = await connection.execute(
                    "select count(*), coalesce(max(extract(epoch from now() - a.state_change))"
                    " filter (where a.state like 'idle in transaction%'), 0)"
                    " from pg_stat_activity as a where a.backend_type = 'client backend'"
                    " and a.pid <> pg_backend_pid()"
                )
                row = await found.fetchone()
                assert row
                self.connections = max(self.connections, row[0])
                self.idle_in_transaction = max(self.idle_in_transaction, float(row[1]))
                await asyncio.sleep(SAMPLE_SECONDS)


def growth(samples: list[float] | list[int]) -> float:
    """Return the growth in percent: the maximum of the last quarter over that of the first half."""
    half, quarter = max(1, len(samples) // 2), max(1, len(samples) // 4)
    return (max(samples[-quarter:]) / max(samples[:half]) - 1) * 100


def written(state: Path) -> float:
    """Megabytes of logs so far."""
    return sum(path.stat().st_size for path in (state / "logs").iterdir()) / MEGABYTE


def temporary_files(connection: psycopg.Connection) -> int:
    """How many PostgreSQL wrote because memory did not do."""
    row = connection.execute(
        "select d.temp_files from pg_stat_database as d where d.datname = current_database()"
    ).fetchone()
    assert row
    return int(row[0])


def dead_share(connection: psycopg.Connection) -> tuple[str, float]:
    """Return the table with the largest share of dead rows among those that have a thousand, in percent.

    A queue that is emptied every minute is nearly all dead before each vacuum, and small: it does not count.
    """
    row = connection.execute(
        """
        select t.relid::regclass::text, 100.0 * t.n_dead_tup / (t.n_live_tup + t.n_dead_tup)
        from pg_stat_user_tables as t
        where t.n_live_tup + t.n_dead_tup >= 1000 and t.relname <> all(%s)
        order by 2 desc limit 1
        """,
        [EMPTIED],
    ).fetchone()
    return (row[0], float(row[1])) if row else ("none", 0.0)
