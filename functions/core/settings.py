"""Settings that every service reads from its environment."""

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict

from functions.core.email import SmtpTls

# Where containers are given what is secret, a file for each setting; without it the environment has them.
SECRETS = Path("/run/secrets")


class EnvironmentSettings(BaseSettings):
    """Settings from the environment, or from a file of the setting's name in SECRETS."""

    # A missing or wrong setting is logged by name alone: the other values are secrets.
    model_config = SettingsConfigDict(
        extra="ignore", hide_input_in_errors=True, secrets_dir=SECRETS if SECRETS.is_dir() else None
    )


class ServiceSettings(EnvironmentSettings):
    """Common settings; a service subclasses this and adds its own.

    Attributes:
        host, port: where the service listens; loopback unless a container says otherwise.
        database_url: libpq URL of the service's own database role.
        database_pool_size: connections kept open at most (the budget of all services is kept by tests/stack).
        log_level: a level name of the standard library.
        metrics_port: where Prometheus reads the process's figures; unset for nowhere.
    """

    host: str = "127.0.0.1"
    port: int
    database_url: str
    database_pool_size: int = 10
    log_level: str = "INFO"
    metrics_port: int | None = None


class MailSettings(ServiceSettings):
    """Adds how services speak to the mail server; its address each names its own way.

    Attributes:
        smtp_tls: see functions.core.email.SmtpServer.
    """

    smtp_tls: SmtpTls = ""


class TokenSettings(ServiceSettings):
    """Adds the key set with which access tokens of this project are verified."""

    jwks_path: Path
