"""Health, settings and public keys, open to any client; and the features that this service does not have."""

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.authentication import authenticate
from functions.auth.errors import invalid
from functions.auth.redirects import with_query
from functions.auth.responses import json_response, see_other
from functions.auth.service import service_of
from functions.core.errors import ApiError

# The wire and schema of this GoTrue.
VERSION = "v2.196.0"
_PROVIDERS = """
apple azure bitbucket discord facebook figma fly github gitlab google kakao keycloak linkedin
linkedin_oidc notion slack slack_oidc snapchat spotify twitch twitter workos x zoom
""".split()  # noqa: SIM905


async def health(request: Request) -> Response:
    """Return 200 while the process lives and its database answers."""
    async with service_of(request).pool.connection() as connection:
        await connection.execute("select 1")
    description = "GoTrue is a user registration and authentication API"
    return json_response({"version": VERSION, "name": "GoTrue", "description": description})


async def settings(request: Request) -> Response:
    """Return what clients may know of the configuration."""
    external = {provider: False for provider in ("anonymous_users", *_PROVIDERS)}
    return json_response(
        {
            "external": external | {"email": True, "phone": False},
            "disable_signup": service_of(request).settings.disable_signup,
            "mailer_autoconfirm": False,
            "phone_autoconfirm": False,
            "sms_provider": "",
            "saml_enabled": False,
            "passkeys_enabled": False,
        }
    )


async def jwks(request: Request) -> Response:
    """Return the public keys; shared secrets are never among them."""
    keys = service_of(request).keys.public
    return json_response({"keys": keys}, headers={"cache-control": "public, max-age=600"})


async def openid_configuration(request: Request) -> Response:
    """Return where a verifier of tokens finds issuer and keys; the OAuth endpoints it must name are off."""
    service = service_of(request)
    issuer = service.settings.issuer
    base = issuer.rstrip("/")
    return json_response(
        {
            "issuer": issuer,
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "jwks_uri": f"{base}/.well-known/jwks.json",
            "userinfo_endpoint": f"{base}/oauth/userinfo",
            "scopes_supported": ["openid", "profile", "email", "phone", "offline_access"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key["alg"] for key in service.keys.public}),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
            "claims_supported": ["sub", "aud", "iss", "exp", "iat", "email", "role", "session_id"],
            "code_challenge_methods_supported": ["S256", "plain"],
        },
        headers={"cache-control": "public, max-age=600"},
    )


async def authorize(request: Request) -> Response:
    """Reject every external provider: none is enabled."""
    provider = request.query_params.get("provider", "").lower()
    if provider in _PROVIDERS:
        raise invalid("Unsupported provider: provider is not enabled")
    raise invalid(f"Unsupported provider: Provider {provider} could not be found")


async def callback(request: Request) -> Response:
    """Redirect to the site with an error: no external provider can have sent a person here."""
    values = {"error": "invalid_request", "error_code": "bad_oauth_callback"}
    values["error_description"] = "OAuth state parameter missing"
    if request.query_params.get("state"):
        values |= {"error_code": "bad_oauth_state", "error_description": "OAuth state parameter is invalid"}
    return see_other(with_query(service_of(request).settings.site_url, values))


async def identities(request: Request) -> Response:
    """Reject linking accounts by hand, which is off."""
    await authenticate(service_of(request), request)
    raise ApiError(404, "manual_linking_disabled", "Manual linking is disabled")


async def saml(request: Request) -> Response:
    """Reject single sign-on."""
    raise ApiError(404, "saml_provider_disabled", "SAML 2.0 is disabled")


async def passkeys(request: Request) -> Response:
    """Reject passkeys."""
    raise ApiError(404, "passkey_disabled", "Passkeys are disabled")


async def oauth(request: Request) -> Response:
    """Reject what an OAuth server would do."""
    raise ApiError(404, "feature_disabled", "OAuth server is disabled")
