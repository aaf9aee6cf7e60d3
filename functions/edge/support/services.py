"""Shared by the endpoints while the process lives: the pool, keys and the other services."""

from asyncio import Semaphore
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import httpx
from fastapi import Depends, Request

from functions.core.application import Lifespan, serving_database
from functions.core.database import Pool, make_pool
from functions.core.tokens import KeySet
from functions.edge.support.admin_tokens import AdminKey
from functions.edge.support.anonymous_access import AnonymousAccess
from functions.edge.support.auth_admin import AuthAdmin
from functions.edge.support.crypto import Encryptor
from functions.edge.support.passwords import Passwords
from functions.edge.support.receipts import ReceiptSigner
from functions.edge.support.settings import EdgeSettings
from functions.edge.support.web_config import WebConfig

STORAGE_TIMEOUT_SECONDS = 5
# Each holds one of the process's connections until its file has left.
EXPORTS_AT_ONCE = 2
# Members' own, apart from these, so that neither keeps the other waiting.
DOWNLOADS_AT_ONCE = 2


@dataclass(frozen=True)
class Services:
    """Everything that an endpoint may use in addition to its principal's transaction.

    Attributes:
        exports: held by each list that is being made for administrators.
        downloads: held by each file of a member's own data that is being made.
    """

    pool: Pool
    keys: KeySet
    admin_key: AdminKey
    encryptor: Encryptor
    receipts: ReceiptSigner
    auth: AuthAdmin
    passwords: Passwords
    web_config: WebConfig
    anonymous_access: AnonymousAccess
    exports: Semaphore
    downloads: Semaphore


def serving(settings: EdgeSettings) -> Lifespan:
    """Return the application's lifespan: it opens what is shared, and closes it at the end."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        pool = make_pool(settings.database_url, settings.database_pool_size, "edge")
        storage = httpx.AsyncClient(base_url=settings.storage_internal_url, timeout=STORAGE_TIMEOUT_SECONDS)
        service_key = settings.supabase_service_role_key
        async with serving_database(settings, pool), storage:
            app.state.services = Services(
                pool=pool,
                keys=KeySet.read(settings.jwks_path),
                admin_key=AdminKey.read(settings.admin_key_path, settings.supabase_url),
                encryptor=Encryptor.read(settings.secrets_key_path),
                receipts=ReceiptSigner(storage, service_key, settings.supabase_url),
                auth=AuthAdmin(settings.auth_internal_url, service_key),
                passwords=Passwords(),
                web_config=WebConfig(pool, settings.supabase_anon_key),
                anonymous_access=AnonymousAccess(pool),
                exports=Semaphore(EXPORTS_AT_ONCE),
                downloads=Semaphore(DOWNLOADS_AT_ONCE),
            )
            yield

    return lifespan


def services_of(request: Request) -> Services:
    """Return the services of the application that handles this request."""
    services: Services = request.app.state.services
    return services


SharedServices = Annotated[Services, Depends(services_of)]
