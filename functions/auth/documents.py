"""The OpenAPI document of the routes, for tools inside; the gateway does not show it."""

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from functions.auth.answers import json_response
from functions.auth.bodies import Kind
from functions.auth.service import Endpoint, Service

_FORMS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "uuid": {"type": "string", "format": "uuid"},
}
_MAIL: dict[str, Kind] = {"email": "text", "data": "object"}
_PKCE: dict[str, Kind] = {"code_challenge": "text", "code_challenge_method": "text"}
_USER: dict[str, Kind] = {
    "email": "text",
    "password": "text",
    "user_metadata": "object",
    "app_metadata": "object",
}
_BODIES: dict[str, dict[str, Kind]] = {
    "POST /signup": {**_MAIL, **_PKCE, "password": "text"},
    "POST /token": {
        "email": "text",
        "password": "text",
        "refresh_token": "text",
        "auth_code": "text",
        "code_verifier": "text",
    },
    "POST /verify": {"type": "text", "token": "text", "token_hash": "text", "email": "text"},
    "POST /recover": {"email": "text", **_PKCE},
    "POST /resend": {"type": "text", "email": "text", **_PKCE},
    "POST /otp": {**_MAIL, **_PKCE, "create_user": "flag"},
    "POST /magiclink": {**_MAIL, **_PKCE},
    "PUT /user": {**_MAIL, **_PKCE, "password": "text", "current_password": "text", "nonce": "text"},
    "POST /factors": {"factor_type": "text", "friendly_name": "text", "issuer": "text"},
    "POST /factors/{factor_id}/verify": {"challenge_id": "uuid", "code": "text"},
    "POST /invite": _MAIL,
    "POST /admin/generate_link": {**_MAIL, "type": "text", "password": "text", "redirect_to": "text"},
    "POST /admin/users": _USER,
    "PUT /admin/users/{user_id}": _USER,
    "DELETE /admin/users/{user_id}": {"should_soft_delete": "flag"},
    "PUT /admin/users/{user_id}/factors/{factor_id}": {"friendly_name": "text"},
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
# What can be asked next with what an operation answered, or was asked with.
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
    "4XX": {"description": "Refused; `error_code` says why.", "content": _JSON},
    "5XX": {"description": "Failed.", "content": _JSON},
}


def document(routes: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The document of a table of routes: path templates and their methods."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Auth", "version": "1"},
        "paths": {
            path: {method.lower(): _operation(method, path) for method in methods}
            for path, methods in routes.items()
        },
    }


def serve(routes: Mapping[str, Iterable[str]]) -> Endpoint:
    """The endpoint that answers with the document."""
    text = document(routes)

    async def answer(service: Service, request: Request) -> Response:
        return json_response(text)

    return answer


def _operation(method: str, path: str) -> dict[str, Any]:
    name = f"{method} {path}"
    parameters = [_parameter(part, "path") for part in re.findall(r"\{(\w+)\}", path)]
    parameters += [_parameter(query, "query") for query in _QUERIES.get(name, ())]
    operation: dict[str, Any] = {"parameters": parameters, "responses": _responses(name)}
    if name in _BODIES:
        properties = {field: _FORMS[kind] for field, kind in _BODIES[name].items()}
        schema = {"type": "object", "properties": properties}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return operation


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
