"""What the bootstrap commands read from their environment."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class BootstrapSettings(BaseSettings):
    """Settings of `python -m functions.edge.bootstrap`.

    Attributes:
        database_url: the product's owner (role postgres): these commands write what no request may write.
        supabase_url, supabase_service_role_key: auth's admin API and storage, through the gateway.
    """

    model_config = SettingsConfigDict(extra="ignore")

    database_url: str
    supabase_url: str
    supabase_service_role_key: str
