"""Uploads the demo's receipts to where members would have uploaded them, through the storage service."""

from typing import Any
from uuid import UUID

import psycopg
from supabase import SupabaseStorageClient

from functions.edge.bootstrap.settings import BootstrapSettings

BUCKET = "receipts"


class ReceiptUploads:
    """Writes the row in the member's name, then the bytes with the service key, which keeps the owner."""

    def __init__(self, database: psycopg.Connection[dict[str, Any]], settings: BootstrapSettings) -> None:
        self._database = database
        client = SupabaseStorageClient(url=f"{settings.storage_internal_url}/", headers=settings.headers)
        self._bucket = client.from_(BUCKET)

    def put(self, user_id: UUID, name: str, picture: bytes) -> None:
        """Store one receipt; a name whose bytes were never stored gets them now."""
        self._database.execute(
            """
            insert into storage.objects (bucket_id, name, owner, owner_id) values (%s, %s, %s, %s)
            on conflict (bucket_id, name) do nothing
            """,
            [BUCKET, name, user_id, str(user_id)],
        )
        self._bucket.upload(name, picture, {"content-type": "image/png", "upsert": "true"})
