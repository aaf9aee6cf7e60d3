"""Writes the audit chain's head down outside the database: from inside a cut tail is not seen."""

import json
from pathlib import Path
from typing import Any

from functions.worker.post import Post


class AuditHeads:
    """A file of lines `{"seq": ..., "hash": ...}` that only grows; its last one is what is compared."""

    def __init__(self, post: Post, path: Path) -> None:
        self._post = post
        self._path = path

    async def check(self) -> Any:
        """Compare the last line with the chain; answers {} or the number of the row that is not there."""
        last = self._last()
        return await self._post.call("check_audit_anchor", last.get("seq"), last.get("hash"))

    async def copy(self) -> Any:
        """Write the head down, unless it is there already; answers it."""
        head = await self._post.call("audit_head")
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
