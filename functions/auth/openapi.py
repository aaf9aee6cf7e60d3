"""The OpenAPI document of the routes, for tools inside; the gateway does not show it."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.request_parsing import Body
from functions.auth.responses import json_response
from functions.auth.routes import (
    admin_factors,
    admin_links,
    admin_users,
    factors,
    recover,
    signup,
    user,
    verify,
)
from functions.auth.routes import token as tokens
from functions.auth.routing import Resource

_BODIES: dict[str, tuple[type[Body], ...]] = {
    "POST /signup": (signup.SignupBody,),
    "POST /token": (tokens.PasswordBody, tokens.RefreshBody, tokens.CodeBody, tokens.IdTokenBody),
    "POST /verify": (verify.VerifyBody,),
    "POST /recover": (recover.RecoverBody,),
    "POST /resend": (recover.ResendBody,),
    "POST /otp": (recover.OtpBody,),
    "POST /magiclink": (recover.MagicLinkBody,),
    "PUT /user": (user.ChangeBody,),
    "POST /factors": (factors.EnrollBody,),
    "POST /factors/{factor_id}/verify": (factors.CodeBody,),
    "POST /invite": (admin_links.InviteBody,),
    "POST /admin/generate_link": (admin_links.LinkBody,),
    "POST /admin/users": (admin_users.AccountBody,),
    "PUT /admin/users/{user_id}": (admin_users.AccountBody,),
    "DELETE /admin/users/{user_id}": (admin_users.DeleteBody,),
    "PUT /admin/users/{user_id}/factors/{factor_id}": (admin_factors.FactorBody,),
}
_QUERIES: dict[str, tuple[str, ...]] = {
    "GET /authorize": ("provider", "redirect_to"),
    "GET /callback": ("state", "code"),
    "GET /verify": ("type", "token", "redirect_to"),
    "POST /token": ("grant_type",),
    "POST /logout": ("scope",),
    "GET /admin/audit": ("query", "page", "per_page"),
    "GET /admin/users": ("filter", "sort", "page", "per_page"),
}
# Requests that can follow an operation, with values of its response or request.
_SAME_USER = {"parameters": {"user_id": "$request.path.user_id"}}
_NEW_USER = {"parameters": {"user_id": "$response.body#/id"}}
_FACTOR = {"parameters": {"factor_id": "$response.body#/id"}}
_LINKS: dict[str, dict[str, dict[str, Any]]] = {
    "POST /signup": {"POST /resend": {"requestBody": {"type": "signup", "email": "$request.body#/email"}}},
    "POST /admin/users": {
        "GET /admin/users/{user_id}": _NEW_USER,
        "PUT /admin/users/{user_id}": _NEW_USER,
        "DELETE /admin/users/{user_id}": _NEW_USER,
        "GET /admin/users/{user_id}/factors": _NEW_USER,
        "POST /token": {
            "parameters": {"query.grant_type": "password"},
            "requestBody": {"email": "$request.body#/email", "password": "$request.body#/password"},
        },
        "POST /recover": {"requestBody": {"email": "$request.body#/email"}},
    },
    "PUT /admin/users/{user_id}": {"GET /admin/users/{user_id}": _SAME_USER},
    "DELETE /admin/users/{user_id}": {"GET /admin/users/{user_id}": _SAME_USER},
    "POST /token": {
        "POST /token": {
            "parameters": {"query.grant_type": "refresh_token"},
            "requestBody": {"refresh_token": "$response.body#/refresh_token"},
        },
        "GET /user": {},
        "POST /factors": {"requestBody": {"factor_type": "totp"}},
        "POST /logout": {"parameters": {"scope": "local"}},
    },
    "POST /factors": {
        "POST /factors/{factor_id}/challenge": _FACTOR,
        "DELETE /factors/{factor_id}": _FACTOR,
    },
    "POST /factors/{factor_id}/challenge": {
        "POST /factors/{factor_id}/verify": {
            "parameters": {"factor_id": "$request.path.factor_id"},
            "requestBody": {"challenge_id": "$response.body#/id"},
        },
    },
    "POST /factors/{factor_id}/verify": {
        "GET /user": {},
        "DELETE /factors/{factor_id}": {"parameters": {"factor_id": "$request.path.factor_id"}},
    },
    "POST /logout": {"GET /user": {}},
}
_JSON: dict[str, Any] = {"application/json": {"schema": {}}}
_RESPONSES: dict[str, dict[str, Any]] = {
    "200": {"description": "Done.", "content": _JSON},
    "204": {"description": "Done; there is nothing to tell."},
    "303": {"description": "To the page that was asked for; its fragment tells how it went."},
    "4XX": {"description": "Rejected; `error_code` says why.", "content": _JSON},
    "5XX": {"description": "Failed.", "content": _JSON},
}


def document(routes: Sequence[Resource]) -> dict[str, Any]:
    """Return the document of the routes."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Auth", "version": "1"},
        "paths": {
            route.path: {method.lower(): _operation(method, route) for method in sorted(route.endpoints)}
            for route in routes
        },
    }


async def show(request: Request) -> Response:
    """Return the document of this application."""
    return json_response(document(request.app.routes))


def _operation(method: str, route: Resource) -> dict[str, Any]:
    name = f"{method} {route.path}"
    parameters = [_parameter(part, "path") for part in route.param_convertors]
    parameters += [_parameter(query, "query") for query in _QUERIES.get(name, ())]
    operation: dict[str, Any] = {"parameters": parameters, "responses": _responses(name)}
    if name in _BODIES:
        properties = {field: form for model in _BODIES[name] for field, form in _properties(model).items()}
        schema = {"type": "object", "properties": properties}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


def _properties(model: type[Body]) -> dict[str, Any]:
    """Return the schema of each field as if it were required: null says the same as leaving it out."""
    properties = model.model_json_schema()["properties"]
    return {name: schema["anyOf"][0] for name, schema in properties.items()}


def _responses(name: str) -> dict[str, Any]:
    links = {to: {"operationRef": _pointer(to), **values} for to, values in _LINKS.get(name, {}).items()}
    responses = deepcopy(_RESPONSES)
    if links:
        responses["200"]["links"] = links
    return responses


def _pointer(name: str) -> str:
    method, path = name.split()
    return f"#/paths/{path.replace('/', '~1')}/{method.lower()}"


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}
