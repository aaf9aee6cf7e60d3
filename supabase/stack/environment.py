"""What each service reads from its environment; docker-compose.yml gives the same names."""

import os
import shutil
from pathlib import Path

from keys import Keys
from settings import ROOT, STORAGE_ACCESS, TOKEN_SECONDS, Settings

# Connections: PostgREST 10 + 1 for notifications, auth 10, functions 6 + 4, worker 3, storage 4, backups 2,
# monitor 1, reserved 3, which leaves room under max_connections 60.
POOLS = {"postgrest": 10, "auth": 10, "storage": 4, "edge": 6, "worker": 3}
RECEIPT_BYTES = 52_428_800
MAILS = {
    "CONFIRMATION": ("confirmation", "Confirm your e-mail address"),
    "RECOVERY": ("recovery", "Reset your password"),
    "MAGIC_LINK": ("magic_link", "Your sign-in link"),
    "INVITE": ("invite", "You are invited"),
    "EMAIL_CHANGE": ("email_change", "Confirm your new e-mail address"),
    "REAUTHENTICATION": ("reauthentication", "Your confirmation code"),
}
NOTICES = {
    "PASSWORD_CHANGED": ("password_changed", "Your password was changed"),
    "EMAIL_CHANGED": ("email_changed", "Your e-mail address was changed"),
    "MFA_FACTOR_ENROLLED": ("mfa_factor_enrolled", "An authenticator was added"),
    "MFA_FACTOR_UNENROLLED": ("mfa_factor_unenrolled", "An authenticator was removed"),
    "SIGN_IN_BLOCKED": ("sign_in_blocked", "Sign-in was paused"),
    "MFA_BLOCKED": ("mfa_blocked", "Two-step sign-in was paused"),
}


def base() -> dict[str, str]:
    """What every process gets: no more of the caller's environment than it needs.

    Equal from every shell, because a service restarts when its environment changes.
    """
    node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
    kept = {name: os.environ[name] for name in ("HOME", "SSL_CERT_FILE") if name in os.environ}
    kept["PATH"] = f"{node}:/usr/local/bin:/usr/bin:/bin"
    return {**kept, "TZ": "UTC", "PYTHONUNBUFFERED": "1"}


def service(name: str, role: str, settings: Settings, keys: Keys) -> dict[str, str]:
    """What every Python service reads."""
    return {
        **base(),
        "HOST": "127.0.0.1",
        "LOG_LEVEL": "INFO",
        "DATABASE_URL": keys.database_url(role),
        "DATABASE_POOL_SIZE": str(POOLS[name]),
        "METRICS_PORT": str(settings.ports[f"{name}_metrics"]),
    }


def mail(settings: Settings) -> dict[str, str]:
    """The mail server: the operator's, or the catcher of development."""
    catcher = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(settings.ports["smtp"]),
        "SMTP_USER": "",
        "SMTP_PASS": "",
        "MAIL_FROM": "Harborline <no-reply@harborline.example>",
    }
    given = {name: value for name, value in settings.options.items() if name in catcher}
    return catcher | ({} if settings.own_mail else {"SMTP_PORT": "587"}) | given


