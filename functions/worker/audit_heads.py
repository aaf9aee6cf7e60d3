"""Stores the head of the audit log's hash chain outside the database, where a removed tail is noticed."""

import json
from pathlib import Path
from typing import Any

from functions.core.database import Pool
from functions.worker.sql_functions import call


class AuditHeads:
    """A file of lines `{"seq": ..., "hash": ...}` that only grows; its last one is what is compared."""

    def __init__(self, pool: Pool, path: Path) -> None:
        self._pool = pool
        self._path = path

    async def check(self) -> Any:
        """Compare the last line with the chain; return {} or the number of the row that is missing."""
        last = self._last()
        return await call(self._pool, "check_audit_anchor", last.get("seq"), last.get("hash"))

    async def copy(self) -> Any:
        """Store the head, unless it is stored already; return it."""
        head = await call(self._pool, "audit_head")
        if head and head != self._last():
            self._append(json.dumps(head))
        return head

    def _append(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _last(self) -> dict[str, Any]:
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        last: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return last
