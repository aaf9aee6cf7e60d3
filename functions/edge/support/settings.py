"""Settings of this service."""

from pathlib import Path

from functions.core.settings import TokenSettings


class EdgeSettings(TokenSettings):
    """Settings of functions/edge.

    Attributes:
        admin_key_path: private JWK (RS256) that signs administrators' tokens and nothing else.
        secrets_key_path: the key file that encrypts MT5 and two-step secrets (see crypto.py).
        supabase_url: the gateway's origin, as a browser reaches it.
        supabase_anon_key: the public key, which the web app sends.
        supabase_service_role_key: only for bootstrap, signing receipts, removing factors and deleting users.
        auth_internal_url, storage_internal_url: the services themselves, without the gateway's prefix.
    """

    admin_key_path: Path
    secrets_key_path: Path
    supabase_url: str
    supabase_anon_key: str
    supabase_service_role_key: str
    auth_internal_url: str
    storage_internal_url: str