def auth(settings: Settings, keys: Keys) -> dict[str, str]:
    """GoTrue's own names, so that functions/auth and a real GoTrue (AUTH_BIN) read the same."""
    smtp = mail(settings)
    sender, _, address = smtp["MAIL_FROM"].rpartition(" ")
    api = f"{settings.origin}/auth/v1"
    values = {
        **service("auth", "supabase_auth_admin", settings, keys),
        "PORT": str(settings.ports["auth"]),
        "API_EXTERNAL_URL": api,
        "DB_NAMESPACE": "auth",
        "GOTRUE_API_HOST": "127.0.0.1",
        "GOTRUE_DB_DRIVER": "postgres",
        "GOTRUE_DB_CLEANUP_ENABLED": "true",
        "GOTRUE_DB_MAX_POOL_SIZE": str(POOLS["auth"]),
        # Unset, a real GoTrue opens a connection for nearly every request.
        "GOTRUE_DB_MAX_IDLE_POOL_SIZE": str(POOLS["auth"]),
        "GOTRUE_SITE_URL": settings.origin,
        "GOTRUE_URI_ALLOW_LIST": f"{settings.origin}/**",
        "GOTRUE_JWT_SECRET": keys.values["JWT_SECRET"],
        "GOTRUE_JWT_KEYS": keys.gotrue,
        "GOTRUE_JWT_EXP": str(TOKEN_SECONDS),
        "GOTRUE_JWT_AUD": "authenticated",
        "GOTRUE_JWT_DEFAULT_GROUP_NAME": "authenticated",
        "GOTRUE_JWT_ADMIN_ROLES": "service_role",
        "GOTRUE_JWT_ISSUER": api,
        "GOTRUE_EXTERNAL_EMAIL_ENABLED": "true",
        "GOTRUE_EXTERNAL_PHONE_ENABLED": "false",
        "GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED": "false",
        "GOTRUE_MAILER_AUTOCONFIRM": "false",
        "GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED": "true",
        "GOTRUE_MAILER_OTP_EXP": "3600",
        "GOTRUE_SMTP_HOST": smtp["SMTP_HOST"],
        "GOTRUE_SMTP_PORT": smtp["SMTP_PORT"],
        "GOTRUE_SMTP_USER": smtp["SMTP_USER"],
        "GOTRUE_SMTP_PASS": smtp["SMTP_PASS"],
        "GOTRUE_SMTP_ADMIN_EMAIL": address.strip("<>"),
        "GOTRUE_SMTP_SENDER_NAME": sender or "Harborline",
        "GOTRUE_PASSWORD_MIN_LENGTH": "6",
        "GOTRUE_MFA_TOTP_ENROLL_ENABLED": "true",
        "GOTRUE_MFA_TOTP_VERIFY_ENABLED": "true",
        "GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED": "true",
        "GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL": "10",
        "GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED": "true",
        "GOTRUE_HOOK_BEFORE_USER_CREATED_URI": "pg-functions://postgres/hooks/before_user_created",
        "GOTRUE_LOG_LEVEL": "info",
        "GOTRUE_METRICS_ENABLED": "true",
        "GOTRUE_METRICS_EXPORTER": "prometheus",
        "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
        "OTEL_EXPORTER_PROMETHEUS_PORT": str(settings.ports["auth_metrics"]),
    }
    return values | _mail_texts(settings) | _limits(settings)


def _mail_texts(settings: Settings) -> dict[str, str]:
    templates = f"http://{settings.address('internal')}"
    values = {
        f"GOTRUE_MAILER_URLPATHS_{kind}": "/auth/v1/verify"
        for kind in ("CONFIRMATION", "RECOVERY", "INVITE", "EMAIL_CHANGE")
    }
    for kind, (file, subject) in MAILS.items():
        values[f"GOTRUE_MAILER_TEMPLATES_{kind}"] = f"{templates}/{file}.html"
        values[f"GOTRUE_MAILER_SUBJECTS_{kind}"] = subject
    for kind, (file, subject) in NOTICES.items():
        values[f"GOTRUE_MAILER_NOTIFICATIONS_{kind}_ENABLED"] = "true"
        values[f"GOTRUE_MAILER_TEMPLATES_{kind}_NOTIFICATION"] = f"{templates}/{file}.html"
        values[f"GOTRUE_MAILER_SUBJECTS_{kind}_NOTIFICATION"] = subject
    return values


def _limits(settings: Settings) -> dict[str, str]:
    """None but in the product profile: without the header GoTrue counts no addresses."""
    if settings.unlimited:
        return {
            "GOTRUE_SMTP_MAX_FREQUENCY": "1s",
            "GOTRUE_RATE_LIMIT_EMAIL_SENT": "1000000",
            "HARBORLINE_AUTH_FAILURE_LIMIT": "0",
            "HARBORLINE_AUTH_PASSWORD_CHANGE_WINDOW": "0",
            "HARBORLINE_AUTH_REFUSE_COMMON_PASSWORDS": "false",
            "HARBORLINE_AUTH_REFUSE_USED_TOTP": "false",
        }
    return {
        "GOTRUE_SMTP_MAX_FREQUENCY": "60s",
        "GOTRUE_RATE_LIMIT_EMAIL_SENT": "300",
        "GOTRUE_RATE_LIMIT_HEADER": "X-Real-IP",
        "GOTRUE_RATE_LIMIT_TOKEN_REFRESH": "150",
        "GOTRUE_RATE_LIMIT_VERIFY": "30",
        "GOTRUE_RATE_LIMIT_OTP": "30",
        "GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY": "15",
        "GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION": "true",
    }


def storage(settings: Settings, keys: Keys) -> dict[str, str]:
    """functions/storage."""
    return {
        **service("storage", "supabase_storage_admin", settings, keys),
        "PORT": str(settings.ports["storage"]),
        "JWKS_PATH": str(keys.jwks),
        "SIGNING_SECRET": keys.values["SIGNING_SECRET"],
        "STORAGE_URL": settings.options.get("STORAGE_URL", (settings.state / "objects").as_uri()),
        "FILE_SIZE_LIMIT": str(RECEIPT_BYTES),
        "UPLOAD_SIGNED_URL_EXPIRATION_TIME": "7200",
        "PRE_REQUEST_FUNCTION": "pre_request.check_request",
        **{name: settings.options[name] for name in STORAGE_ACCESS if name in settings.options},
    }


