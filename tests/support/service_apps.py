"""The applications of functions and storage, for their routes and descriptions alone."""

from pathlib import Path
from typing import Any

from functions.edge.support.application import make_app as make_edge
from functions.edge.support.settings import EdgeSettings
from functions.storage.app import make_app
from functions.storage.settings import Settings


def edge_app() -> Any:
    """Return the functions' application, which has not been started."""
    return make_edge(
        EdgeSettings(
            port=1,
            database_url="",
            jwks_path=Path(),
            admin_key_path=Path(),
            secrets_key_path=Path(),
            supabase_url="",
            supabase_anon_key="",
            supabase_service_role_key="",
            auth_internal_url="",
            storage_internal_url="",
        )
    )


def storage_app() -> Any:
    """Return the storage service's application, which has not been started."""
    return make_app(
        Settings(port=1, database_url="", jwks_path="", signing_secret="x" * 32, storage_url="file:///tmp")
    )
