"""Makes the keys of one stack that are missing; run by the Python environment, which has the cryptography.

Usage: make_keys.py FOLDER RS256|ES256 [new|retire members|administrators]. `new` lets another key sign their
tokens, and the former ones go on verifying; `retire` forgets the former ones.
"""

import base64
import json
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeyParameters, OctKey, RSAKey

from settings import DATABASE_ROLES, write_private

TEN_YEARS = 10 * 365 * 24 * 3600


def private_key(algorithm: str) -> dict[str, Any]:
    """A fresh signing key as a private JWK."""
    options: KeyParameters = {"use": "sig", "alg": algorithm, "kid": secrets.token_hex(8)}
    key = RSAKey.generate_key(2048, options) if algorithm == "RS256" else ECKey.generate_key("P-256", options)
    return dict(key.as_dict(private=True))


def public_part(key: dict[str, Any]) -> dict[str, Any]:
    """The same key without what signs."""
    kind = RSAKey if key["kty"] == "RSA" else ECKey
    told = {name: value for name, value in key.items() if name not in ("key_ops", "former")}
    return {**kind.import_key(told).as_dict(private=False), "use": "sig"}


def api_key(role: str, secret: str) -> str:
    """A legacy Supabase API key: a token with a role and no person."""
    now = int(time.time())
    claims = {"iss": "supabase", "role": role, "iat": now, "exp": now + TEN_YEARS}
    return jwt.encode({"alg": "HS256", "typ": "JWT"}, claims, OctKey.import_key(secret))


def credentials() -> dict[str, str]:
    """Shared secrets, passwords of the database's roles, and the two API keys."""
    secret = secrets.token_hex(32)
    values = {
        "JWT_SECRET": secret,
        "SIGNING_SECRET": secrets.token_hex(32),
        "SUPABASE_ANON_KEY": api_key("anon", secret),
        "SUPABASE_SERVICE_ROLE_KEY": api_key("service_role", secret),
        "LEGACY_KEY_ID": secrets.token_hex(8),
    }
    return values | {f"PASSWORD_{role}": secrets.token_hex(24) for role in DATABASE_ROLES}


def write(path: Path, document: Any) -> None:
    """Replace a key file."""
    write_private(path, json.dumps(document, indent=2))


def keep(path: Path, make: Callable[[], Any]) -> Any:
    """The document in a file; made when missing."""
    if not path.exists():
        write(path, make())
    return json.loads(path.read_text())


def for_gotrue(key: dict[str, Any], *operations: str) -> dict[str, Any]:
    """A key as GOTRUE_JWT_KEYS names it: with what it may do instead of `use`."""
    return {name: value for name, value in key.items() if name != "use"} | {"key_ops": list(operations)}


def make_missing(folder: Path, algorithm: str) -> None:
    """Make what is missing; what exists stays, so that sign-ins survive."""
    auth = keep(folder / "auth.json", lambda: private_key(algorithm))
    admin = keep(folder / "admin.json", lambda: private_key("RS256"))
    shared = keep(folder / "credentials.json", credentials)
    key_id = secrets.token_hex(4)
    keep(
        folder / "secrets.json",
        lambda: {
            "active": key_id,
            "keys": {key_id: base64.b64encode(secrets.token_bytes(32)).decode()},
        },
    )
    legacy = {
        "kty": "oct",
        "k": base64.urlsafe_b64encode(shared["JWT_SECRET"].encode()).decode().rstrip("="),
        "kid": shared["LEGACY_KEY_ID"],
        "alg": "HS256",
        "use": "sig",
    }
    # PostgREST tries the keys in turn: the one that signs most tokens comes first.
    keep(folder / "jwks.json", lambda: {"keys": [public_part(auth), public_part(admin), legacy]})
    keep(folder / "gotrue.json", lambda: [for_gotrue(auth, "sign", "verify"), for_gotrue(legacy, "verify")])


def add_members_key(folder: Path, algorithm: str) -> None:
    """Let a new key sign members' tokens; those who verify learn of it first.

    Of the former one the public part stays.
    """
    new, known = private_key(algorithm), _read(folder / "gotrue.json")
    write(folder / "jwks.json", {"keys": [public_part(new), *_read(folder / "jwks.json")["keys"]]})
    former = [for_gotrue(public_part(key), "verify") for key in known if "sign" in key["key_ops"]]
    verifying = [key for key in known if "sign" not in key["key_ops"]]
    write(folder / "gotrue.json", [for_gotrue(new, "sign", "verify"), *former, *verifying])
    write(folder / "auth.json", new)


def retire_former_members_keys(folder: Path) -> None:
    """Of members' keys trust only the one that signs now."""
    former = {key["kid"] for key in _read(folder / "gotrue.json")}
    former -= {_read(folder / "auth.json")["kid"], _read(folder / "credentials.json")["LEGACY_KEY_ID"]}
    _distrust(folder, former)
    write(folder / "gotrue.json", [key for key in _read(folder / "gotrue.json") if key["kid"] not in former])


def add_administrators_key(folder: Path, _: str) -> None:
    """Let a new key sign administrators' tokens. It names the former ones, which sign nobody else's."""
    signing, keys = _read(folder / "admin.json"), _read(folder / "jwks.json")["keys"]
    former = [signing["kid"], *signing.get("former", [])]
    new = {**private_key("RS256"), "former": former}
    place = next(number for number, key in enumerate(keys) if key["kid"] in former)
    write(folder / "jwks.json", {"keys": [*keys[:place], public_part(new), *keys[place:]]})
    write(folder / "admin.json", new)


def retire_former_administrators_keys(folder: Path) -> None:
    """Of administrators' keys trust only the one that signs now."""
    signing = _read(folder / "admin.json")
    _distrust(folder, set(signing.pop("former", [])))
    write(folder / "admin.json", signing)


def _distrust(folder: Path, former: set[str]) -> None:
    keys = _read(folder / "jwks.json")["keys"]
    write(folder / "jwks.json", {"keys": [key for key in keys if key["kid"] not in former]})


ADD = {"members": add_members_key, "administrators": add_administrators_key}
RETIRE = {"members": retire_former_members_keys, "administrators": retire_former_administrators_keys}


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def main() -> None:
    """Make what is missing, or do what the third argument says to the keys of the fourth."""
    folder, algorithm, *change = Path(sys.argv[1]), *sys.argv[2:]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_missing(folder, algorithm)
    match change:
        case ["new", whose]:
            ADD[whose](folder, algorithm)
        case ["retire", whose]:
            RETIRE[whose](folder)


if __name__ == "__main__":
    main()
