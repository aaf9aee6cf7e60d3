"""Settings of the bootstrap commands."""

from functions.core.settings import EnvironmentSettings


class BootstrapSettings(EnvironmentSettings):
    """Settings of `python -m functions.edge.bootstrap`.

    Attributes:
        database_url: the product's owner (role postgres): these commands write what no request may write.
        auth_internal_url, storage_internal_url: the services themselves, without the gateway's prefix.
        supabase_service_role_key: the key to both.
    """

    database_url: str
    auth_internal_url: str
    storage_internal_url: str
    supabase_service_role_key: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry the key."""
        key = self.supabase_service_role_key
        return {"authorization": f"Bearer {key}", "apikey": key}
