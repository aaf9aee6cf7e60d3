"""Settings of the bootstrap commands."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class BootstrapSettings(BaseSettings):
    """Settings of `python -m functions.edge.bootstrap`.

    Attributes:
        database_url: the product's owner (role postgres): these commands write what no request may write.
        auth_internal_url, storage_internal_url: the services themselves, without the gateway's prefix.
        supabase_service_role_key: the key to both.
    """

    model_config = SettingsConfigDict(extra="ignore", hide_input_in_errors=True)

    database_url: str
    auth_internal_url: str
    storage_internal_url: str
    supabase_service_role_key: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry the key."""
        key = self.supabase_service_role_key
        return {"authorization": f"Bearer {key}", "apikey": key}