def edge(settings: Settings, keys: Keys) -> dict[str, str]:
    """functions/edge."""
    return {
        **service("edge", "edge_functions", settings, keys),
        "PORT": str(settings.ports["edge"]),
        "JWKS_PATH": str(keys.jwks),
        "ADMIN_KEY_PATH": str(keys.admin),
        "SECRETS_KEY_PATH": str(keys.secrets),
        "SUPABASE_URL": settings.origin,
        "SUPABASE_ANON_KEY": keys.values["SUPABASE_ANON_KEY"],
        "SUPABASE_SERVICE_ROLE_KEY": keys.values["SUPABASE_SERVICE_ROLE_KEY"],
        "AUTH_INTERNAL_URL": f"http://{settings.address('auth')}",
        "STORAGE_INTERNAL_URL": f"http://{settings.address('storage')}",
    }


def bootstrap(settings: Settings, keys: Keys) -> dict[str, str]:
    """functions/edge/bootstrap: writes as the database's owner what no request may write."""
    return {
        **edge(settings, keys),
        "DATABASE_URL": keys.database_url("postgres"),
    }


def worker(settings: Settings, keys: Keys) -> dict[str, str]:
    """functions/worker."""
    return {
        **service("worker", "worker", settings, keys),
        **mail(settings),
        "PORT": str(settings.ports["worker"]),
        "SITE_URL": settings.origin,
        "STORAGE_INTERNAL_URL": f"http://{settings.address('storage')}",
        "SUPABASE_SERVICE_ROLE_KEY": keys.values["SUPABASE_SERVICE_ROLE_KEY"],
        "DEPOSIT_ADDRESS": settings.options.get("DEPOSIT_ADDRESS", ""),
        "AUDIT_HEADS_PATH": str(settings.state / "audit-heads"),
    }


def postgrest(settings: Settings, keys: Keys) -> dict[str, str]:
    """PostgREST 12: everything that Supabase sets, with the API description, plans and aggregates off."""
    return {
        **base(),
        "PGRST_DB_URI": keys.database_url("authenticator"),
        "PGRST_DB_SCHEMAS": "public",
        "PGRST_DB_EXTRA_SEARCH_PATH": "public,extensions",
        "PGRST_DB_ANON_ROLE": "anon",
        "PGRST_DB_MAX_ROWS": "1000",
        "PGRST_DB_POOL": str(POOLS["postgrest"]),
        "PGRST_DB_POOL_ACQUISITION_TIMEOUT": "10",
        "PGRST_DB_PRE_REQUEST": "pre_request.check_request",
        "PGRST_DB_USE_LEGACY_GUCS": "false",
        "PGRST_JWT_SECRET": f"@{keys.jwks}",
        "PGRST_JWT_AUD": "authenticated",
        "PGRST_OPENAPI_MODE": "disabled",
        "PGRST_SERVER_HOST": "127.0.0.1",
        "PGRST_SERVER_TRACE_HEADER": "X-Request-Id",
        "PGRST_SERVER_PORT": str(settings.ports["postgrest"]),
        "PGRST_ADMIN_SERVER_PORT": str(settings.ports["postgrest_admin"]),
        "PGRST_LOG_LEVEL": "error",
    }


def gateway(settings: Settings, keys: Keys) -> dict[str, str]:
    """What supabase/gateway/Caddyfile names."""
    domain, host = settings.options.get("SITE_DOMAIN"), settings.options.get("SITE_HOST", "127.0.0.1")
    return {
        **base(),
        "XDG_DATA_HOME": str(settings.state / "gateway"),
        "GATEWAY_SITE": domain or f"http://:{settings.ports['gateway']}",
        "GATEWAY_BIND": "0.0.0.0" if domain else host,  # noqa: S104
        "INTERNAL_SITE": f"http://:{settings.ports['internal']}",
        "INTERNAL_BIND": "127.0.0.1",
        "POSTGREST_ADDRESS": settings.address("postgrest"),
        "AUTH_ADDRESS": settings.address("auth"),
        "STORAGE_ADDRESS": settings.address("storage"),
        "EDGE_ADDRESS": settings.address("edge"),
        "WEB_ROOT": str(ROOT / "web" / "dist"),
        "TEMPLATES_ROOT": str(ROOT / "supabase" / "templates"),
        "SUPABASE_ANON_KEY": keys.values["SUPABASE_ANON_KEY"],
        "SUPABASE_SERVICE_ROLE_KEY": keys.values["SUPABASE_SERVICE_ROLE_KEY"],
        "GOMEMLIMIT": "64MiB",
    }
