"""Deletes receipts that no deposit came to use, row and bytes, through the storage service."""

import httpx

from functions.core.database import Pool, transaction
from functions.worker.settings import WorkerSettings

BATCH = 100
TIMEOUT_SECONDS = 30


class UnusedReceipts:
    """Deletes unused receipts. SQL decides which they are, and the row's validation trigger decides again."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        key = settings.supabase_service_role_key
        self._pool = pool
        self._url = f"{settings.storage_internal_url}/object/receipts"
        self._headers = {"authorization": f"Bearer {key}", "apikey": key}

    async def remove(self) -> int:
        """Delete all that is unused now; return how many objects were.

        Raises:
            httpx.HTTPStatusError: a deposit named one at that moment, or storage does not respond.
        """
        removed = 0
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, headers=self._headers) as storage:
            while names := await self._next():
                response = await storage.request("DELETE", self._url, json={"prefixes": names})
                response.raise_for_status()
                removed += len(response.json())
                if len(response.json()) < len(names):
                    break
        return removed

    async def _next(self) -> list[str]:
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("select name from jobs.unused_receipts(%s)", [BATCH])
            return [row["name"] for row in await cursor.fetchall()]
