"""Settings of the service: the environment of a real GoTrue, and a few limits of our own."""

import os
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit

import orjson
from pydantic import AliasChoices, BeforeValidator, Field, field_validator
from pydantic_settings import NoDecode

from functions.auth.durations import parse_duration
from functions.core.settings import MailSettings

MAILS = (
    "confirmation",
    "recovery",
    "recovery_unconfirmed",
    "invite",
    "email_change",
    "magic_link",
    "reauthentication",
    "password_changed_notification",
    "email_changed_notification",
    "mfa_factor_enrolled_notification",
    "mfa_factor_unenrolled_notification",
    "sign_in_blocked_notification",
    "mfa_blocked_notification",
    "code_blocked_notification",
)


def _duration(value: Any) -> Any:
    if isinstance(value, str):
        return timedelta(seconds=float(value)) if value.isdigit() else parse_duration(value or "0")
    return value


def _list(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Duration = Annotated[timedelta, BeforeValidator(_duration)]
TextList = Annotated[list[str], NoDecode, BeforeValidator(_list)]


def _gotrue(name: str, default: Any = ...) -> Any:
    return Field(default, validation_alias=f"GOTRUE_{name}")


def _own(name: str, default: Any) -> Any:
    return Field(default, validation_alias=f"HARBORLINE_AUTH_{name}")


def _per_mail(what: str) -> dict[str, str]:
    """GOTRUE_MAILER_TEMPLATES_* or GOTRUE_MAILER_SUBJECTS_*: mail name to text, only those that are set."""
    given = {mail: os.environ.get(f"GOTRUE_MAILER_{what}_{mail.upper()}", "") for mail in MAILS}
    return {mail: text for mail, text in given.items() if text}


class AuthSettings(MailSettings):
    """GOTRUE_* as GoTrue reads them (times in Go's notation), HARBORLINE_* as README.md says."""

    host: str = Field("127.0.0.1", validation_alias=AliasChoices("GOTRUE_API_HOST", "HOST"))
    database_pool_size: int = Field(
        10, validation_alias=AliasChoices("DATABASE_POOL_SIZE", "GOTRUE_DB_MAX_POOL_SIZE")
    )
    api_external_url: str = Field(
        validation_alias=AliasChoices("API_EXTERNAL_URL", "GOTRUE_API_EXTERNAL_URL")
    )
    site_url: str = _gotrue("SITE_URL")
    uri_allow_list: TextList = _gotrue("URI_ALLOW_LIST", [])
    disable_signup: bool = _gotrue("DISABLE_SIGNUP", False)

    jwt_secret: str = _gotrue("JWT_SECRET", "")
    jwt_keys: str = _gotrue("JWT_KEYS")
    jwt_exp: int = _gotrue("JWT_EXP", 3600)
    jwt_aud: str = _gotrue("JWT_AUD", "authenticated")
    jwt_default_group_name: str = _gotrue("JWT_DEFAULT_GROUP_NAME", "authenticated")
    jwt_admin_roles: TextList = _gotrue("JWT_ADMIN_ROLES", ["service_role", "supabase_admin"])
    jwt_issuer: str = _gotrue("JWT_ISSUER", "")

    mailer_autoconfirm: bool = _gotrue("MAILER_AUTOCONFIRM", False)
    mailer_secure_email_change_enabled: bool = _gotrue("MAILER_SECURE_EMAIL_CHANGE_ENABLED", True)
    mailer_otp_exp: int = _gotrue("MAILER_OTP_EXP", 86400)
    urlpath_confirmation: str = _gotrue("MAILER_URLPATHS_CONFIRMATION", "/verify")
    urlpath_recovery: str = _gotrue("MAILER_URLPATHS_RECOVERY", "/verify")
    urlpath_invite: str = _gotrue("MAILER_URLPATHS_INVITE", "/verify")
    urlpath_email_change: str = _gotrue("MAILER_URLPATHS_EMAIL_CHANGE", "/verify")
    notify_password_changed: bool = _gotrue("MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED", False)
    notify_email_changed: bool = _gotrue("MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED", False)
    notify_factor_enrolled: bool = _gotrue("MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED", False)
    notify_factor_unenrolled: bool = _gotrue("MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED", False)
    templates: dict[str, str] = Field(default_factory=lambda: _per_mail("TEMPLATES"))
    subjects: dict[str, str] = Field(default_factory=lambda: _per_mail("SUBJECTS"))

    smtp_host: str = _gotrue("SMTP_HOST", "")
    smtp_port: int = _gotrue("SMTP_PORT", 587)
    smtp_user: str = _gotrue("SMTP_USER", "")
    smtp_pass: str = _gotrue("SMTP_PASS", "")
    smtp_admin_email: str = _gotrue("SMTP_ADMIN_EMAIL", "")
    smtp_sender_name: str = _gotrue("SMTP_SENDER_NAME", "")
    smtp_max_frequency: Duration = _gotrue("SMTP_MAX_FREQUENCY", timedelta(seconds=60))

    password_min_length: int = _gotrue("PASSWORD_MIN_LENGTH", 6)
    require_current_password: bool = _gotrue("SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD", False)
    require_reauthentication: bool = _gotrue("SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION", False)
    reuse_interval: int = _gotrue("SECURITY_REFRESH_TOKEN_REUSE_INTERVAL", 0)
    sessions_timebox: Duration = _gotrue("SESSIONS_TIMEBOX", timedelta(0))
    sessions_inactivity_timeout: Duration = _gotrue("SESSIONS_INACTIVITY_TIMEOUT", timedelta(0))

    totp_enroll_enabled: bool = _gotrue("MFA_TOTP_ENROLL_ENABLED", True)
    totp_verify_enabled: bool = _gotrue("MFA_TOTP_VERIFY_ENABLED", True)
    mfa_max_enrolled_factors: int = _gotrue("MFA_MAX_ENROLLED_FACTORS", 10)
    mfa_challenge_expiry: int = _gotrue("MFA_CHALLENGE_EXPIRY_DURATION", 300)
    mfa_rate: float = _gotrue("MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", 15)

    rate_limit_header: str = _gotrue("RATE_LIMIT_HEADER", "")
    rate_limit_token: float = _gotrue("RATE_LIMIT_TOKEN_REFRESH", 150)
    rate_limit_verify: float = _gotrue("RATE_LIMIT_VERIFY", 30)
    rate_limit_otp: float = _gotrue("RATE_LIMIT_OTP", 30)
    rate_limit_email_sent: str = _gotrue("RATE_LIMIT_EMAIL_SENT", "30")

    instances: int = Field(1, ge=1, validation_alias="HARBORLINE_INSTANCES")

    hook_enabled: bool = _gotrue("HOOK_BEFORE_USER_CREATED_ENABLED", False)
    hook_uri: str = _gotrue("HOOK_BEFORE_USER_CREATED_URI", "")

    mail_data_uri: str = _own("MAIL_DATA_URI", "")
    failure_limit: int = _own("FAILURE_LIMIT", 10)
    address_failure_limit: int = _own("ADDRESS_FAILURE_LIMIT", 50)
    failure_window: Duration = _own("FAILURE_WINDOW", timedelta(minutes=15))
    code_attempts: int = _own("CODE_ATTEMPTS", 10)
    reject_used_totp: bool = _own("REFUSE_USED_TOTP", True)
    reject_common_passwords: bool = _own("REFUSE_COMMON_PASSWORDS", True)
    password_change_window: Duration = _own("PASSWORD_CHANGE_WINDOW", timedelta(minutes=10))

    @field_validator("mailer_autoconfirm")
    @classmethod
    def _confirms(cls, value: bool) -> bool:
        if value:
            raise ValueError("addresses are always confirmed by mail here: set it to false")
        return value

    @property
    def issuer(self) -> str:
        """`iss` of the tokens: the public address of this service."""
        return self.jwt_issuer or self.api_external_url.rstrip("/")

    @property
    def site_host(self) -> str:
        """Host (and port) of the site: the name an authenticator app shows."""
        return urlsplit(self.site_url).netloc

    @property
    def keys(self) -> list[dict[str, Any]]:
        """The private key set."""
        keys: list[dict[str, Any]] = orjson.loads(self.jwt_keys)
        return keys

    @property
    def hook_function(self) -> tuple[str, str] | None:
        """Schema and name of the hook, from `pg-functions://postgres/<schema>/<function>`."""
        if not self.hook_enabled:
            return None
        return _sql_function("GOTRUE_HOOK_BEFORE_USER_CREATED_URI", self.hook_uri)

    @property
    def mail_data_function(self) -> tuple[str, str] | None:
        """Schema and name of the function that adds to the data of mails about sign-ups, in the same form."""
        if not self.mail_data_uri:
            return None
        return _sql_function("HARBORLINE_AUTH_MAIL_DATA_URI", self.mail_data_uri)


def _sql_function(setting: str, uri: str) -> tuple[str, str]:
    url = urlsplit(uri)
    parts = [part for part in url.path.split("/") if part]
    if url.scheme != "pg-functions" or len(parts) != 2:
        raise ValueError(f"{setting} must be pg-functions://postgres/<schema>/<function>")
    return parts[0], parts[1]
