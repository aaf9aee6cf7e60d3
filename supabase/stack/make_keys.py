"""Makes the keys of one stack that are missing; run by the Python environment, which has the cryptography.

Usage: make_keys.py FOLDER RS256|ES256
"""

import base64
import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeyParameters, OctKey, RSAKey

from settings import DATABASE_ROLES

TEN_YEARS = 10 * 365 * 24 * 3600


def private_key(algorithm: str) -> dict[str, Any]:
    """A fresh signing key as a private JWK."""
    options: KeyParameters = {"use": "sig", "alg": algorithm, "kid": secrets.token_hex(8)}
    key = RSAKey.generate_key(2048, options) if algorithm == "RS256" else ECKey.generate_key("P-256", options)
    return dict(key.as_dict(private=True))


def public_part(key: dict[str, Any]) -> dict[str, Any]:
    """The same key without what signs."""
    kind = RSAKey if key["kty"] == "RSA" else ECKey
    return {**kind.import_key(key).as_dict(private=False), "use": "sig"}


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


def keep(path: Path, make: Any) -> Any:
    """The document in a file that only its owner reads; made when missing."""
    if not path.exists():
        draft = path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(make(), file, indent=2)
        draft.replace(path)
    return json.loads(path.read_text())


def main() -> None:
    """Make what is missing; what exists stays, so that sign-ins survive."""
    folder, algorithm = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
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
    signing = {name: value for name, value in auth.items() if name != "use"} | {"key_ops": ["sign", "verify"]}
    verifying = {name: value for name, value in legacy.items() if name != "use"} | {"key_ops": ["verify"]}
    keep(folder / "gotrue.json", lambda: [signing, verifying])


if __name__ == "__main__":
    main()
