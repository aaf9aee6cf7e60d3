"""What the doors share while the process lives: pool, keys, the storage wire."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
from fastapi import FastAPI, Request

from functions.core.database import Pool, make_pool
from functions.core.metrics import published
from functions.core.tokens import KeySet
from functions.edge.admin_tokens import AdminKey
from functions.edge.factors import Factors
from functions.edge.receipts import ReceiptSigner
from functions.edge.sealing import Sealer
from functions.edge.settings import EdgeSettings

STORAGE_TIMEOUT_SECONDS = 5


@dataclass(frozen=True)
class Services:
    """Everything that a door may use beside its caller's transaction."""

    pool: Pool
    keys: KeySet
    admin_key: AdminKey
    sealer: Sealer
    receipts: ReceiptSigner
    factors: Factors


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """The application's lifespan: open what is shared, and close it at the end."""
    settings = EdgeSettings()
    pool = make_pool(settings.database_url, settings.database_pool_size, "edge")
    storage = httpx.AsyncClient(base_url=settings.storage_internal_url, timeout=STORAGE_TIMEOUT_SECONDS)
    await pool.open()
    app.state.services = Services(
        pool=pool,
        keys=KeySet.read(settings.jwks_path),
        admin_key=AdminKey.read(settings.admin_key_path, settings.supabase_url),
        sealer=Sealer.read(settings.secrets_key_path),
        receipts=ReceiptSigner(storage, settings.supabase_service_role_key, settings.supabase_url),
        factors=Factors(settings.auth_internal_url, settings.supabase_service_role_key),
    )
    try:
        with published(settings, pool):
            yield
    finally:
        await storage.aclose()
        await pool.close()


def services_of(request: Request) -> Services:
    """The services of the application that answers this request."""
    services: Services = request.app.state.services
    return services
