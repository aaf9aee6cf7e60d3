"""Takes away receipts that no deposit came to use, over the storage service's own wire: row and bytes."""

import httpx

from functions.core.database import Pool, transaction
from functions.worker.settings import WorkerSettings

BATCH = 100
TIMEOUT_SECONDS = 30


class UnusedReceipts:
    """What is unused is decided in SQL, and again there by the row's own guard when it is removed."""

    def __init__(self, pool: Pool, settings: WorkerSettings) -> None:
        key = settings.supabase_service_role_key
        self._pool = pool
        self._url = f"{settings.storage_internal_url}/object/receipts"
        self._headers = {"authorization": f"Bearer {key}", "apikey": key}

    async def remove(self) -> int:
        """Remove all that is unused now; returns how many objects went.

        Raises:
            httpx.HTTPStatusError: one was named by a deposit at that moment, or storage does not answer.
        """
        removed = 0
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, headers=self._headers) as storage:
            while names := await self._next():
                answer = await storage.request("DELETE", self._url, json={"prefixes": names})
                answer.raise_for_status()
                removed += len(answer.json())
                if len(answer.json()) < len(names):
                    break
        return removed

    async def _next(self) -> list[str]:
        async with transaction(self._pool) as connection:
            cursor = await connection.execute("select name from jobs.unused_receipts(%s)", [BATCH])
            return [row["name"] for row in await cursor.fetchall()]
