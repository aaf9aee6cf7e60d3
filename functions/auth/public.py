"""What anybody may ask: health, settings, public keys; and the features that this service refuses."""

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.answers import json_response, see_other
from functions.auth.bearer import authenticate
from functions.auth.errors import AuthError, invalid
from functions.auth.redirects import with_query
from functions.auth.service import Service

# The wire and schema of this GoTrue.
VERSION = "v2.196.0"
_PROVIDERS = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "slack",
    "slack_oidc",
    "snapchat",
    "spotify",
    "twitch",
    "twitter",
    "workos",
    "x",
    "zoom",
]


async def health(service: Service, request: Request) -> Response:
    """The process lives and its database answers."""
    async with service.pool.connection() as connection:
        await connection.execute("select 1")
    description = "GoTrue is a user registration and authentication API"
    return json_response({"version": VERSION, "name": "GoTrue", "description": description})


async def settings(service: Service, request: Request) -> Response:
    """What clients may know of the configuration."""
    external = {provider: False for provider in ("anonymous_users", *_PROVIDERS)}
    return json_response(
        {
            "external": external | {"email": True, "phone": False},
            "disable_signup": service.settings.disable_signup,
            "mailer_autoconfirm": False,
            "phone_autoconfirm": False,
            "sms_provider": "",
            "saml_enabled": False,
            "passkeys_enabled": False,
        }
    )


async def jwks(service: Service, request: Request) -> Response:
    """The public keys; shared secrets are never among them."""
    return json_response({"keys": service.keys.public}, headers={"cache-control": "public, max-age=600"})


async def authorize(service: Service, request: Request) -> Response:
    """No external provider is enabled."""
    provider = request.query_params.get("provider", "").lower()
    if provider in _PROVIDERS:
        raise invalid("Unsupported provider: provider is not enabled")
    raise invalid(f"Unsupported provider: Provider {provider} could not be found")


async def callback(service: Service, request: Request) -> Response:
    """No external provider can have sent anybody here."""
    values = {"error": "invalid_request", "error_code": "bad_oauth_callback"}
    values["error_description"] = "OAuth state parameter missing"
    if request.query_params.get("state"):
        values |= {"error_code": "bad_oauth_state", "error_description": "OAuth state parameter is invalid"}
    return see_other(with_query(service.settings.site_url, values))


async def identities(service: Service, request: Request) -> Response:
    """Linking accounts by hand is off."""
    await authenticate(service, request)
    raise AuthError(404, "manual_linking_disabled", "Manual linking is disabled")


async def saml(service: Service, request: Request) -> Response:
    """No single sign-on."""
    raise AuthError(404, "saml_provider_disabled", "SAML 2.0 is disabled")


async def passkeys(service: Service, request: Request) -> Response:
    """No passkeys."""
    raise AuthError(404, "passkey_disabled", "Passkeys are disabled")


async def oauth(service: Service, request: Request) -> Response:
    """No OAuth server."""
    raise AuthError(404, "feature_disabled", "OAuth server is disabled")
